#include "core/engine/holds.h"

#include <algorithm>

namespace stowage::core {

const Hold& Holds::add(Hold hold) {
  const std::string uid = hold.pod.uid;
  forget(uid);
  if (!hold.binding) runs_out_.emplace(hold.until, uid);
  return holds_.emplace(uid, std::move(hold)).first->second;
}

void Holds::reserve(const std::string& uid) {
  Hold& hold = holds_.at(uid);
  runs_out_.erase({hold.until, uid});
  hold.binding = true;
}

void Holds::forget(const std::string& uid) {
  const auto found = holds_.find(uid);
  if (found == holds_.end()) return;
  if (!found->second.binding) runs_out_.erase({found->second.until, uid});
  holds_.erase(found);
}

const Hold* Holds::find(const std::string& uid) const {
  const auto found = holds_.find(uid);
  return found == holds_.end() ? nullptr : &found->second;
}

const Hold* Holds::expired(base::Instant now) const {
  if (runs_out_.empty() || runs_out_.begin()->first > now) return nullptr;
  return &holds_.at(runs_out_.begin()->second);
}

std::vector<std::string> Holds::uids() const {
  std::vector<std::string> uids;
  for (const auto& [uid, hold] : holds_) uids.push_back(uid);
  std::sort(uids.begin(), uids.end());
  return uids;
}

}  // namespace stowage::core
