// Pods that no node takes now: parked with their twins, in order of priority and then of arrival.
// A refusal of one pod holds for all its twins, so a group is tried by its first pod alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>  // lookup only

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

  // Requires: not parked already. `arrival` keeps its place across a failed bind.
  void park(const std::string& shape_key, PodSpec pod, std::uint64_t arrival);
  // False if no such pod is parked.
  bool remove(const std::string& uid);
  [[nodiscard]] bool contains(const std::string& uid) const { return where_.contains(uid); }
  // When the pod came; unset if no such pod is parked.
  [[nodiscard]] std::optional<std::uint64_t> arrival_of(const std::string& uid) const;

  [[nodiscard]] const std::map<std::string, Group>& groups() const { return groups_; }
  [[nodiscard]] std::size_t size() const { return where_.size(); }

 private:
  struct Where {
    std::string shape_key;
    Place place;
  };
  std::map<std::string, Group> groups_;           // by shape key
  std::unordered_map<std::string, Where> where_;  // lookup only
};

}  // namespace stowage::core
