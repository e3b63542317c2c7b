// The cards that NVML counts, and what can be handed out of each: the card, or its instances.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/nvml_library.h"
#include "gpu/source.h"

namespace stowage::gpu {

// What can be handed out. `device` counts only in the session in which it was read.
struct Unit {
  CardInfo card;
  nvml::Device device = nullptr;
};

// One physical card.
struct Board {
  std::uint32_t index = 0;
  std::string id;
  nvml::Device device = nullptr;  // null: the card does not answer
  bool divided = false;           // in hardware: the units are its instances, perhaps none
  bool has_pci = false;
  nvml::PciInfo pci;
  std::vector<Unit> units;  // by position
};

// A card that the driver counts and that does not answer.
struct Silent {
  Board board;  // with its id if that at least could be read, and what was read besides
  nvml::Return code = nvml::kSuccess;
};

struct Boards {
  std::vector<Board> boards;             // by index
  std::vector<Silent> silent;            // by index
  nvml::Return failed = nvml::kSuccess;  // otherwise nothing else counts
};

// `sys` is where the kernel shows its devices: "/sys". Cards that we have no right to use are left
// out: they belong to somebody else.
[[nodiscard]] Boards read_boards(const nvml::Library& nvml, const std::string& sys);

// The word of nvidia-smi for a brand.
[[nodiscard]] const char* brand_word(std::uint32_t brand);

// "1g.10gb" for a part with so many slices and so much memory of a card with so much of it.
struct Slices {
  std::uint32_t gpu = 0;
  std::uint32_t compute = 0;
  std::uint64_t memory_mib = 0;
};
[[nodiscard]] std::string profile_name(const Slices& slices, std::uint64_t card_memory_mib);

}  // namespace stowage::gpu
