// Exit codes of the program.
#pragma once

#include <string>
#include <string_view>

namespace stowage::cmd {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // the work failed: disk full, pipe closed
inline constexpr int kExitBadInput = 2;  // the input is wrong: flags, files

// Writes the text to standard output and returns kExitOk, or reports why that failed.
[[nodiscard]] int print(const std::string& text);

// Prints "stowage: message" in one line on standard error and returns the code.
[[nodiscard]] int end_with(int code, std::string_view message);

}  // namespace stowage::cmd
