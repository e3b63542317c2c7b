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
// Composes the parts that know: PodClassifier (whose a pod is), NodeCache and PodCache (what is
// there), CardAnnotations with Signatures and KubeletCards (which cards a pod has), PreAllocations
// (what was promised to it), IgnoredPods. The order of the events is decided here. It has 40
// methods and 16 members: a method for all that can be seen, lost or told, a member for each part.
//
// One thread. A list of pods is bracketed; what it does not name is lost like what was deleted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dialect/dialect.h"
#include "dialect/kubelet_word.h"
#include "scheduler/card_annotations.h"
#include "scheduler/decision_clock.h"
#include "scheduler/ignored_pods.h"
#include "scheduler/kubelet_cards.h"
#include "scheduler/mailbox.h"
#include "scheduler/node_cache.h"
#include "scheduler/notice.h"
#include "scheduler/pod_cache.h"
#include "scheduler/pod_classifier.h"
#include "scheduler/pre_allocations.h"
#include "scheduler/signatures.h"

namespace stowage::scheduler {

class Roster {
 public:
  using Clock = PreAllocations::Clock;
  Roster(const std::vector<Profile>& profiles, Mailbox& mailbox, OnNotice on_notice, Clock clock);
  Roster(const Roster&) = delete;
  Roster& operator=(const Roster&) = delete;

  [[nodiscard]] const NodeCache& nodes() const { return nodes_; }
  [[nodiscard]] const PodCache& pods() const { return pods_; }
  [[nodiscard]] Signatures& signatures() { return signatures_; }
  [[nodiscard]] const Signatures& signatures() const { return signatures_; }
  [[nodiscard]] DecisionClock& decision_clock() { return decision_clock_; }
  [[nodiscard]] PreAllocations& pre_allocations() { return pre_allocations_; }

  // What is written on pods is signed by these, and what we are said to have written counts if it
  // is, or is older than all signatures. True: there are pods, bound or not, that were signed by
  // keys that were not known: they have to be seen once more, and are judged anew then.
  [[nodiscard]] bool use_keys(kube::Keys keys);

  // We have written these annotations on the pod: they are ours, whoever edits them.
  void wrote(const std::string& uid, const dialect::Annotations& annotations);
  // Somebody else decides: what we wrote on pods that are not bound yet may be replaced, and
  // promises come and go without us. They are not told until lead() is called.
  void stand_down();
  // We decide. Requires: a list of the pods has come since the last leader lost its right. All
  // promises that count are told; the engine has to know by then who is on the nodes and who has
  // gone, for it holds only what is free. Those that are seen later are told at once.
  void lead() { pre_allocations_.lead(); }

  // Called with every node whose cards are others than before, and with null for one that goes.
  // From now on: nodes().all_cards() has those that there are.
  using OnCards = std::function<void(const std::string& node, const NodeCache::Cards*)>;
  void on_cards(OnCards told) { on_cards_ = std::move(told); }

  // One that makes no sense is kept, as by keep_node(), and told of when what is wrong is new.
  void see_node(const dialect::NodeObject& object);
  void lose_node(const std::string& name);
  // It is there, and cannot be read: what is known of it stays.
  void keep_node(const std::string& name) { nodes_.keep_unreadable(name); }

  // The devices of a pod ("namespace/name") on this node; of one that the API has elsewhere, or
  // nowhere yet, they count for nothing until it is there.
  void hear_kubelet(const std::string& node, const std::string& pod, dialect::KubeletWord word);
  void kubelet_forgets(const std::string& node, const std::string& pod) {
    kubelets_.forget_word(node, pod);
  }
  void kubelet_forgets(const std::string& node) { kubelets_.forget_node(node); }
  // Whether the node's agent is heard of.
  void hear_agent(const std::string& node, bool silent) { kubelets_.hear_agent(node, silent); }
  // To be called every second or so: words that were doubted, and have stood long enough, count.
  void believe_kubelets();

  // What is seen in between was there before, and what it carries is believed as after a restart;
  // outside, a pod that is new was created just now. A dump of the API is a list without an end.
  void begin_pods() { listing_pods_ = true; }
  void end_pods() { listing_pods_ = false; }
  // `check`: its signature was looked at already.
  void see_pod(dialect::PodObject object, const Signatures::Checked& check = std::nullopt);
  void lose_pod(const std::string& uid);
  // A pod of another scheduler (by "namespace/name") is being bound through us, perhaps before we
  // have seen it. It may go unseen as well: on_expected() is called if it was not known.
  void on_expected(std::function<void(const std::string& uid)> told) {
    on_expected_ = std::move(told);
  }
  void expect_pod(const std::string& uid, const std::string& name);
  // An unbound pod of another scheduler, whenever it is seen.
  void on_guest(std::function<void(const dialect::PodObject&)> told) {
    on_guest_ = std::move(told);
  }

  // To be called every second or so: pods of other schedulers that ask for cards and that nobody
  // has looked at for a minute are told of, each once.
  void tell_unlooked();
  // Tells the engine of every pod that wants a place, as if it had come just now, by name.
  void tell_wanting_again();

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
  using Entry = PodCache::Entry;

  void see_unbound(Entry& entry, dialect::PodObject object, const PodClassifier::Class& is);
  void see_wanting(Entry& entry, dialect::PodObject object, const PodClassifier::Class& is);
  void see_guest(Entry& entry, const dialect::PodObject& object);
  void see_nomination(Entry& entry, const dialect::PodObject& object);
  void see_bound(Entry& entry, dialect::PodObject object, const PodClassifier::Class& is,
                 const Signatures::Checked& check);
  void tell_bound(Entry& entry, dialect::PodObject object, core::PodSpec spec,
                  const Signatures::Checked& check);
  void compare_with_kubelet(Entry& entry);
  void take_finding(KubeletCards::Finding found);
  [[nodiscard]] KubeletCards::Where where(const Entry& entry) const {
    return {.uid = *entry.uid, .name = entry.name, .node = nodes_.find(entry.node)};
  }
  void forget(Entry& entry);
  void notify(const std::optional<Notice>& notice) const {
    if (notice) on_notice_(*notice);
  }

  PodClassifier classifier_;
  Mailbox& mailbox_;
  OnNotice on_notice_;
  std::function<base::Instant()> now_;
  NodeCache nodes_;
  PodCache pods_;
  Signatures signatures_;
  CardAnnotations annotations_;
  KubeletCards kubelets_;
  DecisionClock decision_clock_;
  PreAllocations pre_allocations_;
  IgnoredPods ignored_;
  std::function<void(const dialect::PodObject&)> on_guest_;
  std::function<void(const std::string& uid)> on_expected_;
  OnCards on_cards_;
  bool listing_pods_ = false;
};

}  // namespace stowage::scheduler
