// Runs every wanted combination of policy, load and seed, several at a time, with results in a
// fixed order: the number of threads changes nothing but the time it takes.
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
  // The trace: two files, or that many synthetic nodes.
  std::string nodes_file;
  std::string pods_file;
  std::int64_t synthetic_nodes = 0;  // 0: read the files
  MemoryShare memory = MemoryShare::none;

  // The arrivals. Each sequence is an experiment of its own; without any, each seed is one. With
  // both, every sequence is run with every seed; with sequences alone, a sequence's seed is the
  // number at the end of its name.
  std::vector<std::string> sequences;
  std::vector<std::uint64_t> seeds;
  double inflate = 1.3;       // 0: every pod once, in the order of the file
  std::vector<double> loads;  // not empty: churn with each of them, instead of arrivals only
  ChurnConfig churn;          // .load is taken from `loads`

  std::vector<core::PolicyChoice> policies;
  core::PolicyOptions options;  // choice, seed and typical are set for each run

  // The decision about this pod, counted from 1 in order of arrival, is recorded; 0: none.
  // Requires a single run without churn.
  std::uint64_t record_pod = 0;

  unsigned jobs = 0;  // threads; 0: as many as the machine has cores
  enum class ShowProgress : std::uint8_t { no, yes };
  ShowProgress show_progress = ShowProgress::no;  // on the standard error stream, a terminal
};

// One order of arrivals: all policies and loads run on it.
struct Case {
  std::uint64_t seed = 0;
  std::string sequence_name;  // of the file, without its folder; empty: none
  std::optional<Sequence> sequence;
};

// Everything that is read from files.
struct Inputs {
  std::shared_ptr<const Trace> trace;  // null: synthetic, one for each seed
  std::vector<Case> cases;
};

struct RunResult {
  std::string policy;
  std::uint64_t seed = 0;
  std::string sequence;  // name of the file, without its folder; empty: none
  std::optional<double> load;
  std::variant<ReplayResult, ChurnResult> outcome;
};

struct Experiment {
  std::string source;  // of the trace, for people
  std::int64_t nodes = 0;
  std::int64_t cards = 0;
  MemoryShare memory = MemoryShare::none;
  double inflate = 0;
  ChurnConfig churn;
  std::vector<RunResult> runs;         // by policy, then load, then sequence and seed
  std::optional<double> peak_rss_mib;  // greatest memory use of the whole process so far
};

// Errors of both are those of the input: files, and settings that do not go together with them.
[[nodiscard]] Result<Inputs> read_inputs(const ExperimentConfig& config);
[[nodiscard]] Result<Experiment> run_experiment(const ExperimentConfig& config,
                                                const Inputs& inputs);

}  // namespace stowage::sim
