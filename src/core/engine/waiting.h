// Pods that are not placed: parked ones, which no node takes now, together with their twins in
// order of priority and then of arrival; and resting ones, whose bind failed and who wait for a
// moment. A refusal of one pod holds for all its twins, so a group is tried by its first pod alone.
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
  struct Place {               // lowest first
    std::int64_t urgency = 0;  // the priority, negated
    std::uint64_t arrival = 0;
    auto operator<=>(const Place&) const = default;
  };
  // Twins, and what can help them.
  struct Group {
    std::string key;
    Shape shape;
    std::map<Place, PodSpec> pods;
    // Rules about other pods, or volumes, stand in the way (too): events of that kind help. Tried
    // not before `due`, which moves away with every try in vain.
    bool beyond = false;
    bool things = false;           // volumes, claims and the like can help
    bool unsearched = false;       // searches for its cards were cut: another try goes on with them
    std::uint64_t peers_seen = 0;  // changes among pods that the last try knew of
    std::uint64_t epoch_seen = 0;  // and of nodes' labels, namespaces and volumes
    base::Instant due;
    std::uint32_t tries = 0;
    std::optional<Condition> told;  // where it can change while the pods wait
    std::size_t row = 0;
    std::int32_t cost = 1;  // of one try, see try_cost()
    // Its rules are long: each look at them takes its time, so there are not many.
    [[nodiscard]] bool heavy() const { return cost > 1; }

    [[nodiscard]] const PodSpec& first() const { return pods.begin()->second; }
  };
  // The least that a node must have free before it is worth a look: read for every waiting group
  // whenever a node changes, so it is small and all of it lies together.
  struct Row {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::int32_t whole_cards = 0;  // 0: shares, or cards by number; look closely
    bool beyond = false;           // as in the group
    bool heavy = false;
    Group* group = nullptr;
  };
  // What it takes to try a pod, by how long its rules are: 1 for nearly all.
  static constexpr std::int32_t kMaxCost = 32;
  static constexpr std::int32_t kSearchCost = 8;  // at the least, once a search was cut
  [[nodiscard]] static std::int32_t try_cost(const PodSpec& pod);

  // Requires: not waiting already. `arrival` keeps its place across a failed bind. `make` is asked
  // for the shape of a new group.
  struct Parked {
    std::string group;
    PodSpec pod;
    std::uint64_t arrival = 0;
  };
  template <typename MakeShape>
  Group& park(Parked parked, MakeShape&& make) {
    auto& slot = groups_[parked.group];
    if (!slot) open(slot, parked, make(parked.pod));
    add(*slot, std::move(parked));
    return *slot;
  }
  void rest(PodSpec pod, std::uint64_t arrival, base::Instant until);
  // False if no such pod waits.
  bool remove(const std::string& uid);
  // When the pod came; unset if no such pod waits.
  [[nodiscard]] std::optional<std::uint64_t> arrival_of(const std::string& uid) const;
  // Until when the pod rests; unset if it does not.
  [[nodiscard]] std::optional<base::Instant> rests_until(const std::string& uid) const;
  // A parked pod; null if it is not.
  [[nodiscard]] const PodSpec* parked(const std::string& uid) const;

  // Takes out a pod that has rested enough; the most urgent of them.
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
  // Groups that events among pods or volumes can help, whose rules are long, or whose cards are
  // being searched for, and that may be tried from then on.
  using Due = std::pair<base::Instant, std::string>;
  [[nodiscard]] const std::set<Due>& due() const { return due_; }
  void set_due(Group& group, base::Instant due);

  [[nodiscard]] std::size_t size() const { return where_.size(); }
  [[nodiscard]] std::size_t resting() const { return resting_.size(); }

 private:
  struct Where {
    Group* group = nullptr;
    Place place;
    std::optional<base::Instant> until;  // set: it rests
  };
  using RestKey = std::pair<base::Instant, Place>;

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
