// The current state of one card, from NVML.
#pragma once

#include <vector>

#include "gpu/nvml_answers.h"
#include "gpu/nvml_boards.h"

namespace stowage::gpu {

struct BoardSample {
  std::vector<CardSample> units;  // those that answer, in the board's order
  Answers answers;                // of the card only, not of its instances
  bool instance_gone = false;     // the card answers, but one of its instances does not
};
// Requires: the board has a device.
[[nodiscard]] BoardSample read_sample(const nvml::Library& nvml, const Board& board);

}  // namespace stowage::gpu
