// The kubelet's list of pods and devices: the result is sorted, within its limits, and read as the
// same when written again.
#include <algorithm>

#include "agent/pod_devices.h"
#include "agent/testing/pod_messages.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {
namespace {

using agent::PodDevices;

template <typename T>
bool strictly_sorted(const std::vector<T>& values) {
  return std::adjacent_find(values.begin(), values.end(),
                            [](const T& a, const T& b) { return !(a < b); }) == values.end();
}

std::string written(const std::vector<PodDevices>& pods) {
  std::string out;
  for (const PodDevices& pod : pods) {
    std::string containers;
    for (const agent::ContainerDevices& container : pod.containers) {
      std::string entries;
      for (const agent::DeviceGroup& group : container.devices) {
        entries += agent::testing::devices(group.resource, group.ids, group.numa);
      }
      containers += agent::testing::container(container.name, entries);
    }
    out += agent::testing::pod(pod.pod.ns, pod.pod.name, containers);
  }
  return out;
}

void check_order(const std::vector<PodDevices>& pods) {
  std::vector<agent::PodName> names;
  for (const PodDevices& pod : pods) {
    names.push_back(pod.pod);
    STOWAGE_CHECK(!pod.containers.empty());
    std::vector<std::string> containers;
    for (const agent::ContainerDevices& container : pod.containers) {
      containers.push_back(container.name);
      STOWAGE_CHECK(!container.devices.empty());
      std::vector<std::pair<std::string, std::vector<std::int64_t>>> groups;
      for (const agent::DeviceGroup& group : container.devices) {
        groups.emplace_back(group.resource, group.numa);
        STOWAGE_CHECK(!group.ids.empty());
        STOWAGE_CHECK(strictly_sorted(group.ids) && strictly_sorted(group.numa));
      }
      STOWAGE_CHECK(strictly_sorted(groups));
    }
    STOWAGE_CHECK(strictly_sorted(containers));
  }
  STOWAGE_CHECK(strictly_sorted(names));
}

}  // namespace

void one(std::string_view input) {
  const auto pods = agent::decode_pod_devices(input);
  if (!good(pods)) return;
  check_order(*pods);
  STOWAGE_CHECK(agent::changes_between(*pods, *pods).empty());
  const auto again = agent::decode_pod_devices(written(*pods));
  STOWAGE_CHECK(good(again) && *again == *pods);
}

}  // namespace stowage::fuzz
