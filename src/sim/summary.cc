#include "sim/summary.h"

#include <algorithm>
#include <functional>
#include <span>
#include <variant>

namespace stowage::sim {
namespace {

// Mean over the runs that have a value.
template <typename Value>
std::optional<double> mean(std::span<const RunResult* const> runs, const Value& value_of) {
  double sum = 0;
  std::size_t count = 0;
  for (const RunResult* run : runs) {
    const std::optional<double> value = value_of(*run);
    if (!value) continue;
    sum += *value;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

template <typename Value>
double mean_number(std::span<const RunResult* const> runs, const Value& value_of) {
  const auto of_run = [&](const RunResult& run) {
    return std::visit(
        [&](const auto& outcome) -> std::optional<double> {
          return static_cast<double>(value_of(outcome));
        },
        run.outcome);
  };
  return mean(runs, of_run).value_or(0);
}

void add_churn(Summary& summary, std::span<const RunResult* const> runs) {
  const auto churn_mean = [&](auto member) {
    return mean(runs, [&](const RunResult& run) -> std::optional<double> {
      return std::invoke(member, std::get<ChurnResult>(run.outcome));
    });
  };
  summary.allocated_percent_mean = churn_mean(&ChurnResult::allocated_percent_mean);
  summary.accepted_gpu_percent = churn_mean(&ChurnResult::accepted_gpu_percent);
  summary.accepted_multi_percent = churn_mean(&ChurnResult::accepted_multi_percent);
  summary.accepted_percent = churn_mean(&ChurnResult::accepted_percent);
  summary.queue_length = churn_mean(&ChurnResult::queue_length_mean).value_or(0);
  const auto wait = [&](auto value_of) { return churn_mean(value_of).value_or(0); };
  summary.wait = wait([](const ChurnResult& r) { return r.wait.mean; });
  summary.wait_p99 = wait([](const ChurnResult& r) { return r.wait.p99; });
  summary.wait_multi = wait([](const ChurnResult& r) { return r.wait_multi.mean; });
  summary.wait_multi_p99 = wait([](const ChurnResult& r) { return r.wait_multi.p99; });
}

void add_curve(Summary& summary, std::span<const RunResult* const> runs) {
  int last = -1;
  for (const RunResult* run : runs) {
    last = std::max(last, std::get<ReplayResult>(run->outcome).curve.last());
  }
  for (int percent = 0; percent <= last; ++percent) {
    summary.curve.push_back(mean(runs, [&](const RunResult& run) {
      return std::get<ReplayResult>(run.outcome).curve.at(percent);
    }));
  }
}

Summary summary_of(std::span<const RunResult* const> runs) {
  Summary summary;
  summary.policy = runs.front()->policy;
  summary.load = runs.front()->load;
  summary.runs = runs.size();
  summary.arrived = mean_number(runs, [](const auto& outcome) { return outcome.arrived; });
  summary.placed = mean_number(runs, [](const auto& outcome) { return outcome.placed; });
  for (std::size_t kind = 0; kind < kPodKinds; ++kind) {
    summary.refused[kind] =
        mean_number(runs, [&](const auto& outcome) { return outcome.refused[kind]; });
  }
  summary.wall_seconds =
      mean_number(runs, [](const auto& outcome) { return outcome.wall_seconds; });
  if (summary.load) {
    add_churn(summary, runs);
  } else {
    add_curve(summary, runs);
  }
  return summary;
}

}  // namespace

std::optional<double> Summary::at(int percent) const {
  const auto index = static_cast<std::size_t>(percent);
  return percent >= 0 && index < curve.size() ? curve[index] : std::nullopt;
}

std::vector<Summary> summarise(const Experiment& experiment) {
  std::vector<Summary> summaries;
  std::vector<const RunResult*> group;
  for (const RunResult& run : experiment.runs) {
    const bool same =
        !group.empty() && group.front()->policy == run.policy && group.front()->load == run.load;
    if (!same && !group.empty()) {
      summaries.push_back(summary_of(group));
      group.clear();
    }
    group.push_back(&run);
  }
  if (!group.empty()) summaries.push_back(summary_of(group));
  return summaries;
}

}  // namespace stowage::sim
