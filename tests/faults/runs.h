// Many runs, each in a process of its own, so that one that dies is a result like any other.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan.h"
#include "simulation.h"

namespace stowage::faults {

// One run in a child process. One that dies has a violation that says so.
[[nodiscard]] Outcome run_apart(const Plan& plan, Defect defect);

struct Batch {
  std::uint64_t first = 1;
  std::uint64_t count = 200;
  unsigned jobs = 1;
  Defect defect = Defect::none;
  FeatureChoice features;
};
// Calls `done` with each seed and its outcome, in any order; false from it: no more are begun.
void run_batch(const Batch& batch, const std::function<bool(std::uint64_t, const Outcome&)>& done);

// A plan with fewer steps that still fails, one way or another.
[[nodiscard]] Plan shrink(Plan plan, Defect defect);

}  // namespace stowage::faults
