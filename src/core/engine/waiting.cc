#include "core/engine/waiting.h"

#include <utility>

#include "base/check.h"

namespace stowage::core {

void Waiting::park(const std::string& shape_key, PodSpec pod, std::uint64_t arrival) {
  STOWAGE_CHECK(!contains(pod.uid));
  const Place place{.urgency = -std::int64_t{pod.priority}, .arrival = arrival};
  where_.emplace(pod.uid, Where{.shape_key = shape_key, .place = place});
  groups_[shape_key].emplace(place, std::move(pod));
}

bool Waiting::remove(const std::string& uid) {
  const auto found = where_.find(uid);
  if (found == where_.end()) return false;
  const auto group = groups_.find(found->second.shape_key);
  group->second.erase(found->second.place);
  if (group->second.empty()) groups_.erase(group);
  where_.erase(found);
  return true;
}

std::optional<std::uint64_t> Waiting::arrival_of(const std::string& uid) const {
  const auto found = where_.find(uid);
  if (found == where_.end()) return std::nullopt;
  return found->second.place.arrival;
}

}  // namespace stowage::core
