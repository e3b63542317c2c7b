// `stowage local`: an embedded cluster on loopback; `local demo` demonstrates it, `local kubelets`
// simulates the kubelets of another cluster.
#pragma once

#include <string>

#include "base/result.h"
#include "cmd/command.h"
#include "local/cluster/cluster.h"

namespace stowage::cmd {

// As typed by the user.
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

// Adds the subcommand and its own subcommands; parsed values go to `flags`, which must outlive the
// app. program.cc calls this and then Command::run().
[[nodiscard]] Command add_local_command(CLI::App& app, LocalFlags& flags);

// Reads numbers, names and the file of --mix, and rejects contradicting flags.
[[nodiscard]] Result<local::ClusterOptions> cluster_options(const LocalFlags& flags);

}  // namespace stowage::cmd
