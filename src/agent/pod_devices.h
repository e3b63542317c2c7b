// Which containers of a node hold which devices, decoded from the kubelet's answer (podresources,
// List). Pure functions.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::agent {

// Devices of one resource that are near the same NUMA nodes.
struct DeviceGroup {
  std::string resource;            // "nvidia.com/gpu"
  std::vector<std::string> ids;    // sorted, each once
  std::vector<std::int64_t> numa;  // sorted, each once; empty: not known
  friend bool operator==(const DeviceGroup&, const DeviceGroup&) = default;
};

struct ContainerDevices {
  std::string name;
  std::vector<DeviceGroup> devices;  // by resource and NUMA nodes
  friend bool operator==(const ContainerDevices&, const ContainerDevices&) = default;
};

// The protocol has no uid: a pod that was deleted and created again under its name is the same pod
// here.
struct PodName {
  std::string ns;
  std::string name;
  friend auto operator<=>(const PodName&, const PodName&) = default;
};

struct PodDevices {
  PodName pod;
  std::vector<ContainerDevices> containers;  // by name
  friend bool operator==(const PodDevices&, const PodDevices&) = default;
};

// More than any node has. A longer list is refused, so that no message can use many times its size
// in memory.
inline constexpr std::size_t kListPodsMax = 16'384;
inline constexpr std::size_t kListContainersMax = 65'536;
inline constexpr std::size_t kListDevicesMax =
    524'288;  // a device near several NUMA nodes counts for each

// Decodes a ListPodResourcesResponse of v1 or v1alpha1. The kubelet sends entries in any order, one
// for every device and NUMA node. The result is canonical: equal states are equal values. It is
// sorted by pod name and contains only pods and containers that have devices. Entries of the same
// name become one that holds all their devices: kubelets before 1.34 list a pod that has ended
// beside its successor.
[[nodiscard]] Result<std::vector<PodDevices>> decode_pod_devices(std::string_view message);

// The differences between two decoded lists.
struct PodChanges {
  std::vector<PodDevices> changed;  // includes new ones
  std::vector<PodName> gone;
  [[nodiscard]] bool empty() const { return changed.empty() && gone.empty(); }
  friend bool operator==(const PodChanges&, const PodChanges&) = default;
};
[[nodiscard]] PodChanges changes_between(const std::vector<PodDevices>& before,
                                         const std::vector<PodDevices>& now);

}  // namespace stowage::agent
