// Interprets the flags of the sim command.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/number.h"
#include "cmd/sim_command.h"
#include "sim/generator.h"
#include "sim/text.h"

namespace stowage::cmd {
namespace {

constexpr std::size_t kRunsMax = 100'000;
constexpr std::uint64_t kSeedRangeMax = 10'000;
constexpr std::uint64_t kNumberMax = std::numeric_limits<std::uint64_t>::max();

Result<std::uint64_t> whole(std::string_view flag, std::string_view text, std::uint64_t max) {
  const auto number = base::parse_number<std::uint64_t>(text);
  if (!number || *number == 0 || *number > max) {
    return fail(fmt::format("{} is {}: expected a whole number from 1 to {}", flag,
                            sim::in_quotes(text), max));
  }
  return *number;
}

struct RealRange {
  double min = 0;
  double max = 0;
};

Result<double> real(std::string_view flag, std::string_view text, RealRange range) {
  const auto number = base::parse_number<double>(text);
  if (!number || !(*number >= range.min && *number <= range.max)) {
    return fail(fmt::format("{} is {}: expected a number from {:g} to {:g}", flag,
                            sim::in_quotes(text), range.min, range.max));
  }
  return *number;
}

// All values of a flag, whether separated by commas or given by repetition.
std::vector<std::string_view> entries(const std::vector<std::string>& given) {
  std::vector<std::string_view> all;
  for (const std::string& text : given) {
    for (const std::string_view entry : sim::split(text, ',')) all.push_back(entry);
  }
  return all;
}

template <typename Value>
void add_once(std::vector<Value>& values, Value value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) {
    values.push_back(std::move(value));
  }
}

// "42" or "42-46".
Status add_seeds(std::vector<std::uint64_t>& seeds, std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = base::parse_number<std::uint64_t>(text.substr(0, dash));
  const auto last = dash == std::string_view::npos
                        ? first
                        : base::parse_number<std::uint64_t>(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last - *first >= kSeedRangeMax) {
    return fail(
        fmt::format("--seed is {}: expected a whole number from 0 to {}, or a range such as "
                    "42-46",
                    sim::in_quotes(text), kNumberMax));
  }
  for (std::uint64_t seed = *first;; ++seed) {
    add_once(seeds, seed);
    if (seed == *last) return {};
  }
}

// Pairs of flags that exclude each other.
Status check_conflicts(const SimFlags& flags) {
  struct Flag {
    const char* name;
    bool given;
  };
  const Flag nodes{"--nodes", !flags.nodes.empty()};
  const Flag pods{"--pods", !flags.pods.empty()};
  const Flag synthetic{"--synthetic", !flags.synthetic.empty()};
  const Flag sequence{"--sequence", !flags.sequences.empty()};
  const Flag inflate{"--inflate", !flags.inflate.empty()};
  const Flag churn{"--churn", !flags.loads.empty()};
  const Flag queue{"--queue", flags.queue};
  const Flag lifetimes{"--lifetimes", !flags.lifetimes.empty()};
  const Flag warmup{"--warmup", !flags.warmup.empty()};
  const std::pair<Flag, Flag> conflicts[] = {
      {synthetic, nodes},  {synthetic, pods}, {synthetic, sequence},
      {sequence, inflate}, {churn, sequence}, {churn, inflate},
  };
  for (const auto& [one, other] : conflicts) {
    if (one.given && other.given) {
      return fail(fmt::format("{} and {} contradict each other: give only one of them", one.name,
                              other.name));
    }
  }
  for (const Flag& flag : {queue, lifetimes, warmup}) {
    if (flag.given && !churn.given) {
      return fail(fmt::format("{} needs --churn: give --churn too", flag.name));
    }
  }
  if (!synthetic.given && !(nodes.given && pods.given)) {
    return fail("no trace given: give --nodes FILE and --pods FILE, or --synthetic N");
  }
  return {};
}

Status read_churn(const SimFlags& flags, sim::ExperimentConfig& config) {
  for (const std::string_view text : entries(flags.loads)) {
    STOWAGE_TRY(load, real("--churn", text, {0.01, 10}));
    add_once(config.loads, load);
  }
  if (!flags.lifetimes.empty()) {
    STOWAGE_TRY_ASSIGN(config.churn.lifetimes, real("--lifetimes", flags.lifetimes, {0.1, 10'000}));
  }
  if (!flags.warmup.empty()) {
    STOWAGE_TRY_ASSIGN(config.churn.warmup, real("--warmup", flags.warmup, {0, 10'000}));
  }
  if (config.churn.warmup >= config.churn.lifetimes) {
    return fail(fmt::format("--warmup {:g} leaves nothing of --lifetimes {:g} to measure",
                            config.churn.warmup, config.churn.lifetimes));
  }
  if (flags.queue) config.churn.admission = sim::ChurnConfig::Admission::queue;
  return {};
}

Status read_trace_flags(const SimFlags& flags, sim::ExperimentConfig& config) {
  config.nodes_file = flags.nodes;
  config.pods_file = flags.pods;
  config.sequences = flags.sequences;
  if (!flags.synthetic.empty()) {
    STOWAGE_TRY(nodes, whole("--synthetic", flags.synthetic, sim::kSyntheticNodesMax));
    config.synthetic_nodes = static_cast<std::int64_t>(nodes);
  }
  if (!flags.inflate.empty()) {
    STOWAGE_TRY_ASSIGN(config.inflate, real("--inflate", flags.inflate, {0, 10}));
  }
  if (flags.memory_share == "A") {
    config.memory = sim::MemoryShare::follows_milli;
  } else if (flags.memory_share == "B") {
    config.memory = sim::MemoryShare::some_memory_only;
  } else if (!flags.memory_share.empty()) {
    return fail(
        fmt::format("--memory-share is {}: expected A or B", sim::in_quotes(flags.memory_share)));
  }
  for (const std::string_view text : entries(flags.seeds)) {
    STOWAGE_TRY_VOID(add_seeds(config.seeds, text));
  }
  if (config.seeds.empty() && config.sequences.empty()) config.seeds.push_back(1);
  return {};
}

Status read_policies(const SimFlags& flags, sim::ExperimentConfig& config) {
  for (const std::string_view text : entries(flags.policies)) {
    STOWAGE_TRY(choice, core::parse_policy(text));
    add_once(config.policies, choice);
  }
  if (config.policies.empty()) config.policies.emplace_back();
  config.options.hold_back = flags.hold_back;
  config.options.memory_duals = !flags.one_dimension;
  return {};
}

// "17:decision.txt". One decision belongs to one run.
Status read_record(const SimFlags& flags, SimSettings& settings) {
  if (flags.record.empty()) return {};
  const std::size_t colon = flags.record.find(':');
  if (colon == std::string::npos || colon + 1 == flags.record.size()) {
    return fail(
        fmt::format("--record is {}: expected the number of a pod and a file, such as "
                    "17:decision.txt",
                    sim::in_quotes(flags.record)));
  }
  STOWAGE_TRY(pod, whole("--record", std::string_view(flags.record).substr(0, colon), kNumberMax));
  const sim::ExperimentConfig& config = settings.experiment;
  const std::size_t orders = std::max<std::size_t>(config.sequences.size(), 1) *
                             std::max<std::size_t>(config.seeds.size(), 1);
  if (!config.loads.empty() || config.policies.size() * orders != 1) {
    return fail("--record is for a single run: give one policy and one order, without --churn");
  }
  settings.experiment.record_pod = pod;
  settings.record_file = flags.record.substr(colon + 1);
  return {};
}

Status check_size(const sim::ExperimentConfig& config) {
  const std::size_t seeds = std::max<std::size_t>(config.seeds.size(), 1);
  const std::size_t runs = config.policies.size() * std::max<std::size_t>(config.loads.size(), 1) *
                           std::max<std::size_t>(config.sequences.size(), 1) * seeds;
  if (runs <= kRunsMax) return {};
  return fail(
      fmt::format("these flags ask for {} runs: at most {} are possible at once", runs, kRunsMax));
}

}  // namespace

Result<SimSettings> sim_settings(const SimFlags& flags) {
  constexpr std::uint64_t kJobsMax = 1024;
  SimSettings settings;
  STOWAGE_TRY_VOID(check_conflicts(flags));
  STOWAGE_TRY_VOID(read_trace_flags(flags, settings.experiment));
  STOWAGE_TRY_VOID(read_churn(flags, settings.experiment));
  STOWAGE_TRY_VOID(read_policies(flags, settings.experiment));
  STOWAGE_TRY_VOID(check_size(settings.experiment));
  STOWAGE_TRY_VOID(read_record(flags, settings));
  if (!flags.jobs.empty()) {
    STOWAGE_TRY(jobs, whole("--jobs", flags.jobs, kJobsMax));
    settings.experiment.jobs = static_cast<unsigned>(jobs);
  }
  if (flags.output == "json") {
    settings.format = sim::OutputFormat::json;
  } else if (flags.output == "csv") {
    settings.format = sim::OutputFormat::csv;
  } else if (flags.output != "table") {
    return fail(fmt::format("-o is {}: expected table, json or csv", sim::in_quotes(flags.output)));
  }
  settings.report = flags.report;
  return settings;
}

}  // namespace stowage::cmd
