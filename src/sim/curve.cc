#include "sim/curve.h"

#include <cmath>

#include "base/check.h"

namespace stowage::sim {
namespace {

constexpr long kPercentMax = 1000;

}  // namespace

AllocationCurve::AllocationCurve(std::int64_t capacity) : capacity_(capacity) {
  STOWAGE_CHECK(capacity > 0);
}

void AllocationCurve::add(std::int64_t arrived, std::int64_t allocated) {
  const auto percent_of = [this](std::int64_t amount) {
    return 100.0 * static_cast<double>(amount) / static_cast<double>(capacity_);
  };
  const long percent = std::lround(percent_of(arrived));
  if (percent > kPercentMax) return;
  const auto at = static_cast<std::size_t>(percent);
  if (at >= buckets_.size()) buckets_.resize(at + 1);
  buckets_[at].sum += percent_of(allocated);
  ++buckets_[at].events;
}

std::optional<double> AllocationCurve::at(int percent) const {
  const auto at = static_cast<std::size_t>(percent);
  if (percent < 0 || at >= buckets_.size() || buckets_[at].events == 0) return std::nullopt;
  return buckets_[at].sum / static_cast<double>(buckets_[at].events);
}

int AllocationCurve::last() const { return static_cast<int>(buckets_.size()) - 1; }

}  // namespace stowage::sim
