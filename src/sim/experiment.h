// Runs all combinations of policy, load and seed, several in parallel, with results in a fixed
// order: the number of threads changes only the run time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/policy/options.h"
#include "sim/churn.h"
#include "sim/memory_share.h"
#include "sim/replay.h"
#include "sim/sequence.h"
#include "sim/trace.h"

namespace stowage::sim {

struct ExperimentConfig {
  // The trace: two files, or a number of synthetic nodes.
  std::string nodes_file;
  std::string pods_file;
  std::int64_t synthetic_nodes = 0;  // 0: read the files
  MemoryShare memory = MemoryShare::none;

  // The arrivals. Each sequence is one experiment; without sequences, each seed is one. With both,
  // every sequence runs with every seed. With sequences only, the seed of a sequence is the number
  // at the end of its name.
  std::vector<std::string> sequences;
  std::vector<std::uint64_t> seeds;
  double inflate = 1.3;       // 0: every pod once, in file order
  std::vector<double> loads;  // not empty: churn with each load, instead of arrivals only
  ChurnConfig churn;          // .load is taken from `loads`

  std::vector<core::PolicyChoice> policies;
  core::PolicyOptions options;  // choice, seed and typical are set for each run

  // Records the decision about this pod, counted from 1 by arrival; 0: none. Requires a single run
  // without churn.
  std::uint64_t record_pod = 0;

  unsigned jobs = 0;  // threads; 0: as many as the machine has cores
  enum class ShowProgress : std::uint8_t { no, yes };
  ShowProgress show_progress = ShowProgress::no;  // on the standard error stream, a terminal
};

// One order of arrivals, used by all policies and loads.
struct Case {
  std::uint64_t seed = 0;
  std::string sequence_name;  // file name without folder; empty: none
  std::optional<Sequence> sequence;
};

// All input from files.
struct Inputs {
  std::shared_ptr<const Trace> trace;  // null: synthetic, one per seed
  std::vector<Case> cases;
};

struct RunResult {
  std::string policy;
  std::uint64_t seed = 0;
  std::string sequence;  // file name without folder; empty: none
  std::optional<double> load;
  std::variant<ReplayResult, ChurnResult> outcome;
};

struct Experiment {
  std::string source;  // description of the trace
  std::int64_t nodes = 0;
  std::int64_t cards = 0;
  MemoryShare memory = MemoryShare::none;
  double inflate = 0;
  ChurnConfig churn;
  std::vector<RunResult> runs;         // by policy, then load, then sequence and seed
  std::optional<double> peak_rss_mib;  // peak memory of the whole process so far
};

// Both fail only for input errors: files, and settings that do not match them.
[[nodiscard]] Result<Inputs> read_inputs(const ExperimentConfig& config);
[[nodiscard]] Result<Experiment> run_experiment(const ExperimentConfig& config,
                                                const Inputs& inputs);

}  // namespace stowage::sim
