// The kubelet's checkpoint of devices: which container of which pod holds which devices, and what
// its plugin answered to Allocate. Unlike podresources it has pod uids, init containers, and the
// CDI names that the kubelet will pass to the runtime.
//
//   {"Data":{"PodDeviceEntries":[{"PodUID":"..","ContainerName":"..","ResourceName":"..",
//     "DeviceIDs":{"-1":["id"]},"AllocResp":"<base64>"}],"RegisteredDevices":{..}},"Checksum":1}
//
// DeviceIDs was a plain list in older versions. The checksum is not verified: it is a hash of how
// Go prints the structure. The kubelet replaces the file in one step, so it is always whole.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plugin/messages.h"

namespace stowage::plugin {

struct CheckpointEntry {
  std::string pod_uid;
  std::string container;
  std::string resource;
  Ids ids;                               // sorted, each once
  std::vector<std::string> cdi_devices;  // as answered to Allocate
  friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};

struct Checkpoint {
  std::vector<CheckpointEntry> entries;  // of the wanted resources, in the order of the file
  std::set<std::string> pods;            // uids of all pods that hold devices of any resource
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

inline constexpr const char* kCheckpointFile = "kubelet_internal_checkpoint";
inline constexpr std::size_t kCheckpointBytesMax = std::size_t{32} << 20U;
inline constexpr std::size_t kCheckpointEntriesMax = 65'536;
inline constexpr std::size_t kCheckpointIdsMax = 524'288;  // of the wanted resources

// `resources`: whose entries are wanted.
[[nodiscard]] Result<Checkpoint> read_checkpoint(std::string_view json,
                                                 const std::set<std::string>& resources);

}  // namespace stowage::plugin
