#include "gpu/nvml_links.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace stowage::gpu {
namespace {

using nvml::Device;
using nvml::Library;

// Where the NVLinks of one board lead.
struct Ways {
  std::int32_t to_switches = 0;
  std::vector<std::int32_t> to_boards;  // count, by position of the board
};

std::optional<std::size_t> board_at(const std::vector<Board>& boards, const nvml::PciInfo& pci) {
  const auto found = std::find_if(boards.begin(), boards.end(), [&](const Board& board) {
    return board.has_pci && board.pci.domain == pci.domain && board.pci.bus == pci.bus &&
           board.pci.device == pci.device;
  });
  if (found == boards.end()) return std::nullopt;
  return static_cast<std::size_t>(found - boards.begin());
}

Ways read_ways(const Library& nvml, const std::vector<Board>& boards, const Board& board) {
  Ways ways{.to_boards = std::vector<std::int32_t>(boards.size())};
  if (board.divided || board.device == nullptr) return ways;
  for (std::uint32_t link = 0; link < nvml::kMaxLinks; ++link) {
    std::uint32_t state = 0;
    if (nvml::call(nvml.link_state, board.device, link, &state) != nvml::kSuccess) continue;
    if (state != nvml::kEnabled) continue;
    std::uint32_t type = nvml::kRemoteUnknown;
    (void)nvml::call(nvml.link_remote_type, board.device, link, &type);
    if (type == nvml::kRemoteSwitch) {
      ++ways.to_switches;
      continue;
    }
    nvml::PciInfo remote;
    if (nvml::call(nvml.link_remote, board.device, link, &remote) != nvml::kSuccess) continue;
    if (const auto other = board_at(boards, remote)) {
      ++ways.to_boards[*other];
    } else if (type == nvml::kRemoteUnknown &&
               (remote.device_id & nvml::kVendorMask) == nvml::kVendorNvidia) {
      // Drivers before 470 do not report the type. An NVIDIA device that is no card of this machine
      // is a switch; the other possible end, a POWER9 processor, has another vendor.
      ++ways.to_switches;
    }
  }
  return ways;
}

std::int32_t pcie_score(const Library& nvml, Device a, Device b) {
  std::uint32_t level = 0;
  if (nvml::call(nvml.topology, a, b, &level) != nvml::kSuccess) return core::link::kNone;
  switch (level) {
    case nvml::kTopologyInternal: return core::link::kSameBoard;
    case nvml::kTopologySingle: return core::link::kSingleSwitch;
    case nvml::kTopologyMultiple: return core::link::kMultiSwitch;
    case nvml::kTopologyHostBridge: return core::link::kHostBridge;
    case nvml::kTopologyNode: return core::link::kSameCpu;
    case nvml::kTopologySystem: return core::link::kCrossCpu;
    default: return core::link::kNone;
  }
}

bool may_talk(const Library& nvml, Device a, Device b) {
  std::uint32_t status = nvml::kPeerUnknown;
  if (nvml::call(nvml.peer_status, a, b, nvml::kPeerNvlink, &status) != nvml::kSuccess) return true;
  return status == nvml::kPeerOk || status == nvml::kPeerUnknown;
}

// Between two boards, by position.
std::int32_t score_between(const Library& nvml, const std::vector<Board>& boards,
                           const std::vector<Ways>& ways, std::size_t a, std::size_t b) {
  const Device first = boards[a].device;
  const Device second = boards[b].device;
  if (first == nullptr || second == nullptr) return core::link::kNone;
  // Both ends report a link; if they differ, the higher count is right.
  std::int32_t links = std::max(ways[a].to_boards[b], ways[b].to_boards[a]) +
                       std::min(ways[a].to_switches, ways[b].to_switches);
  if (links > 0 && !may_talk(nvml, first, second)) links = 0;
  return pcie_score(nvml, first, second) + links * core::link::kNvlink;
}

}  // namespace

core::LinkMatrix read_links(const Library& nvml, const std::vector<Board>& boards) {
  std::vector<std::size_t> board_of;  // by unit
  std::vector<Ways> ways;
  for (std::size_t i = 0; i < boards.size(); ++i) {
    ways.push_back(read_ways(nvml, boards, boards[i]));
    board_of.insert(board_of.end(), boards[i].units.size(), i);
  }
  const std::size_t units = board_of.size();
  if (units < 2) return {};

  std::vector<std::int32_t> between(boards.size() * boards.size(), core::link::kSameBoard);
  for (std::size_t a = 0; a < boards.size(); ++a) {
    for (std::size_t b = a + 1; b < boards.size(); ++b) {
      const std::int32_t score = score_between(nvml, boards, ways, a, b);
      between[a * boards.size() + b] = score;
      between[b * boards.size() + a] = score;
    }
  }
  core::LinkMatrix links{.cards = static_cast<std::int32_t>(units),
                         .score = std::vector<std::int32_t>(units * units)};
  bool known = false;
  for (std::size_t a = 0; a < units; ++a) {
    for (std::size_t b = 0; b < units; ++b) {
      if (a == b) continue;
      const std::int32_t score = between[board_of[a] * boards.size() + board_of[b]];
      links.score[a * units + b] = score;
      known = known || score != core::link::kNone;
    }
  }
  return known ? links : core::LinkMatrix{};
}

}  // namespace stowage::gpu
