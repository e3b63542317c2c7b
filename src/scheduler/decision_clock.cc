#include "scheduler/decision_clock.h"

#include <algorithm>

#include "dialect/times.h"

namespace stowage::scheduler {
namespace {

// The largest difference between wall clocks of one cluster.
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

// An unsigned time far in the future was not written by a replica of ours.
void DecisionClock::saw(std::int64_t decided, bool is_ours) {
  if (is_ours || decided <= unix_nanos_() + kClocksDiffer) last_ = std::max(last_, decided);
}

}  // namespace stowage::scheduler
