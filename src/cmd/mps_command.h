// `stowage mps`: MPS daemons for shared cards.
#pragma once

#include <string>

#include "cmd/command.h"
#include "cmd/daemon_flags.h"

namespace stowage::cmd {

struct MpsFlags {
  std::string cards = "nvml";
  std::string root;
  std::string program;
  LogFlags log{.level = "info", .format = "text"};
};

// Adds the subcommand; parsed values go to `flags`, which must outlive the app.
[[nodiscard]] Command add_mps_command(CLI::App& app, MpsFlags& flags);

}  // namespace stowage::cmd
