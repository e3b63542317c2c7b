// How the program ends.
#pragma once

#include <string>
#include <string_view>

namespace stowage::cmd {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // the work could not be done: disk full, pipe closed
inline constexpr int kExitBadInput = 2;  // what we were given is wrong: flags, files

// Writes the text to the standard output stream and returns kExitOk, or says why that failed.
[[nodiscard]] int print(const std::string& text);

// Says "stowage: message" in one line on the standard error stream and returns the code.
[[nodiscard]] int end_with(int code, std::string_view message);

}  // namespace stowage::cmd
