// Keeps blocks of free cards for pods that need several at once, and makes room for them.
//
// In a full cluster the cards that fall free one by one are taken one by one, and a pod that needs
// eight on one node never sees them. So, once pods leave (and only then), as many blocks are kept
// as the multi-card pods seen would fill at their share of the demand. Smaller pods go elsewhere if
// they fit elsewhere. If they fit nowhere else they wait if hold_back is set, and take the cards if
// it is not. When too few blocks are left, a few nodes are drained: they take no smaller pods.
//
// Groups: multi-card kinds of pods by number of cards and by the node classes that can hold them.
// The pool of a group: groups of as many cards whose classes all belong to it.
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
  // Takes the demand anew: groups, quotas. `departures` as Learner::departures().
  void learn(const Demand& demand, const Ledger& ledger, double departures);
  // Follows the ledger's changes. Call before asking.
  void catch_up(const Ledger& ledger);

  void accepted(std::uint32_t kind, const PodKind& pod, const Ledger& ledger);
  // The pod was not placed at its first try.
  void refused(std::uint32_t kind, const PodKind& pod, const Ledger& ledger);
  void departed(std::uint32_t kind);

  // Which rules could forbid a node to a pod now. If none, allows() need not be asked.
  struct Rules {
    bool quotas = false;
    bool drains = false;
    [[nodiscard]] bool any() const { return quotas || drains; }
  };
  [[nodiscard]] Rules rules_for(const Shape& shape, std::uint32_t kind) const;
  // May the pod take these cards of the node?
  [[nodiscard]] bool allows(const Ledger& ledger, const Shape& shape, NodeIndex node, CardMask used,
                            Rules rules) const;
  // What the rules depend on besides the ledger, to record a decision and to replay it.
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
  // `group` is that of the kind of pod numbered 0; -1 if it has none.
  void restore(const State& state, std::int32_t group, const Ledger& ledger);
  [[nodiscard]] std::int32_t group_of(std::uint32_t kind) const {
    return kind < group_of_kind_.size() ? group_of_kind_[kind] : -1;
  }

  // Does any rule look at this node at all? Cheaper than allows(), and true whenever it is false.
  [[nodiscard]] bool touches(NodeIndex node) const;

 private:
  struct Group {
    std::int32_t cards = 0;
    std::vector<std::uint8_t> classes;  // by node class: 1 if it can hold the pods
    std::int64_t cpu_milli = 0;         // largest pod
    std::int64_t memory_bytes = 0;
    double demand = 0;      // in cards
    double fill = 0;        // blocks that the pool would fill at its share of the demand
    std::int64_t use = 0;   // running pods of the pool
    double quota = 0;       // blocks to keep free now
    std::int64_t free = 0;  // blocks free now
    std::vector<std::uint8_t> free_on;  // by node slot
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
  std::vector<std::uint8_t> drain_;          // by node slot: smallest pod it takes, in cards
  std::vector<std::uint16_t> drain_group_;
  std::size_t draining_ = 0;
  std::uint64_t seen_changes_ = 0;
  std::uint64_t layout_ = 0;
  double departures_ = 0;
  double cards_ = 0;            // in the cluster
  double caution_ = 0.6;        // how much of the full quota to keep
  double acceptance_gpus_ = 0;  // faded: GPUs accepted, and asked for
  double asked_gpus_ = 0;
};

}  // namespace stowage::core
