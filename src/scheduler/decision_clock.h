// Times of decisions: each is later than all that were written before.
#pragma once

#include <cstdint>
#include <functional>

#include "dialect/objects.h"

namespace stowage::scheduler {

class DecisionClock {
 public:
  explicit DecisionClock(std::function<std::int64_t()> unix_nanos)
      : unix_nanos_(std::move(unix_nanos)) {}

  // The time of a decision that is about to be written: later than all that were written before, by
  // us or, as far as they were seen, by others; and in a later second than the one in which the pod
  // was last found unschedulable, by the clock of its scheduler.
  [[nodiscard]] std::int64_t next(const dialect::PodObject& object);
  // A decision of one of us was seen. `is_ours`: proved by a signature.
  void saw(std::int64_t decided, bool is_ours);

 private:
  std::function<std::int64_t()> unix_nanos_;
  std::int64_t last_ = 0;
};

}  // namespace stowage::scheduler
