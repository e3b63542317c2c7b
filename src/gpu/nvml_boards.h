// The cards that NVML counts, and the units of each: the card, or its instances.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/nvml_library.h"
#include "gpu/source.h"

namespace stowage::gpu {

// A unit that can be assigned. `device` is valid only in the session in which it was read.
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

// A card that the driver counts but that does not answer.
struct Silent {
  Board board;  // with its id, if it could be read, and what else was read
  nvml::Return code = nvml::kSuccess;
};

struct Boards {
  std::vector<Board> boards;             // by index
  std::vector<Silent> silent;            // by index
  nvml::Return failed = nvml::kSuccess;  // otherwise nothing else is valid
};

// `sys` is the kernel's sysfs: "/sys". Cards that we may not use are left out: they belong to
// others.
[[nodiscard]] Boards read_boards(const nvml::Library& nvml, const std::string& sys);

// The name of a brand as nvidia-smi prints it.
[[nodiscard]] const char* brand_word(std::uint32_t brand);

// "1g.10gb" for an instance with these slices and this memory on a card of this size.
struct Slices {
  std::uint32_t gpu = 0;
  std::uint32_t compute = 0;
  std::uint64_t memory_mib = 0;
};
[[nodiscard]] std::string profile_name(const Slices& slices, std::uint64_t card_memory_mib);

}  // namespace stowage::gpu
