// What the daemons' process says about one card, for the agent: does its MPS daemon run?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::mps {

struct CardState {
  bool running = false;
  // The card accepts no process beside the MPS server (compute mode EXCLUSIVE_PROCESS), so a
  // container cannot leave its limits by not using MPS.
  bool exclusive = false;
  std::string error;              // why it does not run
  std::int64_t written_unix = 0;  // seconds
  friend bool operator==(const CardState&, const CardState&) = default;
};

// An older state says nothing: whoever wrote it is gone, or hangs.
inline constexpr std::int64_t kStateSeconds = 20;

[[nodiscard]] std::string to_json(const CardState& state);
[[nodiscard]] Result<CardState> parse_card_state(std::string_view json);

}  // namespace stowage::mps
