// All nodes and pods as the API tells of them, turned into events for the engine. Decides what an
// object means (whose pod it is, whether it runs, which cards it has), never where a pod goes.
//
//   pod of one of our profiles, unbound, not gated   -> PodPending
//   any pod on a node                                -> PodSeenBound, with the cards it names
//   ended or deleted                                 -> PodGone
//   pod of another scheduler, unbound                -> PodHeld if it carries a promise of cards
//                                                       that still counts (see lead()), else
//                                                       PodNominated if it is nominated to a node,
//                                                       or no longer is; PodGone when it goes
//   ours, but it cannot be read or uses a rule that is not supported -> a notice, no event
//
// One thread. Lists are bracketed: what a list does not name is gone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dialect/dialect.h"
#include "dialect/kubelet_word.h"
#include "kube/seal.h"
#include "scheduler/mailbox.h"
#include "scheduler/profile.h"
#include "scheduler/testimony.h"

namespace stowage::scheduler {

// Something to tell people that is not a decision of the engine.
struct Notice {
  enum class Kind : std::uint8_t {
    refused,       // a pod of ours that cannot be placed as it is written
    forged,        // a new pod that carries what only we write: ignored
    drift,         // a bound pod whose annotations were edited: it keeps the cards that it has
    unread_cards,  // a bound pod whose cards cannot be read: taken as unknown
    unread_pod,    // a pod on a node that makes no sense: charged by what can be read
    node,          // a node with sources that disagree, or that cannot be read
    astray,        // a bound pod whose kubelet has given it other cards than it has here
    unsupported,   // a pod of ours that uses a rule that nobody here knows
    unlooked,      // a pod that asks for cards, of a scheduler that does not look at it
    unknown_key,   // a pod with an annotation under our name that means nothing
  };
  Kind kind = Kind::refused;
  std::string ns;
  std::string name;
  std::string uid;
  std::string text;
  bool was_false = false;  // the pod has PodScheduled=False already
};

// When the pod was bound, in nanoseconds since 1970: the API server writes the condition together
// with the node. Where it does not say, when the pod was made.
[[nodiscard]] std::int64_t placed_at(const dialect::PodObject& object);

class Roster {
 public:
  using OnNotice = std::function<void(const Notice&)>;
  struct Clock {  // the wall clock, for promises; and the engine's
    std::function<std::int64_t()> unix_nanos;
    std::function<base::Instant()> now;
  };
  Roster(const std::vector<Profile>& profiles, Mailbox& mailbox, OnNotice on_notice, Clock clock);

  // The objects come from a dump of the API, not from a watch: what pods carry was written by
  // whoever may write it, and is believed as after a restart.
  void believe_dump() { from_dump_ = true; }
  // What is written on pods is signed by these, and what we are said to have written counts if it
  // is, or is older than all signatures. Without any, as it was before there were some: nothing is
  // signed, and the first word counts. True: there are pods, bound or not, that were signed by keys
  // that were not known: they have to be seen once more, and are judged anew then.
  [[nodiscard]] bool use_keys(kube::Keys keys);
  [[nodiscard]] const kube::Keys& keys() const { return keys_; }
  // A pod was signed by a key that is not known.
  void on_unknown_key(std::function<void()> told) { on_unknown_key_ = std::move(told); }
  // Was the unbound pod promised the node that it says?
  [[nodiscard]] bool believes_promise(const dialect::PodObject& unbound) {
    const Said said = whose_promise(unbound);
    return said.counts() && dialect::promised_node(unbound) == said.node;
  }
  // What the pod was promised last has ended.
  void promise_over(const std::string& uid);
  // Its scheduler asks about it again, and will not bind it by what it was promised before.
  void promise_asked_again(const std::string& uid);
  // What is written on the pod in place of a promise that is taken off it.
  [[nodiscard]] dialect::Annotations withdrawal(const dialect::PodObject& pod);
  void seal(const kube::SealAsk& ask, dialect::Annotations& answer) const {
    if (keys_ && keys_->signs) kube::seal(*keys_, ask, answer);
  }

  // Promises of pods that others schedule are heeded, and placed by this profile of the engine. The
  // scheduler of such a pod binds it within this time, or not at all; of several times the longest
  // counts.
  void heed_promises(std::uint32_t profile, std::chrono::seconds bind_limit) {
    promise_profile_ = profile;
    bind_limit_ = std::max(bind_limit_, bind_limit);
  }
  // A promise of which the engine was told: its cards are kept until HoldEnded (see promises.h).
  struct Promised {
    std::string uid;
    std::string ns;
    std::string name;
    std::int64_t made = 0;  // nanoseconds since 1970
    base::Instant until;
    std::string node;
  };
  void on_promise(std::function<void(const Promised&)> told) { on_promise_ = std::move(told); }
  // What stands on this unbound pod is ours, and by the indexes that its node's cards have now its
  // agent would give it other cards than those that it was promised.
  [[nodiscard]] bool promise_outdated(const dialect::PodObject& unbound);
  // Called with a node whose cards are others than before, or have other indexes, while we lead.
  void on_other_cards(std::function<void(const std::string& node)> told) {
    on_other_cards_ = std::move(told);
  }
  // An unbound pod of another scheduler, whenever it is seen.
  void on_guest(std::function<void(const dialect::PodObject&)> told) {
    on_guest_ = std::move(told);
  }

  // The time of a decision that is about to be written: later than all that were written before, by
  // us or, as far as they were seen, by others; and in a later second than the one in which the pod
  // was last found unschedulable, by the clock of its scheduler.
  [[nodiscard]] std::int64_t decision_time(const dialect::PodObject& object);

  // We have written these annotations on the pod: they are ours, whoever edits them.
  void wrote(const std::string& uid, const dialect::Annotations& annotations);
  // Somebody else decides: what we wrote on pods that are not bound yet may be replaced, and
  // promises come and go without us. They are not told until lead() is called.
  void stand_down();
  // We decide. Requires: a list of the pods has come since the last leader lost its right. All
  // promises that count are told; the engine has to know by then who is on the nodes and who has
  // gone, for it holds only what is free. Those that are seen later are told at once.
  void lead();

  // Called with every node whose cards are others than before, and with null for one that goes.
  // From now on: all_cards() has those that there are.
  using Cards = std::vector<core::Card>;
  using OnCards = std::function<void(const std::string& node, const Cards*)>;
  void on_cards(OnCards told) { on_cards_ = std::move(told); }
  [[nodiscard]] std::map<std::string, Cards> all_cards() const;

  // ---- nodes (roster_nodes.cc)
  void begin_nodes();
  // One that makes no sense is kept, as by keep_node(), and told of when what is wrong is new.
  void see_node(const dialect::NodeObject& object);
  void lose_node(const std::string& name);
  // It is there, and cannot be read: what is known of it stays. Without a name it may be any: the
  // list that is under way then tells of none that it has gone.
  void keep_node(const std::string& name);
  void end_nodes();

  // ---- what kubelets say (roster_kubelet.cc)
  // The devices of a pod ("namespace/name") on this node; of one that the API has elsewhere, or
  // nowhere yet, they count for nothing until it is there. They name the cards of a pod of which
  // nobody else has; where somebody has, and they are others, that is told. The kubelet knows no
  // uids: of a pod that was replaced by one of its name, the word that was there may be of the one
  // before. It counts if it changes, or if the agent still says so when it must have looked again.
  void hear_kubelet(const std::string& node, const std::string& pod, dialect::KubeletWord word);
  void kubelet_forgets(const std::string& node, const std::string& pod);
  // Whether the node's agent is heard of.
  void hear_agent(const std::string& node, bool silent);
  // To be called every second or so: words that were doubted, and have stood long enough, count.
  void believe_kubelets();

  void begin_pods();
  // `check`: its signature was looked at already.
  using Checked = std::optional<kube::SealCheck>;
  void see_pod(dialect::PodObject object, const Checked& check = std::nullopt);
  void lose_pod(const std::string& uid);
  // As keep_node(): a pod that is charged stays charged as it is.
  void keep_pod(const std::string& uid);
  void end_pods();
  // A pod of another scheduler (by "namespace/name") is being bound through us, perhaps before we
  // have seen it. It may go unseen as well: a list that does not name it tells that it has gone.
  void expect_pod(const std::string& uid, const std::string& name);

  // To be called every second or so: pods of other schedulers that ask for cards and that nobody
  // has looked at for a minute are told of, each once.
  void tell_unlooked();

  // Tells the engine of every pod that wants a place, as if it had come just now, by name.
  void tell_wanting_again();

  // A pod that wants a place, or is being bound; null if there is none. Valid until the next call.
  struct Wanting {
    dialect::PodObject object;  // without rules and around: the spec has them
    core::PodSpec spec;
  };
  [[nodiscard]] const Wanting* wanting(const std::string& uid) const;
  [[nodiscard]] const core::NodeSpec* node(const std::string& name) const;
  // By "namespace/name"; empty if unknown.
  [[nodiscard]] std::string uid_of(const std::string& pod) const;
  // "namespace/name" of a pod, wherever it is; empty if unknown. For logs: what stands on a pod, or
  // in an event about it, is read by whoever may read that namespace (see called()).
  [[nodiscard]] std::string name_of(const std::string& uid) const;
  // The pod in words for those who may read another pod: "pod ns/name" if both are in one
  // namespace, else "a pod of another namespace".
  struct Called {
    const std::string& uid;
    const std::string& reader;  // uid of the pod whose readers read it
  };
  [[nodiscard]] std::string called(const Called& pod) const;

  // How pods are read here: as asked, with the unit of memory that most vgpu nodes have.
  [[nodiscard]] dialect::ReadOptions reading(dialect::ReadOptions options) const;

  // What preemption has to know about a pod on a node.
  struct Standing {
    std::string node;
    std::int32_t priority = 0;
    bool has_priority = false;
    bool must_stay = false;    // ending, a mirror pod, critical, or of a DaemonSet
    std::int64_t created = 0;  // digits of the time: larger is newer
    std::string gang;
  };
  [[nodiscard]] static Standing standing_of(const dialect::PodObject& object);
  [[nodiscard]] const Standing* standing(const std::string& uid) const;  // null: not on a node
  [[nodiscard]] std::vector<std::string> pods_on(const std::string& node) const;  // sorted uids

  struct Sizes {
    std::size_t nodes = 0;
    std::size_t unread_nodes = 0;  // nodes that cannot be read, known from before or not
    std::size_t pods = 0;
    std::size_t wanting = 0;
    std::size_t bound = 0;
    std::size_t drifted = 0;     // bound pods that say other cards than those that count
    std::size_t astray = 0;      // bound pods that have other cards than those that count
    std::size_t unnamed = 0;     // bound pods of which nobody has said which cards they have
    std::size_t by_kubelet = 0;  // those of which the kubelet alone has
    std::uint64_t drifts = 0;    // times that annotations of bound pods were edited
    std::uint64_t forged = 0;    // pods that came with annotations that only we write
  };
  [[nodiscard]] Sizes sizes() const;

 private:
  struct NodeEntry {
    core::NodeSpec spec;
    std::uint64_t seen_in = 0;       // number of the list
    std::vector<std::string> notes;  // told already
    std::int32_t memory_unit = 0;    // of vgpu
  };
  // For the kubelet's word about a pod: its containers, without anything but their cards.
  struct CardsAsked {
    std::vector<core::ContainerSpec> containers;
    bool named = false;  // by the kubelet
    bool told = false;   // that its word makes no sense
  };
  struct PodEntry {
    std::string name;  // "namespace/name"
    std::string node;
    std::uint64_t seen_in = 0;
    bool told = false;                   // the engine knows of it
    bool unplaced = false;               // it was seen before it was on a node
    std::string promise;                 // resource version in which a promise was looked for
    bool promised = false;               // one that counts was told
    bool promise_forged = false;         // one that does not was told
    std::int64_t promise_made = 0;       // the newest that counts, by the clock of who made it
    base::Instant promise_seen;          // and when it was first seen here
    bool promise_over = false;           // and it has ended: put back, it counts no more
    Testimony testimony;                 // about its cards
    std::string nominated;               // of another scheduler's pod: the node that was told
    std::unique_ptr<Standing> standing;  // while it is on a node
    std::unique_ptr<Wanting> wanting;    // while it is unbound, or its cards are unheard
    std::unique_ptr<CardsAsked> asked;   // while it is on a node with cards that it has not named
    std::uint64_t cards = 0;             // hash of those that it has; 0: not known
    bool astray = false;

    bool doubted = false;  // it is in doubted_
    // Annotations of the promise that counts, if it is signed: it does, whoever edits them, until
    // it is over.
    std::unique_ptr<dialect::Annotations> proved;
    bool proved_whole = false;  // with what its dialect says
  };

  [[nodiscard]] const Profile* profile_named(std::string_view name, std::uint32_t& number) const;
  void see_wanting(PodEntry& entry, dialect::PodObject object);
  void see_guest(PodEntry& entry, const dialect::PodObject& object);
  // ---- signatures (roster_proof.cc)
  using Proof = Testimony::Sight::Proof;
  [[nodiscard]] Proof proof_of(const dialect::PodObject& bound, const Checked& check);
  enum class Whose : std::uint8_t { nobodys, unknown, unsigned_ours, ours };
  // What an unbound pod says that it was promised.
  struct Said {
    Whose whose = Whose::nobodys;
    std::string node;
    std::int64_t made = 0;
    bool edited = false;  // signed, and what its dialect says is not what was signed
    [[nodiscard]] bool counts() const {
      return whose == Whose::ours || whose == Whose::unsigned_ours;
    }
  };
  [[nodiscard]] Said whose_promise(const dialect::PodObject& unbound);
  void meet_unknown_key(const std::string& uid);
  [[nodiscard]] bool signed_since(std::int64_t unix_nanos) const;
  [[nodiscard]] bool promised_before_signing(const dialect::PodObject& object) const;
  // ---- promises (roster_promise.cc)
  void see_promise(PodEntry& entry, const dialect::PodObject& object);
  void tell_unproved(PodEntry& entry, const dialect::PodObject& object, const Said& said);
  struct Untold {
    dialect::PodObject object;
    bool is_signed = false;
    bool whole = false;  // and what its dialect says is signed too
    base::Instant seen;  // first
  };
  [[nodiscard]] std::optional<core::PodHeld> promise_of(const Untold& untold) const;
  void tell_promise(core::PodHeld promise);
  void tell_promises(const std::string& node);  // of that node; empty: of all
  // Of a decision of one of us: a later one has a later time. `is_ours`: proved by a signature.
  void heed_time(std::int64_t decided, bool is_ours);
  // ----
  void see_nomination(PodEntry& entry, const dialect::PodObject& object);
  void see_bound(PodEntry& entry, dialect::PodObject object, const Checked& check);
  void tell_bound(PodEntry& entry, dialect::PodObject object, core::PodSpec spec,
                  const Checked& check);
  void tell_forged(PodEntry& entry, const dialect::PodObject& object);
  // ---- hints (roster_hints.cc)
  void tell_unknown_keys(const PodEntry& entry, const dialect::PodObject& object) const;
  void watch_unlooked(const dialect::PodObject& object);
  void forget_unlooked(const std::string& uid);
  // ----
  [[nodiscard]] Testimony::Word hear(PodEntry& entry, const dialect::PodObject& object,
                                     const core::PodSpec& spec, const Checked& check);
  // ---- what kubelets say
  void note_cards(PodEntry& entry, const core::PodSpec& spec,
                  const std::optional<core::NamedAssignment>& cards);
  void forget_cards(PodEntry& entry);
  void ask_kubelet(const std::string& uid, PodEntry& entry);
  struct Heard;
  [[nodiscard]] bool doubts(const Heard& heard, const std::string& uid, PodEntry& entry);
  void set_astray(PodEntry& entry, bool astray);
  // ----
  void forget(PodEntry& entry, const std::string& uid);
  void set_memory_unit(NodeEntry& entry, std::int32_t unit);
  void notify(Notice::Kind kind, const dialect::PodObject& pod, std::string text) const;

  std::vector<Profile> profiles_;
  Mailbox& mailbox_;
  OnNotice on_notice_;
  std::unordered_map<std::string, NodeEntry> nodes_;
  std::unordered_map<std::string, PodEntry> pods_;                  // by uid
  std::unordered_map<std::string, std::string> uids_;               // by "namespace/name"
  std::unordered_map<std::string, std::set<std::string>> on_node_;  // uids by node
  // Those whose cards could not be looked up: the node was not known, or had not all of them.
  std::unordered_map<std::string, std::set<std::string>> unheard_;
  Clock clock_;
  std::optional<std::uint32_t> promise_profile_;
  std::chrono::seconds bind_limit_{0};
  std::function<void(const Promised&)> on_promise_;
  std::function<void(const std::string& node)> on_other_cards_;
  kube::Keys keys_;
  std::function<void()> on_unknown_key_;
  // Uids of known pods that are signed by a key that is not: none of them is forgotten before it
  // goes, or is judged by other keys.
  std::set<std::string> unknown_key_;
  std::function<void(const dialect::PodObject&)> on_guest_;
  std::int64_t last_decision_ = 0;
  OnCards on_cards_;
  bool leads_ = true;
  bool from_dump_ = false;
  // By uid: unbound pods with a promise that was not told. We do not lead, or it does not count:
  // perhaps it will when its node comes, or has the cards again.
  std::map<std::string, Untold> untold_;
  std::map<std::int32_t, std::size_t> memory_units_;  // how many nodes have it
  struct Unlooked {
    base::Instant due;
    std::string scheduler;
  };
  std::unordered_map<std::string, Unlooked> unlooked_;  // by uid
  std::set<std::pair<base::Instant, std::string>> unlooked_due_;
  std::uint64_t node_list_ = 0;
  std::uint64_t pod_list_ = 0;
  struct UnreadNode {
    std::uint64_t seen_in = 0;  // number of the list
    std::string told;
  };
  std::unordered_map<std::string, UnreadNode> unread_nodes_;
  bool nodes_unnamed_ = false;  // the list has one that may be any
  bool pods_unnamed_ = false;
  bool listing_pods_ = false;
  base::HashKey hash_key_ = base::random_hash_key();
  // By node, then by "namespace/name" of the pod: what one node says of a pod takes nothing from
  // what another says, and counts if the pod is on it.
  struct Heard {
    dialect::KubeletWord word;
    std::string about;  // uid of the pod that it is about; empty: none of that name was there yet
  };
  std::unordered_map<std::string, std::unordered_map<std::string, Heard>> kubelets_;
  std::unordered_map<std::string, base::Instant> agents_;  // by node: heard since, without silence
  std::set<std::pair<base::Instant, std::string>> doubted_;  // uids whose words may be another's
  std::size_t astray_ = 0;
  std::size_t unnamed_ = 0;
  std::size_t by_kubelet_ = 0;
  std::size_t drifted_ = 0;
  std::uint64_t drifts_ = 0;
  std::uint64_t forged_ = 0;
  std::size_t wanting_ = 0;
  std::size_t bound_ = 0;
};

}  // namespace stowage::scheduler
