// The command line of the program: its subcommands, its version, its help.
#pragma once

namespace stowage::cmd {

// Reads the flags, does what they say and returns the exit code.
[[nodiscard]] int run_program(int argc, const char* const* argv);

}  // namespace stowage::cmd
