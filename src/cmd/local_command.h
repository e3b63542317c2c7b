// `stowage local`: an embedded cluster on loopback; `local demo` shows it at work, `local kubelets`
// simulates the kubelets of another cluster.
#pragma once

#include <string>

#include "base/result.h"
#include "cmd/command.h"
#include "local/cluster/cluster.h"

namespace stowage::cmd {

// As typed.
struct LocalFlags {
  std::string nodes;
  std::string gpus;
  std::string model;
  std::string mix;
  std::string port;
  std::string kubeconfig;
  bool no_controller = false;
  std::string config;
  std::string log_level;
  bool quiet = false;

  struct Kubelets {
    std::string kubeconfig;
    std::string context;
  } kubelets;
};

// Adds the subcommand and its own subcommands; what is typed goes to `flags`, which must outlive
// the app. program.cc calls this and then Command::run().
[[nodiscard]] Command add_local_command(CLI::App& app, LocalFlags& flags);

// Reads numbers, names and the file of --mix, and refuses flags that contradict each other.
[[nodiscard]] Result<local::ClusterOptions> cluster_options(const LocalFlags& flags);

}  // namespace stowage::cmd
