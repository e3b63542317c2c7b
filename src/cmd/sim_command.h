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

// As typed. Lists hold one entry for each time that the flag was given; commas are still in them.
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

// Adds the subcommand to the program; what is typed goes to `flags`, which must outlive the app.
CLI::App* add_sim_command(CLI::App& app, SimFlags& flags);

struct SimSettings {
  sim::ExperimentConfig experiment;
  sim::OutputFormat format = sim::OutputFormat::table;
  std::string report;       // empty: none
  std::string record_file;  // empty: no decision is recorded
};

// Reads numbers and names, and refuses flags that contradict each other.
[[nodiscard]] Result<SimSettings> sim_settings(const SimFlags& flags);

// Runs it all and returns the exit code. Nothing is printed before everything has been run.
[[nodiscard]] int run_sim_command(const SimFlags& flags);

}  // namespace stowage::cmd
