// `stowage sim`: flags -> settings of an experiment -> results.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/experiment.h"
#include "sim/output.h"

namespace CLI {  // NOLINT(readability-identifier-naming): named by the library
class App;
}

namespace stowage::cmd {

// One field for each flag, as typed by the user. Lists hold one entry per occurrence of the flag;
// commas are not split yet.
struct SimFlags {
  std::string nodes;
  std::string pods;
  std::string synthetic;
  std::string memory_share;
  std::vector<std::string> sequences;
  std::string inflate;
  std::vector<std::string> seeds;
  std::vector<std::string> loads;
  std::string lifetimes;
  std::string warmup;
  bool queue = false;
  std::vector<std::string> policies;
  bool hold_back = false;
  bool one_dimension = false;
  bool list_policies = false;
  std::string output = "table";
  std::string report;
  std::string jobs;
  bool quiet = false;
  std::string record;
  std::string replay;
};

// Adds the subcommand to the program; parsed values go to `flags`, which must outlive the app.
CLI::App* add_sim_command(CLI::App& app, SimFlags& flags);

struct SimSettings {
  sim::ExperimentConfig experiment;
  sim::OutputFormat format = sim::OutputFormat::table;
  std::string report;       // empty: none
  std::string record_file;  // empty: no decision is recorded
};

// Reads numbers and names, and rejects contradicting flags.
[[nodiscard]] Result<SimSettings> sim_settings(const SimFlags& flags);

// Runs everything and returns the exit code. Prints nothing before everything has run.
[[nodiscard]] int run_sim_command(const SimFlags& flags);

}  // namespace stowage::cmd
