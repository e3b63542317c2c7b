// Which containers of a node hold which devices, read from what the kubelet tells (podresources,
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
  std::vector<std::int64_t> numa;  // sorted, each once; empty: nobody says
  friend bool operator==(const DeviceGroup&, const DeviceGroup&) = default;
};

struct ContainerDevices {
  std::string name;
  std::vector<DeviceGroup> devices;  // by resource and NUMA nodes
  friend bool operator==(const ContainerDevices&, const ContainerDevices&) = default;
};

// The protocol has no uid: a pod that was deleted and made anew under its name is the same one
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

// More than any node has. A list that goes beyond is refused, so that no message can make us hold
// many times its size.
inline constexpr std::size_t kListPodsMax = 16'384;
inline constexpr std::size_t kListContainersMax = 65'536;
inline constexpr std::size_t kListDevicesMax =
    524'288;  // one near several NUMA nodes counts for each

// A ListPodResourcesResponse of v1 or v1alpha1. What the kubelet says in any order, and in an entry
// of its own for every device and NUMA node, comes out in one order: equal states are equal values.
// Pods by name; only those, and only containers, that have devices. Entries of the same name (a pod
// that has ended is listed by kubelets before 1.34, beside its successor) become one that holds
// what all of them hold.
[[nodiscard]] Result<std::vector<PodDevices>> decode_pod_devices(std::string_view message);

// What is different in the second of two lists that were decoded.
struct PodChanges {
  std::vector<PodDevices> changed;  // new ones too
  std::vector<PodName> gone;
  [[nodiscard]] bool empty() const { return changed.empty() && gone.empty(); }
  friend bool operator==(const PodChanges&, const PodChanges&) = default;
};
[[nodiscard]] PodChanges changes_between(const std::vector<PodDevices>& before,
                                         const std::vector<PodDevices>& now);

}  // namespace stowage::agent
