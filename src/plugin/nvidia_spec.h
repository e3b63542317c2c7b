// The CDI specification that NVIDIA's container toolkit generates for a machine: the files of the
// driver, and the device nodes of each card. Read strictly and with limits: what is copied from it
// reaches containers. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugin/cdi.h"

namespace stowage::plugin {

inline constexpr std::string_view kNvidiaKind = "nvidia.com/gpu";
inline constexpr std::size_t kNvidiaSpecBytesMax = std::size_t{2} << 20U;

struct NvidiaSpec {
  std::string file;                         // for messages
  CdiEdits common;                          // for every container with one of the devices
  std::map<std::string, CdiEdits> devices;  // by name: "0", "GPU-...", "0:1", "MIG-...", "all"
  friend bool operator==(const NvidiaSpec&, const NvidiaSpec&) = default;
};

// YAML, or JSON as part of it. Unset: a specification of another kind, whatever else is in it.
[[nodiscard]] Result<std::optional<NvidiaSpec>> parse_nvidia_spec(std::string_view text,
                                                                  const std::string& file);

// A card, and how a specification may name it.
struct CardNames {
  std::string id;                   // "GPU-...", "MIG-..."
  std::string number;               // "0"; of an instance "0:1"
  std::optional<int> device_minor;  // of /dev/nvidia<minor>; unset: not known
};

// Everything that a container with these cards needs, from the specification that describes each
// card. `specs`: those that count more first. A card is found by its id, else by its number, an
// instance only by its id. The device node must be the card's: the file may be out of date.
[[nodiscard]] Result<CdiEdits> edits_for(const std::vector<NvidiaSpec>& specs,
                                         const std::vector<CardNames>& cards);

// The paths on the host that must exist for these edits.
[[nodiscard]] std::vector<std::string> host_paths(const CdiEdits& edits);

}  // namespace stowage::plugin
