// `stowage doctor`: checks an installation.
#pragma once

#include <string>

#include "cmd/command.h"

namespace stowage::cmd {

struct DoctorFlags {
  bool node = false;
  std::string root;
  std::string output = "table";
};

// Adds the subcommand; parsed values go to `flags`, which must outlive the app.
[[nodiscard]] Command add_doctor_command(CLI::App& app, DoctorFlags& flags);

}  // namespace stowage::cmd
