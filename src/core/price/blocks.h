// Keeps blocks of free cards for pods that need several at once, and drains nodes to get blocks.
//
// In a full cluster, cards that become free one by one are taken one by one, and a pod that needs
// eight cards on one node never gets them. So, once pods leave (and only then), as many blocks are
// kept as the multi-card pods would fill at their share of the demand. Smaller pods are placed
// elsewhere if they fit elsewhere. If they fit nowhere else, they wait if hold_back is set, and
// take the cards otherwise. If too few blocks are left, a few nodes are drained: they accept no
// smaller pods.
//
// A group: multi-card kinds of pods with the same number of cards and the same node classes that
// can hold them. The pool of a group: all groups with as many cards whose classes all belong to it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/place/card_mask.h"
#include "core/price/demand.h"

namespace stowage::core {

class Blocks {
 public:
  // Recomputes groups and quotas from the demand. `departures`: see Learner::departures().
  void learn(const Demand& demand, const Ledger& ledger, double departures);
  // Follows the ledger's changes. Call it before the queries below.
  void catch_up(const Ledger& ledger);

  void accepted(std::uint32_t kind, const PodKind& pod);
  // The pod was not placed at its first try.
  void refused(std::uint32_t kind, const PodKind& pod, const Ledger& ledger);
  void departed(std::uint32_t kind);

  // Which rules could exclude a node for a pod now. If none, allows() need not be called.
  struct Rules {
    bool quotas = false;
    bool drains = false;
    [[nodiscard]] bool any() const { return quotas || drains; }
  };
  [[nodiscard]] Rules rules_for(const Shape& shape, std::uint32_t kind) const;
  // True if the pod may take these cards of the node.
  [[nodiscard]] bool allows(const Ledger& ledger, const Shape& shape, NodeIndex node, CardMask used,
                            Rules rules) const;
  // The state of the rules besides the ledger, to record and replay a decision.
  struct GroupState {
    std::int32_t cards = 0;
    std::vector<std::uint8_t> classes;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    double fill = 0;
    std::int64_t use = 0;
    double quota = 0;
  };
  struct State {
    std::vector<GroupState> groups;
    std::map<std::string, std::int32_t> drains;  // by node name
  };
  [[nodiscard]] State state(const Ledger& ledger) const;
  // `group` is the group of the pod kind with number 0; -1 if it has none.
  void restore(const State& state, std::int32_t group, const Ledger& ledger);
  [[nodiscard]] std::int32_t group_of(std::uint32_t kind) const {
    return kind < group_of_kind_.size() ? group_of_kind_[kind] : -1;
  }

  // True if any rule concerns this node. Cheaper than allows(), and true whenever allows() is
  // false.
  [[nodiscard]] bool touches(NodeIndex node) const;

 private:
  struct Group {
    std::int32_t cards = 0;
    std::vector<std::uint8_t> classes;  // by node class: 1 if it can hold the pods
    std::int64_t cpu_milli = 0;         // of the largest pod
    std::int64_t memory_bytes = 0;
    double demand = 0;      // in cards
    double fill = 0;        // blocks that the pool would fill at its share of the demand
    std::int64_t use = 0;   // running pods of the pool
    double quota = 0;       // blocks to keep free now
    std::int64_t free = 0;  // blocks free now
    std::vector<std::uint8_t> free_on;  // by node row
    std::vector<std::size_t> pool;
    [[nodiscard]] bool takes(std::size_t node_class) const {
      return node_class < classes.size() && classes[node_class] != 0;
    }
    [[nodiscard]] bool same_blocks(const Group& other) const;
    [[nodiscard]] bool active() const { return quota >= 1 && static_cast<double>(free) <= quota; }
  };

  void make_groups(const Demand& demand, const Ledger& ledger);
  void recount(const Ledger& ledger);
  void count_node(const Ledger& ledger, NodeIndex node);
  void set_quotas();
  void add_use(std::uint32_t kind, std::int64_t delta);
  void drain_for(std::size_t group, const Ledger& ledger);
  void undrain(NodeIndex node);
  [[nodiscard]] static std::uint8_t blocks_on(const Group& group, const NodeState& state,
                                              std::uint64_t whole, std::int64_t cpu,
                                              std::int64_t memory);

  std::vector<Group> groups_;
  std::vector<std::int32_t> group_of_kind_;  // -1: none
  std::vector<std::uint8_t> drain_;          // by node row: smallest pod that it accepts, in cards
  std::vector<std::uint16_t> drain_group_;
  std::size_t draining_ = 0;
  std::uint64_t seen_changes_ = 0;
  std::uint64_t layout_ = 0;
  double departures_ = 0;
  double cards_ = 0;          // in the cluster
  double caution_ = 0.6;      // fraction of the full quota to keep
  double accepted_gpus_ = 0;  // decayed: GPUs accepted, and GPUs requested
  double asked_gpus_ = 0;
};

}  // namespace stowage::core
