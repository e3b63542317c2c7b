// Many runs, each in its own process, so that a crash is a result like any other.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan.h"
#include "simulation.h"

namespace stowage::faults {

// One run in a child process. A crash is reported as a violation.
[[nodiscard]] Outcome run_apart(const Plan& plan, Defect defect);

struct Batch {
  std::uint64_t first = 1;
  std::uint64_t count = 200;
  unsigned jobs = 1;
  Defect defect = Defect::none;
  FeatureChoice features;
};
// Calls `done` with each seed and its outcome, in any order; if it returns false, no more are
// begun.
void run_batch(const Batch& batch, const std::function<bool(std::uint64_t, const Outcome&)>& done);

// A plan with fewer steps that still fails in some way.
[[nodiscard]] Plan shrink(Plan plan, Defect defect);

}  // namespace stowage::faults
