// How one card is doing, by what NVML says.
#pragma once

#include <vector>

#include "gpu/nvml_answers.h"
#include "gpu/nvml_boards.h"

namespace stowage::gpu {

struct BoardSample {
  std::vector<CardSample> units;  // those that answer, in the board's order
  Answers answers;                // of the card; how its instances answer decides nothing for it
  bool instance_gone = false;     // the card answers, and one of its instances does not
};
// Requires: the board has a device.
[[nodiscard]] BoardSample read_sample(const nvml::Library& nvml, const Board& board);

}  // namespace stowage::gpu
