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

  // The time of a decision that is about to be written. It is later than all decisions that were
  // written before, by us or (as far as they were seen) by other replicas. It is also in a later
  // second than the one in which the scheduler of the pod last found it unschedulable.
  [[nodiscard]] std::int64_t next(const dialect::PodObject& object);
  // A decision of a replica was seen. `is_ours`: a signature proves it.
  void saw(std::int64_t decided, bool is_ours);

 private:
  std::function<std::int64_t()> unix_nanos_;
  std::int64_t last_ = 0;
};

}  // namespace stowage::scheduler
