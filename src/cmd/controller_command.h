// `stowage controller`: the scheduler for a real cluster (or for a local one beside it).
#pragma once

#include <string>

#include "cmd/command.h"

namespace stowage::cmd {

struct ControllerFlags {
  std::string config;
  std::string kubeconfig;
  std::string context;
  std::string listen;
  std::string log_level;
  std::string log_format;
  std::string leader_elect;
  std::string debug_loopback;
  bool check = false;
};

// Adds the subcommand; what is typed goes to `flags`, which must outlive the app.
[[nodiscard]] Command add_controller_command(CLI::App& app, ControllerFlags& flags);

}  // namespace stowage::cmd
