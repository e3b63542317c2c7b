// The published experiment: pods arrive one by one and never leave; a pod that does not fit is
// lost.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "core/engine/engine.h"
#include "sim/curve.h"
#include "sim/scenario.h"

namespace stowage::sim {

// Number of pods by PodKind.
using KindCounts = std::array<std::int64_t, kPodKinds>;

struct ReplayResult {
  AllocationCurve curve;
  std::int64_t arrived = 0;
  std::int64_t placed = 0;
  KindCounts refused{};
  core::Engine::Counters counters{};
  std::string record;       // of the requested decision; empty: none
  double wall_seconds = 0;  // of this run, from the engine's first to its last event
};

// `record_pod`: the number of the arriving pod, from 1, whose decision is recorded; 0: none.
[[nodiscard]] Result<ReplayResult> replay(const Scenario& scenario, core::PolicyOptions options,
                                          Progress& progress, std::uint64_t record_pod = 0);

}  // namespace stowage::sim
