// The command line of the program: subcommands, version, help.
#pragma once

namespace stowage::cmd {

// Parses the flags, runs the command and returns the exit code.
[[nodiscard]] int run_program(int argc, const char* const* argv);

}  // namespace stowage::cmd
