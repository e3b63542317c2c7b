// `stowage what-if`: where pods would go, from manifests alone.
#pragma once

#include <string>
#include <vector>

#include "cmd/command.h"

namespace stowage::cmd {

struct WhatIfFlags {
  std::vector<std::string> cluster;
  std::vector<std::string> files;
  std::string policy;
  std::string scheduler_name;
  std::string config;
  std::string output = "table";
  bool pending = false;
};

// Adds the subcommand; parsed values go to `flags`, which must outlive the app.
[[nodiscard]] Command add_what_if_command(CLI::App& app, WhatIfFlags& flags);

}  // namespace stowage::cmd
