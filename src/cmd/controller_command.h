// `stowage controller`: the scheduler for a real cluster, or for a local one beside it.
#pragma once

#include <string>

#include "cmd/command.h"
#include "cmd/daemon_flags.h"

namespace stowage::cmd {

struct ControllerFlags {
  std::string config;
  ClusterFlags cluster;
  std::string listen;
  LogFlags log;  // empty: from the configuration
  std::string leader_elect;
  std::string debug_loopback;
  bool check = false;
};

// Adds the subcommand; parsed values go to `flags`, which must outlive the app.
[[nodiscard]] Command add_controller_command(CLI::App& app, ControllerFlags& flags);

}  // namespace stowage::cmd
