// Who is where, as far as rules between pods ask: labels, leaving pods, anti-affinity, host ports.
// Answers whether a pod may stand on a node beside the pods that are there.
//
// Pods with equal labels in one namespace are one *set*; a selector is matched against a set once.
// Counters per (terms, topology key) hold matching pods by domain; they are made when first asked
// for, and follow a log of changes lazily, so that a commit costs O(1) whatever is counted.
// Bounded, whatever pods bring along: counters have a budget of bytes, those that were not asked
// for lately are dropped; a long log is cut, and who is too far behind counts anew; sets that have
// no pod, terms that no pod has and keys of labels that nobody asks for give their memory back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/model/around.h"
#include "core/model/ids.h"
#include "core/model/pod.h"
#include "core/model/reason.h"
#include "core/model/storage.h"
#include "core/peers/counter.h"

namespace stowage::core {

class Peers {
 public:
  explicit Peers(const Ledger& ledger) : ledger_(ledger) {}
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  // ---- pods come and go. Adding a pod that is there replaces it.
  void add(PodIndex pod, NodeIndex node, const PodSpec& spec);
  void remove(PodIndex pod);

  [[nodiscard]] bool seated(PodIndex pod) const {
    return pod.at() < seats_.size() && seats_[pod.at()] != nullptr;
  }
  [[nodiscard]] const Labels* labels_of(PodIndex pod) const;  // null: not there
  // Counts as if the pod had gone and come back: concerned() tells those who wait for it.
  void touch(PodIndex pod);

  // Pods of one node that a dry run takes away. Nothing changes but this list, and it is valid as
  // long as nothing changes among the pods. A pod that is not there, or was not taken, is ignored.
  class Removed {
   public:
    explicit Removed(const Peers& peers) : peers_(&peers) {}
    void take(PodIndex pod);
    void put_back(PodIndex pod);

   private:
    friend class Peers;
    void count(PodIndex pod, std::int32_t delta);
    // How many of the pods that the counter counts on their node are taken away.
    [[nodiscard]] std::int64_t counted(const PeerCounter& counter, NodeIndex node) const;
    [[nodiscard]] std::int32_t with_term(std::uint32_t number) const;  // anti-affinity
    const Peers* peers_;
    std::set<PodIndex> pods_;
    std::map<std::uint32_t, std::pair<std::int32_t, std::int32_t>> sets_;  // all, leaving ones
    std::map<std::uint32_t, std::int32_t> anti_;                           // by number of the term
  };

  // ---- the rest of the world
  void nodes_changed() { ++layout_; }  // labels or taints of a node, or nodes themselves
  void set(const Namespace& ns);
  void drop_namespace(const std::string& name);

  // A pod's rules about its neighbours, ready to be tested on many nodes. Valid until anything
  // changes here. Cost to make: the changes since these rules were last asked about.
  class Test {
   public:
    // False: every node passes.
    [[nodiscard]] bool any() const;
    // none, host_port, spread_label, spread, pod_affinity, pod_anti_affinity, others_anti_affinity.
    // `removed`: as if these pods, all of them on this node, were not there.
    [[nodiscard]] ReasonCode check(NodeIndex node, const Removed* removed = nullptr) const;
    // How much the pod would like the node, for its neighbours: soft spread (smaller is better) and
    // preferred terms (larger is better).
    // Terms of others that had to be looked at, where there are many: what it takes to ask again.
    [[nodiscard]] std::size_t others() const { return kept_off_by_.size(); }
    [[nodiscard]] bool wishes() const { return !soft_.empty() || !likes_.empty(); }
    [[nodiscard]] std::int64_t crowd(NodeIndex node) const;
    [[nodiscard]] std::int64_t liking(NodeIndex node) const;

   private:
    friend class Peers;
    struct SpreadTest {
      const PeerCounter* counter = nullptr;
      std::int64_t limit = 0;  // most matching pods that a domain may have before this one comes
      std::int64_t skew = 0;   // that, less the pods of the emptiest domain
      bool fixed = false;      // the limit does not depend on that one
    };
    [[nodiscard]] std::uint32_t domain_of(std::uint32_t domains, NodeIndex node) const;
    [[nodiscard]] static std::int64_t pods_in(const PeerCounter& counter, std::uint32_t domain,
                                              NodeIndex node, const Removed* removed);
    [[nodiscard]] ReasonCode check_spread(NodeIndex node, const Removed* removed) const;
    [[nodiscard]] bool together(NodeIndex node, const Removed* removed) const;
    [[nodiscard]] bool kept_off(NodeIndex node, const Removed* removed) const;

    const Peers* peers_ = nullptr;
    const PodSpec* pod_ = nullptr;
    std::vector<const PeerCounter*> affinity_;
    std::vector<const PeerCounter*> anti_;
    std::vector<std::uint32_t> others_;  // anti-affinity terms of other pods that mean this one
    struct Kept {  // where there are many of those: domains that one of them keeps the pod from
      std::uint32_t domains = 0;
      std::vector<std::int32_t> from;  // by domain: pods with such terms
    };
    std::vector<Kept> kept_off_;
    std::vector<std::uint32_t> kept_off_by_;  // their terms, sorted; then others_ is empty
    std::vector<SpreadTest> spread_;
    std::vector<const PeerCounter*> soft_;
    struct Like {
      const PeerCounter* counter = nullptr;
      std::int64_t weight = 0;
    };
    std::vector<Like> likes_;
    std::int64_t affine_ = 0;     // pods that match the affinity terms, summed over the terms
    bool starts_series_ = false;  // the pod matches its own affinity terms: it may be the first
  };
  [[nodiscard]] Test test(const PodSpec& pod);

  // Changes so far. And whether one of those since `from` can make a difference to what test() said
  // of this pod; also true if there are more than `look_at`.
  [[nodiscard]] std::uint64_t changes() const { return log_start_ + log_.size(); }
  [[nodiscard]] bool concerned(const PodSpec& pod, std::uint64_t from, std::int64_t look_at = 1024);

  // What is kept beyond the pods that are there.
  struct Sizes {
    std::size_t counters = 0;
    std::size_t counter_bytes = 0;
    std::size_t domains = 0;     // keys of labels
    std::size_t sets = 0;        // with pods or without
    std::size_t anti_terms = 0;  // that pods have, or had
    std::size_t shared = 0;      // lists of terms and of nodes that counters share
  };
  [[nodiscard]] Sizes sizes() const;
  static constexpr std::size_t kCountersMax = 1024;
  static constexpr std::size_t kCounterBytes = std::size_t{32} << 20U;

  // Recounts everything; one line per difference. For tests.
  [[nodiscard]] std::vector<std::string> audit();

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct Seat {  // of a pod
    NodeIndex node;
    std::uint32_t set = 0;
    bool leaving = false;
    std::vector<std::uint32_t> anti;
    std::vector<HostPort> ports;
  };
  struct Set {  // pods with equal labels in one namespace
    std::string ns;
    Labels labels;
    std::string key;
    std::int64_t pods = 0;
    std::vector<std::uint32_t> anti;  // terms of others that mean it, as far as looked at
    std::size_t anti_seen = 0;        // of all terms
    std::uint64_t anti_world = 0;     // and in which state of the namespaces and terms
  };
  struct OnNode {  // pods of one set on one node
    std::uint32_t set = 0;
    std::int32_t pods = 0;
    std::int32_t leaving = 0;
  };
  struct Change {
    NodeIndex node;
    std::uint32_t set = 0;
    std::int8_t pods = 0;
    std::int8_t leaving = 0;
    bool demanding = false;  // a pod left that others had to respect: its anti-affinity, its ports
  };
  struct AntiTerm {  // required anti-affinity that pods on nodes have
    PodTerm term;
    std::string key;
    std::uint32_t domains = 0;
    std::map<std::size_t, std::int32_t> by_node;
    DomainCounts by_domain;
    std::uint64_t layout = 0;
  };
  struct Domains {  // nodes by the value of one label
    std::string key;
    std::vector<std::uint32_t> of_node;  // kNone: the node has no such label; empty: none has
    std::size_t count = 0;
    std::uint64_t layout = 0;
    std::size_t users = 0;  // counters and terms
    [[nodiscard]] std::uint32_t of(std::size_t node) const {
      return node < of_node.size() ? of_node[node] : kNone;
    }
  };
  struct PortUse {
    std::int32_t port = 0;
    std::string protocol;
    std::string ip;
    PodIndex pod;
  };

  void put_set_key(const PodSpec& pod);  // into key_
  std::uint32_t intern(const PodSpec& pod);
  void free_empty_sets();
  void tidy();
  void count(NodeIndex node, std::uint32_t set, std::int32_t pods, std::int32_t leaving);
  void log(const Change& change);
  std::uint32_t anti_term(const PodTerm& term);
  void count_anti(std::uint32_t term, NodeIndex node, std::int32_t delta);
  std::uint32_t domains_of(const std::string& key);  // to be let go of
  void let_go(std::uint32_t domains);
  Domains& fresh(std::uint32_t domains);
  void place_anti(AntiTerm& term);
  [[nodiscard]] bool in_namespace(const PodTerm& term, const std::string& ns) const;
  [[nodiscard]] bool means(const PodTerm& term, const std::string& ns, const Labels& labels) const;
  [[nodiscard]] bool means(const PeerCounter& counter, std::uint32_t set) const;
  // Terms of others that mean the pod, and that somebody has now.
  void find_others(const PodSpec& pod, std::vector<std::uint32_t>& out);
  void add_others(const PodSpec& pod, Test& test);
  std::shared_ptr<const PeerNodes> nodes_for(const PodSpec& pod, const SpreadRule& rule);
  const std::vector<std::uint8_t>& eligible(const PeerNodes& nodes) const;
  [[nodiscard]] bool counts(const PeerCounter& counter, std::size_t node) const {
    return !counter.eligible || counter.eligible->counts[node] != 0;
  }
  struct CounterAsk;
  PeerCounter& counter(const CounterAsk& ask);
  void recount(PeerCounter& counter);
  void catch_up(PeerCounter& counter);
  void evict_counters();
  [[nodiscard]] bool port_taken(NodeIndex node, const std::vector<HostPort>& ports,
                                const Removed* removed) const;
  void add_spread(const PodSpec& pod, const SpreadRule& rule, Test& test);
  void add_affinity(const PodSpec& pod, Test& test);

  const Ledger& ledger_;
  std::vector<Set> sets_;
  std::map<std::string, std::uint32_t> set_numbers_;
  std::vector<std::uint32_t> free_sets_;  // numbers
  std::set<std::uint32_t> empty_sets_;    // that have no pod: the log may speak of them
  std::size_t empty_bytes_ = 0;
  std::size_t anti_kept_ = 0;                   // numbers in Set::anti
  std::vector<std::unique_ptr<Seat>> seats_;    // by pod
  std::vector<std::vector<OnNode>> on_node_;    // by node
  std::vector<std::vector<PortUse>> ports_on_;  // by node; sorted by port
  std::vector<AntiTerm> anti_;
  std::map<std::string, std::uint32_t> anti_numbers_;
  std::set<std::uint32_t> dead_terms_;  // that no pod has now
  std::set<std::uint32_t> free_terms_;  // numbers
  std::vector<Domains> domains_;
  std::vector<std::uint32_t> free_domains_;
  std::map<std::string, std::uint32_t> domain_numbers_;
  std::set<std::string, std::less<>> label_keys_;  // that nodes have
  std::uint64_t label_keys_layout_ = 0;
  std::map<std::string, std::shared_ptr<const PeerTerms>> terms_;  // by their text
  std::map<std::string, std::shared_ptr<const PeerNodes>> nodes_;
  std::uint64_t numbers_ = 0;  // of these
  std::map<std::string, std::unique_ptr<PeerCounter>> counters_;
  std::size_t counter_bytes_ = 0;
  std::map<std::string, Labels> namespaces_;
  std::vector<Change> log_;
  std::uint64_t log_start_ = 0;
  std::uint64_t layout_ = 1;
  std::uint64_t world_ = 1;       // of the namespaces
  std::uint64_t anti_world_ = 1;  // and of the terms of others that have numbers
  std::uint64_t clock_ = 0;
  std::string key_;  // scratch
};

}  // namespace stowage::core
