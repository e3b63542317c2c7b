#include "kube/call_lanes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace stowage::kube {

CallPtr CallLanes::pop(Lane from) {
  std::deque<CallPtr>& calls = lane(from);
  STOWAGE_CHECK(!calls.empty());
  CallPtr call = std::move(calls.front());
  calls.pop_front();
  return call;
}

bool CallLanes::empty() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [](const auto& calls) { return calls.empty(); });
}

std::vector<CallPtr> CallLanes::take_expired(SteadyTime now) {
  std::vector<CallPtr> expired;
  for (std::deque<CallPtr>& calls : lanes_) {
    const auto first = std::stable_partition(
        calls.begin(), calls.end(), [&](const CallPtr& call) { return call->deadline > now; });
    std::move(first, calls.end(), std::back_inserter(expired));
    calls.erase(first, calls.end());
  }
  return expired;
}

std::vector<CallPtr> CallLanes::take_all() {
  std::vector<CallPtr> all;
  for (std::deque<CallPtr>& calls : lanes_) {
    std::move(calls.begin(), calls.end(), std::back_inserter(all));
    calls.clear();
  }
  return all;
}

std::optional<SteadyTime> CallLanes::earliest() const {
  std::optional<SteadyTime> first;
  for (const std::deque<CallPtr>& calls : lanes_) {
    for (const CallPtr& call : calls) {
      if (!first || call->deadline < *first) first = call->deadline;
    }
  }
  return first;
}

}  // namespace stowage::kube
