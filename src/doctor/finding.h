// What a check of an installation has found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stowage::doctor {

enum class State : std::uint8_t {
  ok,
  warning,  // works, with a disadvantage that the text names
  wrong,    // does not work, or is unsafe
};
[[nodiscard]] const char* to_string(State state);

struct Finding {
  std::string check;  // stable name, e.g. "cdi"
  State state = State::ok;
  std::string text;
  std::string remedy;  // what to do, mostly a command; empty if nothing is to be done
  friend bool operator==(const Finding&, const Finding&) = default;
};

// True if nothing is wrong; there may be warnings.
[[nodiscard]] bool sound(const std::vector<Finding>& findings);

}  // namespace stowage::doctor
