// Pods that are not placed: parked ones, which no node takes now, together with their twins in
// order of priority and then of arrival; and resting ones, whose bind failed and who wait for a
// moment. A refusal of one pod holds for all its twins, so a group is tried by its first pod alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>  // lookup only
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/model/pod.h"

namespace stowage::core {

class Waiting {
 public:
  struct Place {               // lowest first
    std::int64_t urgency = 0;  // the priority, negated
    std::uint64_t arrival = 0;
    auto operator<=>(const Place&) const = default;
  };
  using Group = std::map<Place, PodSpec>;  // twins

  // Requires: not waiting already. `arrival` keeps its place across a failed bind.
  void park(const std::string& group, PodSpec pod, std::uint64_t arrival);
  void rest(PodSpec pod, std::uint64_t arrival, base::Instant until);
  // False if no such pod waits.
  bool remove(const std::string& uid);
  // When the pod came; unset if no such pod waits.
  [[nodiscard]] std::optional<std::uint64_t> arrival_of(const std::string& uid) const;
  // Until when the pod rests; unset if it does not.
  [[nodiscard]] std::optional<base::Instant> rests_until(const std::string& uid) const;

  // Takes out a pod that has rested enough; the most urgent of them.
  struct Rested {
    PodSpec pod;
    std::uint64_t arrival = 0;
  };
  [[nodiscard]] std::optional<Rested> take_rested(base::Instant now);

  [[nodiscard]] const std::map<std::string, Group>& groups() const { return groups_; }
  [[nodiscard]] std::size_t size() const { return where_.size(); }
  [[nodiscard]] std::size_t resting() const { return resting_.size(); }

 private:
  struct Where {
    std::string group;
    Place place;
    std::optional<base::Instant> until;  // set: it rests
  };
  using RestKey = std::pair<base::Instant, Place>;

  std::map<std::string, Group> groups_;
  std::map<RestKey, PodSpec> resting_;
  std::unordered_map<std::string, Where> where_;  // lookup only
};

}  // namespace stowage::core
