#include "gpu/nvml_boards.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "gpu/nvml_answers.h"
#include "gpu/text_file.h"

namespace stowage::gpu {
namespace {

using nvml::Device;
using nvml::Library;
using nvml::Return;

constexpr std::uint32_t kMostBoards = 256;
constexpr std::uint32_t kMostInstances = 64;  // per card; at most seven today
constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;
constexpr std::uint64_t kMibPerGib = 1024;
constexpr std::size_t kNumaFileBytes = 64;
constexpr std::int32_t kMostNumaNodes = 1 << 20U;
constexpr std::string_view kMigMark = " MIG ";

struct Text {
  Return code = nvml::kSuccess;
  std::string value;
};

template <std::size_t Size>
Text read_text(Return (*function)(Device, char*, std::uint32_t), Device device) {
  std::array<char, Size> buffer{};
  const Return code = nvml::call(function, device, buffer.data(), std::uint32_t{Size});
  return {code, code == nvml::kSuccess ? nvml::clean_text(buffer.data(), Size) : std::string()};
}

std::optional<std::uint32_t> read_number(Return (*function)(Device, std::uint32_t*),
                                         Device device) {
  std::uint32_t value = 0;
  if (nvml::call(function, device, &value) != nvml::kSuccess) return std::nullopt;
  return value;
}

std::int32_t to_memory_mib(std::uint64_t mib) {
  return static_cast<std::int32_t>(
      std::min(mib, static_cast<std::uint64_t>(core::kMaxCardMemoryMib)));
}

// 0 if the driver does not report it. Both versions give the same total.
std::int32_t read_memory_mib(const Library& nvml, Device device) {
  nvml::Memory memory;
  if (nvml::call(nvml.memory, device, &memory) != nvml::kSuccess) return 0;
  return to_memory_mib(memory.total / kMib);
}

// The node of the CPUs near the card, from the kernel. Not nvmlDeviceGetNumaNodeId(): that is the
// node of the card's own memory, where CPUs can address it (GH200).
std::int32_t read_numa(const nvml::PciInfo& pci, const std::string& sys) {
  const auto text =
      read_text_file(fmt::format("{}/bus/pci/devices/{:04x}:{:02x}:{:02x}.0/numa_node", sys,
                                 pci.domain, pci.bus, pci.device),
                     kNumaFileBytes);
  if (!text) return core::kUnknownNuma;
  std::int32_t node = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), node);
  const bool known = error == std::errc() && node >= 0 && node < kMostNumaNodes;
  return known ? node : core::kUnknownNuma;
}

void read_instance(const Library& nvml, const Unit& whole, std::uint32_t position, Board& board) {
  Unit unit{.card = whole.card};
  if (nvml::call(nvml.mig_by_index, board.device, position, &unit.device) != nvml::kSuccess) {
    return;  // a gap: instances come and go
  }
  const auto id = read_text<nvml::kUuidBytes>(nvml.uuid, unit.device);
  if (id.code != nvml::kSuccess || id.value.empty()) return;  // destroyed between the two calls
  unit.card.id = id.value;

  Mig mig{.parent = board.id, .position = static_cast<std::int32_t>(position)};
  const auto as_number = [](std::optional<std::uint32_t> value) {
    return static_cast<std::int32_t>(std::min<std::uint32_t>(value.value_or(0), 1U << 20U));
  };
  mig.gpu_instance = as_number(read_number(nvml.gpu_instance, unit.device));
  mig.compute_instance = as_number(read_number(nvml.compute_instance, unit.device));
  nvml::Attributes attributes;
  if (nvml::call(nvml.attributes, unit.device, &attributes) == nvml::kSuccess) {
    mig.gpu_slices = as_number(attributes.gpu_slices);
    mig.compute_slices = as_number(attributes.compute_slices);
  }
  unit.card.memory_mib = read_memory_mib(nvml, unit.device);
  if (unit.card.memory_mib == 0) unit.card.memory_mib = to_memory_mib(attributes.memory_mib);

  // Drivers since 470 have the profile in the name.
  const std::string name = read_text<nvml::kNameBytes>(nvml.name, unit.device).value;
  if (const auto mark = name.rfind(kMigMark); mark != std::string::npos) {
    mig.profile = name.substr(mark + kMigMark.size());
    unit.card.model = name;
  } else {
    const auto whole_mib = static_cast<std::uint64_t>(std::max(whole.card.memory_mib, 0));
    mig.profile = profile_name(
        {attributes.gpu_slices, attributes.compute_slices, attributes.memory_mib}, whole_mib);
    unit.card.model = fmt::format("{}{}{}", whole.card.model, kMigMark, mig.profile);
  }
  unit.card.mig = std::move(mig);
  board.units.push_back(std::move(unit));
}

// Every call also tests whether the card answers: its handle and name come from the memory of the
// library, even for a card that has fallen off the bus.
Unit read_whole(const Library& nvml, const std::string& sys, Board& board, Answers& answers) {
  const Device device = board.device;
  Unit unit{.card = {.id = board.id, .index = static_cast<std::int32_t>(board.index)},
            .device = device};
  CardInfo& card = unit.card;
  card.model = read_text<nvml::kNameBytes>(nvml.name, device).value;
  std::uint32_t value = 0;
  if (answers.good(nvml::call(nvml.brand, device, &value))) card.brand = brand_word(value);
  if (answers.good(nvml::call(nvml.minor, device, &value)) && value < kMostBoards) {
    card.minor = static_cast<std::int32_t>(value);
  }
  if (answers.good(nvml::call(nvml.compute_mode, device, &value))) {
    card.exclusive = value == nvml::kExclusiveProcess;
  }
  board.has_pci = answers.good(nvml::call(nvml.pci, device, &board.pci));
  if (board.has_pci) {
    card.bus_id = nvml::clean_text(board.pci.id.data(), board.pci.id.size());
    card.numa = read_numa(board.pci, sys);
  }
  nvml::Memory memory;
  if (answers.good(nvml::call(nvml.memory, device, &memory))) {
    card.memory_mib = to_memory_mib(memory.total / kMib);
  }
  std::uint32_t pending = 0;
  board.divided =
      answers.good(nvml::call(nvml.mig_mode, device, &value, &pending)) && value == nvml::kEnabled;
  return unit;
}

// kSuccess, or why the card does not answer.
Return read_board(const Library& nvml, const std::string& sys, Board& board) {
  if (const Return code = nvml::call(nvml.by_index, board.index, &board.device);
      code != nvml::kSuccess) {
    return code;
  }
  const auto id = read_text<nvml::kUuidBytes>(nvml.uuid, board.device);
  if (id.code != nvml::kSuccess) return id.code;
  if (id.value.empty()) return nvml::kUnknown;
  board.id = id.value;

  Answers answers;
  Unit whole = read_whole(nvml, sys, board, answers);
  if (answers.ending() != nvml::kSuccess) return answers.ending();
  if (!board.divided || answers.lost()) {
    board.units.push_back(std::move(whole));
    return answers.lost() ? answers.why() : nvml::kSuccess;
  }
  const std::uint32_t most = read_number(nvml.mig_most, board.device).value_or(0);
  for (std::uint32_t position = 0; position < std::min(most, kMostInstances); ++position) {
    read_instance(nvml, whole, position, board);
  }
  return nvml::kSuccess;
}

}  // namespace

Boards read_boards(const Library& nvml, const std::string& sys) {
  Boards all;
  std::uint32_t count = 0;
  all.failed = nvml::call(nvml.count, &count);
  if (all.failed != nvml::kSuccess) return all;
  for (std::uint32_t index = 0; index < std::min(count, kMostBoards); ++index) {
    Board board{.index = index};
    const Return code = read_board(nvml, sys, board);
    Answers answers;
    if (answers.good(code)) {
      all.boards.push_back(std::move(board));
      continue;
    }
    all.failed = answers.ending();
    if (all.failed != nvml::kSuccess) return all;
    // We may not use it, or it disappeared after it was counted.
    if (code == nvml::kNoPermission || code == nvml::kInvalidArgument) continue;
    board.device = nullptr;
    all.silent.push_back({std::move(board), code});
  }
  return all;
}

const char* brand_word(std::uint32_t brand) {
  constexpr std::array kWords = std::to_array<const char*>(
      {"Unknown", "Quadro", "Tesla", "NVS", "Grid", "GeForce", "Titan",
       "NVIDIA Virtual Applications", "NVIDIA Virtual PC", "NVIDIA Virtual Compute Server",
       "NVIDIA RTX Virtual Workstation", "NVIDIA Cloud Gaming", "Quadro RTX", "NVIDIA RTX",
       "NVIDIA", "GeForce RTX", "Titan RTX"});
  return brand < kWords.size() ? kWords[brand] : kWords[0];
}

// NVIDIA names a profile by its eighths of the card's memory size in whole GiB: on an H200 (141
// GiB) an eighth is "18gb", although 16 GiB of it are usable.
std::string profile_name(const Slices& slices, std::uint64_t card_memory_mib) {
  std::uint64_t gib = (slices.memory_mib + kMibPerGib - 1) / kMibPerGib;
  if (card_memory_mib > 0 && slices.memory_mib <= card_memory_mib) {
    const std::uint64_t eighths = (slices.memory_mib * 8 + card_memory_mib - 1) / card_memory_mib;
    const std::uint64_t card_gib = (card_memory_mib + kMibPerGib - 1) / kMibPerGib;
    gib = (eighths * card_gib + 4) / 8;  // rounded to nearest
  }
  const bool part = slices.compute != 0 && slices.compute != slices.gpu;
  return part ? fmt::format("{}c.{}g.{}gb", slices.compute, slices.gpu, gib)
              : fmt::format("{}g.{}gb", slices.gpu, gib);
}

}  // namespace stowage::gpu
