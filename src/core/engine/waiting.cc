#include "core/engine/waiting.h"

#include <utility>

#include "base/check.h"

namespace stowage::core {
namespace {

Waiting::Place place_of(const PodSpec& pod, std::uint64_t arrival) {
  return {.urgency = -std::int64_t{pod.priority}, .arrival = arrival};
}

}  // namespace

void Waiting::park(const std::string& group, PodSpec pod, std::uint64_t arrival) {
  const Place place = place_of(pod, arrival);
  STOWAGE_CHECK(where_.emplace(pod.uid, Where{.group = group, .place = place}).second);
  groups_[group].emplace(place, std::move(pod));
}

void Waiting::rest(PodSpec pod, std::uint64_t arrival, base::Instant until) {
  const Place place = place_of(pod, arrival);
  STOWAGE_CHECK(where_.emplace(pod.uid, Where{.place = place, .until = until}).second);
  resting_.emplace(RestKey{until, place}, std::move(pod));
}

bool Waiting::remove(const std::string& uid) {
  const auto found = where_.find(uid);
  if (found == where_.end()) return false;
  const Where& where = found->second;
  if (where.until) {
    resting_.erase(RestKey{*where.until, where.place});
  } else {
    const auto group = groups_.find(where.group);
    group->second.erase(where.place);
    if (group->second.empty()) groups_.erase(group);
  }
  where_.erase(found);
  return true;
}

std::optional<std::uint64_t> Waiting::arrival_of(const std::string& uid) const {
  const auto found = where_.find(uid);
  if (found == where_.end()) return std::nullopt;
  return found->second.place.arrival;
}

std::optional<base::Instant> Waiting::rests_until(const std::string& uid) const {
  const auto found = where_.find(uid);
  return found == where_.end() ? std::nullopt : found->second.until;
}

std::optional<Waiting::Rested> Waiting::take_rested(base::Instant now) {
  auto first = resting_.end();
  for (auto it = resting_.begin(); it != resting_.end() && it->first.first <= now; ++it) {
    if (first == resting_.end() || it->first.second < first->first.second) first = it;
  }
  if (first == resting_.end()) return std::nullopt;
  Rested rested{.pod = std::move(first->second), .arrival = first->first.second.arrival};
  resting_.erase(first);
  where_.erase(rested.pod.uid);
  return rested;
}

}  // namespace stowage::core
