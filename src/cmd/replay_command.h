// `stowage sim --replay FILE`: decides again what was recorded.
#pragma once

#include <string>

namespace stowage::cmd {

// Prints the decision and whether it is the recorded one. Exit code 0 if it is, 1 if it is not.
[[nodiscard]] int run_replay(const std::string& file);

}  // namespace stowage::cmd
