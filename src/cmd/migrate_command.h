// `stowage migrate`: old configurations to current ones.
#pragma once

#include <string>

#include "cmd/command.h"

namespace stowage::cmd {

struct MigrateFlags {
  std::string file;
  std::string output;
  std::string controller;
};

// Adds the subcommand; parsed values go to `flags`, which must outlive the app.
[[nodiscard]] Command add_migrate_command(CLI::App& app, MigrateFlags& flags);

}  // namespace stowage::cmd
