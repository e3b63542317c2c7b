#include "local/controllers/work_queue.h"

namespace stowage::local {

void WorkQueue::at(WallTime when, Work work) {
  const bool sooner = entries_.empty() || when < entries_.begin()->first.first;
  entries_.emplace(std::pair{when, next_number_++}, std::move(work));
  if (sooner && sooner_) sooner_();
}

std::optional<WallTime> WorkQueue::next() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.begin()->first.first;
}

std::size_t WorkQueue::run() {
  const WallTime now = now_();
  const std::uint64_t end = next_number_;
  std::size_t done = 0;
  // Entries of this run are taken one at a time: the work may add to the map.
  for (auto at = entries_.begin(); at != entries_.end() && at->first.first <= now;) {
    if (at->first.second >= end) {
      ++at;
      continue;
    }
    const auto key = at->first;
    const Work work = std::move(at->second);
    entries_.erase(at);
    work();
    ++done;
    at = entries_.upper_bound(key);
  }
  return done;
}

}  // namespace stowage::local
