#include "core/engine/waiting.h"

#include <algorithm>

#include "base/check.h"
#include "core/model/limits.h"

namespace stowage::core {
namespace {

Waiting::Position place_of(const PodSpec& pod, std::uint64_t arrival) {
  return {.urgency = -std::int64_t{pod.priority}, .arrival = arrival};
}

// The least number of whole cards that the pod holds at once.
std::int32_t whole_cards(const Shape& shape) {
  if (shape.naming != Naming::always) return 0;
  std::int32_t cards = 0;
  for (const auto& part : shape.parts) {
    if (part.whole) cards = std::max(cards, part.count);
  }
  return cards;
}

}  // namespace

std::int32_t Waiting::try_cost(const PodSpec& pod) {
  constexpr std::size_t kBytesPerTry = 1024;
  const std::size_t cost = (rule_bytes(pod.rules) + rule_bytes(pod.constraints)) / kBytesPerTry;
  return std::clamp(static_cast<std::int32_t>(cost), 1, kMaxCost);
}

void Waiting::open(std::unique_ptr<Group>& slot, const Parked& first, Shape shape) {
  slot = std::make_unique<Group>();
  slot->key = first.group;
  slot->cost = try_cost(first.pod);
  slot->shape = std::move(shape);
  slot->row = rows_.size();
  rows_.push_back({.cpu_milli = slot->shape.cpu_milli,
                   .memory_bytes = slot->shape.memory_bytes,
                   .whole_cards = whole_cards(slot->shape),
                   .heavy = slot->heavy(),
                   .group = slot.get()});
}

void Waiting::add(Group& group, Parked parked) {
  const Position place = place_of(parked.pod, parked.arrival);
  STOWAGE_CHECK(where_.emplace(parked.pod.uid, Where{.group = &group, .place = place}).second);
  group.pods.emplace(place, std::move(parked.pod));
}

void Waiting::close(Group& group) {
  due_.erase({group.due, group.key});
  rows_[group.row] = rows_.back();
  rows_[group.row].group->row = group.row;
  rows_.pop_back();
  groups_.erase(groups_.find(group.key));
}

void Waiting::rest(PodSpec pod, std::uint64_t arrival, base::Instant until) {
  const Position place = place_of(pod, arrival);
  STOWAGE_CHECK(where_.emplace(pod.uid, Where{.place = place, .until = until}).second);
  resting_.emplace(RestKey{until, place}, std::move(pod));
}

bool Waiting::remove(const std::string& uid) {
  const auto found = where_.find(uid);
  if (found == where_.end()) return false;
  const Where where = found->second;
  where_.erase(found);
  if (where.until) {
    resting_.erase(RestKey{*where.until, where.place});
    return true;
  }
  where.group->pods.erase(where.place);
  if (where.group->pods.empty()) close(*where.group);
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

const PodSpec* Waiting::parked(const std::string& uid) const {
  const auto found = where_.find(uid);
  if (found == where_.end() || found->second.until) return nullptr;
  return &found->second.group->pods.at(found->second.place);
}

Waiting::Group* Waiting::find(const std::string& key) {
  const auto found = groups_.find(key);
  return found == groups_.end() ? nullptr : found->second.get();
}

void Waiting::set_due(Group& group, base::Instant due) {
  due_.erase({group.due, group.key});
  if (group.unsearched) group.cost = std::max(group.cost, kSearchCost);
  rows_[group.row].constrained = group.constrained;
  rows_[group.row].heavy = group.heavy();
  group.due = due;
  if (group.constrained || group.aux_objects || group.heavy()) due_.emplace(due, group.key);
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
