// `stowage sim --replay FILE`: repeats a recorded decision.
#pragma once

#include <string>

namespace stowage::cmd {

// Prints the decision and whether it equals the recorded one. Exit code 0 if it does, 1 if not.
[[nodiscard]] int run_replay(const std::string& file);

}  // namespace stowage::cmd
