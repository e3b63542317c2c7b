// One run: a plan, played from its first step to a calm end, and its violations.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "checks.h"
#include "defects.h"
#include "plan.h"

namespace stowage::faults {

struct RunOptions {
  Defect defect = Defect::none;
  std::function<void(std::string_view)> log;  // a line; empty: no log
};

struct Outcome {
  std::string violation;            // empty: none
  std::uint64_t digest = 0;         // of all calls to the API
  std::uint64_t textless = 0;       // the same without texts for people
  std::uint64_t steps = 0;          // pieces of work
  std::uint64_t bound = 0;          // pods, by replicas
  std::uint64_t pre_allocated = 0;  // pods, by kube-scheduler to cards of a pre-allocation
  std::uint64_t recounts = 0;       // comparisons of a ledger with the API
  std::uint64_t takeovers = 0;      // times that a replica became leader
};

// Equal arguments give equal outcomes.
[[nodiscard]] Outcome simulate(const Plan& plan, const RunOptions& options);

}  // namespace stowage::faults
