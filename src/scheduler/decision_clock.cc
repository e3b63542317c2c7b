#include "scheduler/decision_clock.h"

#include <algorithm>

#include "dialect/times.h"

namespace stowage::scheduler {
namespace {

// Wall clocks of machines of one cluster, at most.
constexpr std::int64_t kClocksDiffer = 60 * dialect::kNanosPerSecond;

}  // namespace

std::int64_t DecisionClock::next(const dialect::PodObject& object) {
  std::int64_t time = std::max(unix_nanos_(), last_ + 1);
  if (!object.unscheduled_reason.empty()) {
    const auto since = dialect::parse_moment(object.unscheduled_since);
    if (since && *since <= time + kClocksDiffer) {
      time = std::max(time, *since + dialect::kNanosPerSecond);
    }
  }
  last_ = time;
  return time;
}

// What lies far ahead and is not signed was not written by one of us.
void DecisionClock::saw(std::int64_t decided, bool is_ours) {
  if (is_ours || decided <= unix_nanos_() + kClocksDiffer) last_ = std::max(last_, decided);
}

}  // namespace stowage::scheduler
