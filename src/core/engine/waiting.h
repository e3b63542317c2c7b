// Pods that are not placed. Parked pods fit on no node now. A group has the twins of one profile
// and wish, with equal constraints, and of one namespace where a quota or a constraint applies; in
// it, pods are ordered by priority and then by arrival. A refusal of one pod holds for its group,
// so only the first pod of a group is tried. Resting pods are in back-off after a failed bind.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>  // lookup only
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/explain/condition.h"
#include "core/model/pod.h"
#include "core/place/shape.h"

namespace stowage::core {

class Waiting {
 public:
  struct Position {            // lowest first
    std::int64_t urgency = 0;  // the priority, negated
    std::uint64_t arrival = 0;
    auto operator<=>(const Position&) const = default;
  };
  // Twins, and which events can help them.
  struct Group {
    std::string key;
    Shape shape;
    std::map<Position, PodSpec> pods;
    // Rules about other pods or volumes refuse the pods on some node, so changes of these may help.
    // Not tried before `due`, which moves further away with every failed try.
    bool constrained = false;
    bool aux_objects = false;  // changes of volumes, claims and similar objects can help
    bool unsearched = false;   // searches for its cards were cut; the next try continues them
    std::uint64_t affinity_seen = 0;  // affinity changes before the last try
    std::uint64_t epoch_seen =
        0;  // changes of nodes' labels, namespaces and volumes before the last try
    base::Instant due;
    std::uint32_t tries = 0;
    std::optional<ConditionReason>
        told;  // last reported condition, if it can change while the pods wait
    std::size_t row = 0;
    std::int32_t cost = 1;  // of one try, see try_cost()
    // The rules are long, so each check is expensive and few are made.
    [[nodiscard]] bool heavy() const { return cost > 1; }

    [[nodiscard]] const PodSpec& first() const { return pods.begin()->second; }
  };
  // The least free capacity that a node must have to be worth a judgement. It is read for every
  // waiting group whenever a node changes, so rows are small and contiguous.
  struct Row {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::int32_t whole_cards = 0;  // 0: shares, or cards by number; a judgement decides
    bool constrained = false;      // as in Group
    bool heavy = false;
    Group* group = nullptr;
  };
  // The cost of trying a pod, by the length of its rules: 1 for nearly all pods.
  static constexpr std::int32_t kMaxCost = 32;
  static constexpr std::int32_t kSearchCost = 8;  // minimum once a search was cut
  [[nodiscard]] static std::int32_t try_cost(const PodSpec& pod);

  // Requires: the pod is not waiting. `arrival` is kept across failed binds. `make` builds the
  // shape of a new group.
  struct Parked {
    std::string group;
    PodSpec pod;
    std::uint64_t arrival = 0;
  };
  template <typename MakeShape>
  Group& park(Parked parked, MakeShape&& make) {
    auto& slot = groups_[parked.group];
    if (!slot) open(slot, parked, make());
    add(*slot, std::move(parked));
    return *slot;
  }
  void rest(PodSpec pod, std::uint64_t arrival, base::Instant until);
  // False if the pod is not waiting.
  bool remove(const std::string& uid);
  // When the pod arrived; unset if it is not waiting.
  [[nodiscard]] std::optional<std::uint64_t> arrival_of(const std::string& uid) const;
  // When the pod's back-off ends; unset if it is not resting.
  [[nodiscard]] std::optional<base::Instant> rests_until(const std::string& uid) const;
  // The spec of a parked pod; null if it is not parked.
  [[nodiscard]] const PodSpec* parked(const std::string& uid) const;

  // Removes and returns the most urgent pod whose back-off is over.
  struct Rested {
    PodSpec pod;
    std::uint64_t arrival = 0;
  };
  [[nodiscard]] std::optional<Rested> take_rested(base::Instant now);

  [[nodiscard]] Group* find(const std::string& key);
  [[nodiscard]] const std::map<std::string, std::unique_ptr<Group>>& groups() const {
    return groups_;
  }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  // Groups with a time from which they may be tried: those that changes of pods or volumes can
  // help, those with long rules, and those with an unfinished search for cards.
  using Due = std::pair<base::Instant, std::string>;
  [[nodiscard]] const std::set<Due>& due() const { return due_; }
  void set_due(Group& group, base::Instant due);

  [[nodiscard]] std::size_t size() const { return where_.size(); }
  [[nodiscard]] std::size_t resting() const { return resting_.size(); }

 private:
  struct Where {
    Group* group = nullptr;
    Position place;
    std::optional<base::Instant> until;  // set: the pod is resting
  };
  using RestKey = std::pair<base::Instant, Position>;

  void open(std::unique_ptr<Group>& slot, const Parked& first, Shape shape);
  void add(Group& group, Parked parked);
  void close(Group& group);

  std::map<std::string, std::unique_ptr<Group>> groups_;
  std::vector<Row> rows_;
  std::set<Due> due_;
  std::map<RestKey, PodSpec> resting_;
  std::unordered_map<std::string, Where> where_;  // lookup only
};

}  // namespace stowage::core
