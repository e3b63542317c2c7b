#include "sim/replay.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/instant.h"
#include "sim/driver.h"

namespace stowage::sim {
namespace {

// Time does not matter in this experiment, but the engine needs increasing times.
constexpr std::int64_t kNsPerPod = 1'000'000'000;

}  // namespace

Result<ReplayResult> replay(const Scenario& scenario, core::PolicyOptions options,
                            Progress& progress, std::uint64_t record_pod) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  ReplayResult result{.curve = AllocationCurve(scenario.measure.capacity())};
  Driver driver(std::move(options), Driver::Refused::leave);
  STOWAGE_TRY_VOID(driver.add_nodes(scenario.trace->nodes, scenario.ranks));

  std::int64_t arrived = 0;
  std::int64_t allocated = 0;
  base::Instant now;
  for (std::uint32_t id = 0; id < scenario.arrivals.size(); ++id) {
    const TracePod& pod = scenario.trace->pods[scenario.arrivals[id]];
    const std::int64_t demand = scenario.measure.demand(pod);
    now.ns += kNsPerPod;
    if (id + 1 == record_pod) result.record = driver.record_arrival(id, pod);
    STOWAGE_TRY(outcome, driver.arrive(id, pod, now));
    arrived += demand;
    if (outcome->bound.empty()) {
      ++result.refused[static_cast<std::size_t>(kind_of(pod))];
    } else {
      ++result.placed;
      allocated += demand;
    }
    result.curve.add(arrived, allocated);
    progress.pods_done.fetch_add(1, std::memory_order_relaxed);
  }
  if (record_pod > scenario.arrivals.size()) {
    return fail(fmt::format("--record names pod {}, but only {} arrive", record_pod,
                            scenario.arrivals.size()));
  }
  result.arrived = static_cast<std::int64_t>(scenario.arrivals.size());
  result.counters = driver.engine().counters();
  result.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

}  // namespace stowage::sim
