#include "sim/churn.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include <fmt/format.h>

#include "base/instant.h"
#include "base/rng.h"
#include "sim/driver.h"

namespace stowage::sim {
namespace {

constexpr std::size_t kArrivalsMax = 20'000'000;
constexpr std::uint64_t kStream =
    0x636875726e;                          // separates this stream from others of the same seed
constexpr double kNsPerLifetime = 3600e9;  // for the engine, a lifetime is one hour
constexpr double kNever = std::numeric_limits<double>::infinity();

base::Instant instant_at(double time) {
  return base::Instant{static_cast<std::int64_t>(time * kNsPerLifetime)};
}

double exponential(base::Rng& rng) { return -std::log(1.0 - rng.unit()); }

std::optional<double> percent_of(double part, double whole) {
  if (whole <= 0) return std::nullopt;
  return 100.0 * part / whole;
}

// One run: the clock, the running pods, and the integrals over time.
class ChurnRun {
 public:
  ChurnRun(const Scenario& scenario, const std::vector<ChurnArrival>& arrivals,
           const ChurnConfig& config, core::PolicyOptions options)
      : scenario_(scenario),
        arrivals_(arrivals),
        config_(config),
        driver_(std::move(options), config.admission == ChurnConfig::Admission::queue
                                        ? Driver::Refused::wait
                                        : Driver::Refused::leave),
        placed_at_(arrivals.size(), kNever) {}

  [[nodiscard]] Status run(Progress& progress) {
    STOWAGE_TRY_VOID(driver_.add_nodes(scenario_.trace->nodes, scenario_.ranks));
    std::uint32_t next = 0;
    for (;;) {
      const double arrival = next < arrivals_.size() ? arrivals_[next].time : kNever;
      const double departure = departures_.empty() ? kNever : departures_.top().first;
      if (std::min(arrival, departure) > config_.lifetimes) break;
      if (departure <= arrival) {
        STOWAGE_TRY_VOID(depart());
      } else {
        STOWAGE_TRY_VOID(arrive(next++));
        progress.pods_done.fetch_add(1, std::memory_order_relaxed);
      }
    }
    advance(config_.lifetimes);
    return {};
  }

  [[nodiscard]] ChurnResult result() const;

 private:
  using Departure = std::pair<double, std::uint32_t>;  // for equal times, earlier pods first

  [[nodiscard]] std::int64_t demand(std::uint32_t id) const {
    return scenario_.measure.demand(pod(id));
  }
  [[nodiscard]] const TracePod& pod(std::uint32_t id) const {
    return scenario_.trace->pods[arrivals_[id].row];
  }

  // Advances the clock and adds the allocated and waiting amounts to the averages.
  void advance(double time) {
    const double span = time - std::max(now_, config_.warmup);
    if (span > 0) {
      allocated_integral_ += span * static_cast<double>(allocated_);
      waiting_integral_ += span * static_cast<double>(waiting_);
    }
    now_ = time;
  }

  [[nodiscard]] Status arrive(std::uint32_t id) {
    advance(arrivals_[id].time);
    const bool queues = config_.admission == ChurnConfig::Admission::queue;
    if (queues) ++waiting_;
    STOWAGE_TRY(outcome, driver_.arrive(id, pod(id), instant_at(now_)));
    note(*outcome);
    return {};
  }

  [[nodiscard]] Status depart() {
    const auto [time, id] = departures_.top();
    departures_.pop();
    advance(time);
    allocated_ -= demand(id);
    STOWAGE_TRY(outcome, driver_.depart(id, instant_at(now_)));
    note(*outcome);
    return {};
  }

  void note(const Driver::Outcome& outcome) {
    for (const std::uint32_t id : outcome.bound) {
      placed_at_[id] = now_;
      allocated_ += demand(id);
      departures_.emplace(now_ + arrivals_[id].life, id);
      if (config_.admission == ChurnConfig::Admission::queue) --waiting_;
    }
  }

  const Scenario& scenario_;
  const std::vector<ChurnArrival>& arrivals_;
  const ChurnConfig& config_;
  Driver driver_;
  std::vector<double> placed_at_;  // by arrival; kNever: not placed
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
  double now_ = 0;
  std::int64_t allocated_ = 0;
  std::int64_t waiting_ = 0;
  double allocated_integral_ = 0;
  double waiting_integral_ = 0;
};

ChurnResult ChurnRun::result() const {
  ChurnResult result;
  double demand_arrived = 0;
  double demand_placed = 0;
  std::int64_t multi_arrived = 0;
  std::int64_t multi_placed = 0;
  std::vector<double> waits;
  std::vector<double> waits_multi;
  for (std::uint32_t id = 0; id < arrivals_.size(); ++id) {
    if (arrivals_[id].time < config_.warmup) continue;
    const bool placed = placed_at_[id] != kNever;
    const bool multi = pod(id).num_gpu > 1;
    const auto amount = static_cast<double>(demand(id));
    ++result.arrived;
    demand_arrived += amount;
    multi_arrived += multi ? 1 : 0;
    if (placed) {
      ++result.placed;
      demand_placed += amount;
      multi_placed += multi ? 1 : 0;
    } else {
      ++result.refused[static_cast<std::size_t>(kind_of(pod(id)))];
    }
    if (config_.admission == ChurnConfig::Admission::queue) {
      waits.push_back((placed ? placed_at_[id] : config_.lifetimes) - arrivals_[id].time);
      if (multi) waits_multi.push_back(waits.back());
    }
  }
  const double window = config_.lifetimes - config_.warmup;
  result.allocated_percent_mean =
      100.0 * allocated_integral_ / (window * static_cast<double>(scenario_.measure.capacity()));
  result.queue_length_mean = waiting_integral_ / window;
  result.accepted_gpu_percent = percent_of(demand_placed, demand_arrived);
  result.accepted_multi_percent =
      percent_of(static_cast<double>(multi_placed), static_cast<double>(multi_arrived));
  result.accepted_percent =
      percent_of(static_cast<double>(result.placed), static_cast<double>(result.arrived));
  result.wait = wait_stats(std::move(waits));
  result.wait_multi = wait_stats(std::move(waits_multi));
  result.counters = driver_.engine().counters();
  return result;
}

}  // namespace

Result<std::vector<ChurnArrival>> churn_arrivals(const Scenario& scenario,
                                                 const ChurnConfig& config, std::uint64_t seed) {
  const auto& pods = scenario.trace->pods;
  double demand = 0;
  for (const TracePod& pod : pods) demand += static_cast<double>(scenario.measure.demand(pod));
  if (demand <= 0) return fail("no pod asks for a GPU: a load cannot be offered");
  const double rate = config.load * static_cast<double>(scenario.measure.capacity()) *
                      static_cast<double>(pods.size()) / demand;
  if (rate * config.lifetimes > static_cast<double>(kArrivalsMax)) {
    return fail(fmt::format("a load of {} over {} lifetimes takes more than {} pods", config.load,
                            config.lifetimes, kArrivalsMax));
  }
  std::vector<ChurnArrival> arrivals;
  base::Rng rng(seed ^ kStream);
  for (double time = 0;;) {
    ChurnArrival arrival;
    time += exponential(rng) / rate;
    if (time >= config.lifetimes) return arrivals;
    arrival.time = time;
    arrival.row = static_cast<std::uint32_t>(rng.below(pods.size()));
    arrival.life = exponential(rng);
    arrivals.push_back(arrival);
  }
}

WaitStats wait_stats(std::vector<double> waits) {
  WaitStats stats;
  stats.pods = static_cast<std::int64_t>(waits.size());
  if (waits.empty()) return stats;
  std::sort(waits.begin(), waits.end());
  double sum = 0;
  for (const double wait : waits) sum += wait;
  stats.mean = sum / static_cast<double>(waits.size());
  stats.p99 = waits[(waits.size() * 99 + 99) / 100 - 1];
  return stats;
}

Result<ChurnResult> churn(const Scenario& scenario, const std::vector<ChurnArrival>& arrivals,
                          const ChurnConfig& config, core::PolicyOptions options,
                          Progress& progress) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  ChurnRun run(scenario, arrivals, config, std::move(options));
  STOWAGE_TRY_VOID(run.run(progress));
  ChurnResult result = run.result();
  result.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

}  // namespace stowage::sim
