#include "sim/experiment.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/rng.h"
#include "sim/generator.h"
#include "sim/progress_bar.h"
#include "sim/text.h"
#include "sim/typical.h"

namespace stowage::sim {
namespace {

constexpr std::uint64_t kRankStream =
    0x72616e6b;  // separates this stream from others of the same seed

struct Run {
  std::size_t policy = 0;
  std::optional<double> load;
  std::size_t case_index = 0;
};

// A scenario is created for its first run and dropped after its last, so that many seeds of a large
// synthetic trace are not in memory at once.
struct Slot {
  std::mutex mutex;
  std::shared_ptr<const Scenario> scenario;
  std::size_t runs_left = 0;
};

Status check_memory(const Trace& trace, const ExperimentConfig& config) {
  const auto asks = std::find_if(trace.pods.begin(), trace.pods.end(),
                                 [](const TracePod& pod) { return pod.gpu_memory_mib > 0; });
  if (config.memory != MemoryShare::none) {
    if (asks == trace.pods.end()) return {};
    return fail(
        fmt::format("{}: pod {} asks for GPU memory already, so --memory-share cannot "
                    "give it some",
                    config.pods_file, in_quotes(asks->name)));
  }
  const bool known = std::any_of(trace.nodes.begin(), trace.nodes.end(), [](const TraceNode& node) {
    return node.gpus > 0 && node.gpu_memory_mib > 0;
  });
  if (asks == trace.pods.end() || known) return {};
  return fail(
      fmt::format("{}: pod {} asks for GPU memory, but no node of {} says how much its "
                  "cards have (column gpu_memory_mib)",
                  config.pods_file, in_quotes(asks->name), config.nodes_file));
}

Result<std::shared_ptr<const Trace>> read_trace(const ExperimentConfig& config) {
  auto trace = std::make_shared<Trace>();
  STOWAGE_TRY(nodes, read_nodes(config.nodes_file));
  STOWAGE_TRY(pods, read_pods(config.pods_file));
  trace->nodes = std::move(nodes);
  trace->pods = std::move(pods);
  if (GpuMeasure(trace->nodes).cards() == 0) {
    return fail(
        fmt::format("{}: no node has a GPU: there is nothing to measure", config.nodes_file));
  }
  STOWAGE_TRY_VOID(check_memory(*trace, config));
  return std::shared_ptr<const Trace>(std::move(trace));
}

Result<std::vector<Case>> make_cases(const ExperimentConfig& config, const Trace* trace) {
  std::vector<Case> cases;
  if (config.sequences.empty()) {
    for (const std::uint64_t seed : config.seeds) cases.push_back({seed, "", std::nullopt});
    return cases;
  }
  for (const std::string& path : config.sequences) {
    STOWAGE_TRY(sequence, read_sequence(path, *trace));
    std::vector<std::uint64_t> seeds = config.seeds;
    if (seeds.empty()) seeds.push_back(seed_in_name(path).value_or(1));
    const std::string name = std::filesystem::path(path).filename().string();
    for (const std::uint64_t seed : seeds) cases.push_back({seed, name, sequence});
  }
  return cases;
}

std::optional<double> peak_rss_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib / 1024;
  }
  return std::nullopt;
}

class Runner {
 public:
  Runner(const ExperimentConfig& config, const Inputs& inputs)
      : config_(config),
        trace_(inputs.trace),
        cases_(inputs.cases),
        runs_(make_runs()),
        slots_(cases_.size()),
        progress_(runs_.size()),
        results_(runs_.size()),
        threads_(std::clamp<std::size_t>(
            config.jobs > 0 ? config.jobs : std::thread::hardware_concurrency(), 1, runs_.size())) {
    for (const Run& run : runs_) ++slots_[run.case_index].runs_left;
    // Runs of one case are started together, whatever the order of the results.
    order_.resize(runs_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) {
      return runs_[a].case_index < runs_[b].case_index;
    });
  }

  [[nodiscard]] Result<std::vector<RunResult>> run() {
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < threads_; ++i) workers.emplace_back([this] { work(); });
    watch();
    for (std::thread& worker : workers) worker.join();
    std::vector<RunResult> results;
    for (auto& result : results_) {
      if (!result) continue;  // not run, because another run failed
      STOWAGE_TRY(value, std::move(*result));
      results.push_back(std::move(value));
    }
    return results;
  }

 private:
  [[nodiscard]] std::vector<Run> make_runs() const {
    std::vector<std::optional<double>> loads(config_.loads.begin(), config_.loads.end());
    if (loads.empty()) loads.emplace_back(std::nullopt);
    std::vector<Run> runs;
    for (std::size_t policy = 0; policy < config_.policies.size(); ++policy) {
      for (const auto& load : loads) {
        for (std::size_t c = 0; c < cases_.size(); ++c) runs.push_back({policy, load, c});
      }
    }
    return runs;
  }

  void work() {
    for (;;) {
      const std::size_t next = next_.fetch_add(1);
      if (next >= order_.size() || failed_) break;
      const std::size_t index = order_[next];
      results_[index] = run_one(index);
      if (!*results_[index]) failed_ = true;
      finish_one();
    }
    const std::lock_guard lock(mutex_);
    ++workers_done_;
    changed_.notify_all();
  }

  void finish_one() {
    const std::lock_guard lock(mutex_);
    ++runs_done_;
  }

  // Waits for the workers and shows their progress.
  void watch() {
    constexpr std::chrono::milliseconds kRedraw{100};
    std::optional<ProgressBar> bar;
    if (config_.show_progress == ExperimentConfig::ShowProgress::yes) bar.emplace();
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kRedraw, [&] { return workers_done_ == threads_; })) {
      if (bar) bar->draw({.fraction = fraction(), .runs_done = runs_done_, .runs = runs_.size()});
    }
  }

  [[nodiscard]] double fraction() const {
    double sum = 0;
    for (const Progress& progress : progress_) {
      const std::uint64_t total = progress.pods_total;
      if (total > 0) sum += static_cast<double>(progress.pods_done) / static_cast<double>(total);
    }
    return sum / static_cast<double>(progress_.size());
  }

  [[nodiscard]] Result<RunResult> run_one(std::size_t index) {
    const Run& run = runs_[index];
    const Case& origin = cases_[run.case_index];
    STOWAGE_TRY(scenario, scenario_for(run.case_index));
    core::PolicyOptions options = config_.options;
    options.choice = config_.policies[run.policy];
    options.seed = origin.seed;
    const bool fgd = options.choice.node == core::NodePolicy::fgd ||
                     options.choice.card == core::CardPolicy::fgd;
    if (fgd) options.typical = scenario->typical;
    RunResult result{.policy = core::to_text(options.choice),
                     .seed = origin.seed,
                     .sequence = origin.sequence_name,
                     .load = run.load,
                     .outcome = ChurnResult{}};
    Progress& progress = progress_[index];
    if (run.load) {
      ChurnConfig churn_config = config_.churn;
      churn_config.load = *run.load;
      STOWAGE_TRY(arrivals, churn_arrivals(*scenario, churn_config, origin.seed));
      progress.pods_total = arrivals.size();
      STOWAGE_TRY_ASSIGN(result.outcome,
                         churn(*scenario, arrivals, churn_config, std::move(options), progress));
    } else {
      progress.pods_total = scenario->arrivals.size();
      STOWAGE_TRY_ASSIGN(result.outcome,
                         replay(*scenario, std::move(options), progress, config_.record_pod));
    }
    return result;
  }

  [[nodiscard]] Result<std::shared_ptr<const Scenario>> scenario_for(std::size_t case_index) {
    Slot& slot = slots_[case_index];
    const std::lock_guard lock(slot.mutex);
    if (!slot.scenario) {
      STOWAGE_TRY(scenario, make_scenario(cases_[case_index]));
      slot.scenario = std::make_shared<const Scenario>(std::move(scenario));
    }
    auto scenario = slot.scenario;
    if (--slot.runs_left == 0) slot.scenario.reset();
    return scenario;
  }

  [[nodiscard]] Result<Scenario> make_scenario(const Case& origin) const {
    std::shared_ptr<const Trace> trace = trace_;
    if (!trace) {
      trace = std::make_shared<const Trace>(synthetic_trace(config_.synthetic_nodes, origin.seed));
    }
    if (config_.memory != MemoryShare::none) {
      auto changed = std::make_shared<Trace>(*trace);
      add_memory(*changed, config_.memory, origin.seed);
      trace = std::move(changed);
    }
    Scenario scenario{.trace = trace,
                      .measure = GpuMeasure(trace->nodes),
                      .ranks = {},
                      .arrivals = {},
                      .typical = typical_pods(trace->pods)};
    if (origin.sequence) {
      scenario.ranks = origin.sequence->ranks;
      scenario.arrivals = origin.sequence->arrivals;
      return scenario;
    }
    base::Rng rng(origin.seed ^ kRankStream);
    scenario.ranks = permutation(trace->nodes.size(), rng);
    if (!config_.loads.empty()) return scenario;
    if (config_.inflate > 0) {
      STOWAGE_TRY_ASSIGN(scenario.arrivals, inflate(*trace, config_.inflate, origin.seed));
    } else {
      scenario.arrivals.resize(trace->pods.size());
      std::iota(scenario.arrivals.begin(), scenario.arrivals.end(), std::uint32_t{0});
    }
    return scenario;
  }

  const ExperimentConfig& config_;
  const std::shared_ptr<const Trace>& trace_;
  const std::vector<Case>& cases_;
  std::vector<Run> runs_;           // in the order of the results
  std::vector<std::size_t> order_;  // in which they are started
  std::vector<Slot> slots_;         // per case
  std::vector<Progress> progress_;  // per run
  std::vector<std::optional<Result<RunResult>>> results_;
  std::size_t threads_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;

  std::mutex mutex_;  // guards the following members
  std::condition_variable changed_;
  std::size_t runs_done_ = 0;
  std::size_t workers_done_ = 0;
};

}  // namespace

Result<Inputs> read_inputs(const ExperimentConfig& config) {
  Inputs inputs;
  if (config.synthetic_nodes == 0) {
    STOWAGE_TRY_ASSIGN(inputs.trace, read_trace(config));
  }
  STOWAGE_TRY_ASSIGN(inputs.cases, make_cases(config, inputs.trace.get()));
  return inputs;
}

Result<Experiment> run_experiment(const ExperimentConfig& config, const Inputs& inputs) {
  Experiment experiment;
  Runner runner(config, inputs);
  STOWAGE_TRY_ASSIGN(experiment.runs, runner.run());
  const auto name_of = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  experiment.source =
      inputs.trace ? fmt::format("{} and {}", name_of(config.nodes_file), name_of(config.pods_file))
                   : "a synthetic trace";
  const std::vector<TraceNode> nodes =
      inputs.trace ? inputs.trace->nodes : synthetic_nodes(config.synthetic_nodes);
  experiment.nodes = static_cast<std::int64_t>(nodes.size());
  experiment.cards = GpuMeasure(nodes).cards();
  experiment.memory = config.memory;
  experiment.inflate = config.sequences.empty() ? config.inflate : 0;
  experiment.churn = config.churn;
  experiment.peak_rss_mib = peak_rss_mib();
  return experiment;
}

}  // namespace stowage::sim
