#include "agent/pod_devices.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "codec/protobuf_in.h"

namespace stowage::agent {
namespace {

using codec::ProtobufField;
using codec::ProtobufFields;
using Wire = ProtobufField::Wire;

constexpr std::size_t kNameMax = 253;
constexpr std::size_t kResourceMax = 317;  // a domain, a slash and a name
constexpr std::size_t kIdMax = 1024;
constexpr std::size_t kNumaNodesMax = 64;  // of one entry

// Views of the message, until it is known what to keep.
struct PodView {
  std::string_view ns;
  std::string_view name;
  std::vector<std::string_view> containers;  // messages
};

struct ContainerView {
  std::string_view name;
  std::vector<std::string_view> devices;  // messages
};

// One device near one NUMA node, or without a known NUMA node.
struct Entry {
  std::string_view resource;
  std::string_view id;
  std::optional<std::int64_t> numa;
  friend auto operator<=>(const Entry&, const Entry&) = default;
};

// Totals of the list so far: counted before anything is kept, because views take memory too.
struct Budget {
  std::size_t containers = 0;
  std::size_t groups = 0;  // messages with devices
  std::size_t devices = 0;
};

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameMax &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c < '\x7f' && c != '/'; });
}

bool is_resource(std::string_view text) {
  return !text.empty() && text.size() <= kResourceMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

Result<PodView> read_pod(std::string_view message, Budget& budget) {
  PodView pod;
  ProtobufFields fields(message);
  for (ProtobufField field; fields.next(field);) {
    if (field.wire != Wire::bytes) continue;
    if (field.number == 1) pod.name = field.bytes;
    if (field.number == 2) pod.ns = field.bytes;
    if (field.number == 3) {
      if (++budget.containers > kListContainersMax) return fail("there are too many containers");
      pod.containers.push_back(field.bytes);
    }
  }
  if (fields.broken()) return fail("malformed protobuf");
  if (!is_name(pod.name) || !is_name(pod.ns)) return fail("its name or namespace is invalid");
  return pod;
}

Result<ContainerView> read_container(std::string_view message, Budget& budget) {
  ContainerView container;
  ProtobufFields fields(message);
  for (ProtobufField field; fields.next(field);) {
    if (field.wire != Wire::bytes) continue;
    if (field.number == 1) container.name = field.bytes;
    if (field.number == 2) {
      if (++budget.groups > kListDevicesMax) return fail("there are too many devices");
      container.devices.push_back(field.bytes);
    }
  }
  if (fields.broken()) return fail("malformed protobuf");
  if (!is_name(container.name)) return fail("the name of a container is invalid");
  return container;
}

// Node 0 is encoded as an absent field; a plugin writes a negative one for "not known".
Status read_topology(std::string_view message, std::vector<std::int64_t>& nodes) {
  ProtobufFields fields(message);
  for (ProtobufField field; fields.next(field);) {
    if (field.number != 1 || field.wire != Wire::bytes) continue;
    std::int64_t node = 0;
    ProtobufFields parts(field.bytes);
    for (ProtobufField part; parts.next(part);) {
      if (part.number == 1 && part.wire == Wire::varint) {
        node = static_cast<std::int64_t>(part.integer);
      }
    }
    if (parts.broken()) return fail("malformed protobuf");
    if (nodes.size() == kNumaNodesMax) return fail("a device has too many NUMA nodes");
    if (node >= 0) nodes.push_back(node);
  }
  if (fields.broken()) return fail("malformed protobuf");
  return {};
}

Status read_devices(std::string_view message, Budget& budget, std::vector<Entry>& entries) {
  std::string_view resource;
  std::vector<std::string_view> ids;
  std::vector<std::int64_t> nodes;
  ProtobufFields fields(message);
  for (ProtobufField field; fields.next(field);) {
    if (field.wire != Wire::bytes) continue;
    if (field.number == 1) resource = field.bytes;
    if (field.number == 2) {
      if (++budget.devices > kListDevicesMax) return fail("there are too many devices");
      ids.push_back(field.bytes);
    }
    if (field.number == 3) STOWAGE_TRY_VOID(read_topology(field.bytes, nodes));
  }
  if (fields.broken()) return fail("malformed protobuf");
  if (ids.empty()) return {};
  if (!is_resource(resource)) return fail("the resource name of devices is invalid");
  if (nodes.size() > 1) budget.devices += ids.size() * (nodes.size() - 1);
  if (budget.devices > kListDevicesMax) return fail("there are too many devices");
  for (const std::string_view id : ids) {
    if (id.size() > kIdMax || !base::is_utf8(id)) return fail("the id of a device is invalid");
    if (id.empty()) continue;
    if (nodes.empty()) entries.push_back({.resource = resource, .id = id});
    for (const std::int64_t node : nodes) {
      entries.push_back({.resource = resource, .id = id, .numa = node});
    }
  }
  return {};
}

// Each device once, with all its NUMA nodes; then grouped by equal nodes.
std::vector<DeviceGroup> group(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end());
  struct Device {
    std::string_view resource;
    std::vector<std::int64_t> numa;
    std::string_view id;
    auto operator<=>(const Device&) const = default;
  };
  std::vector<Device> devices;
  for (const Entry& entry : entries) {
    if (devices.empty() || devices.back().id != entry.id ||
        devices.back().resource != entry.resource) {
      devices.push_back({.resource = entry.resource, .id = entry.id});
    }
    std::vector<std::int64_t>& numa = devices.back().numa;
    if (entry.numa && (numa.empty() || numa.back() != *entry.numa)) numa.push_back(*entry.numa);
  }
  std::sort(devices.begin(), devices.end());
  std::vector<DeviceGroup> groups;
  for (Device& device : devices) {
    if (groups.empty() || groups.back().resource != device.resource ||
        groups.back().numa != device.numa) {
      groups.push_back({.resource = std::string(device.resource), .numa = std::move(device.numa)});
    }
    groups.back().ids.emplace_back(device.id);
  }
  return groups;
}

// The containers of all entries [begin, end), which have the same name.
using PodIterator = std::vector<PodView>::const_iterator;
Result<std::vector<ContainerDevices>> read_containers(PodIterator begin, PodIterator end,
                                                      Budget& budget) {
  std::vector<ContainerView> views;
  for (auto pod = begin; pod != end; ++pod) {
    for (const std::string_view message : pod->containers) {
      STOWAGE_TRY(view, read_container(message, budget));
      if (!view.devices.empty()) views.push_back(std::move(view));
    }
  }
  std::stable_sort(views.begin(), views.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  std::vector<ContainerDevices> containers;
  for (std::size_t i = 0; i < views.size();) {
    const std::string_view name = views[i].name;
    std::vector<Entry> entries;
    for (; i < views.size() && views[i].name == name; ++i) {
      for (const std::string_view message : views[i].devices) {
        STOWAGE_TRY_VOID(read_devices(message, budget, entries));
      }
    }
    if (entries.empty()) continue;
    containers.push_back({.name = std::string(name), .devices = group(std::move(entries))});
  }
  return containers;
}

bool same_pod(const PodView& a, const PodView& b) { return a.name == b.name && a.ns == b.ns; }

}  // namespace

Result<std::vector<PodDevices>> decode_pod_devices(std::string_view message) {
  Budget budget;
  std::vector<PodView> views;
  ProtobufFields fields(message);
  for (ProtobufField field; fields.next(field);) {
    if (field.number != 1 || field.wire != Wire::bytes) continue;
    if (views.size() == kListPodsMax) return fail("the list of pods is too long");
    auto pod = read_pod(field.bytes, budget);
    if (!pod) {
      return fail(fmt::format("pod {} of the list: {}", views.size(), pod.error().message));
    }
    views.push_back(std::move(*pod));
  }
  if (fields.broken()) return fail("the list of pods: malformed protobuf");
  std::stable_sort(views.begin(), views.end(), [](const PodView& a, const PodView& b) {
    return std::tie(a.ns, a.name) < std::tie(b.ns, b.name);
  });
  std::vector<PodDevices> pods;
  for (auto begin = views.cbegin(); begin != views.cend();) {
    const auto end = std::find_if_not(
        begin, views.cend(), [&](const PodView& other) { return same_pod(*begin, other); });
    auto containers = read_containers(begin, end, budget);
    if (!containers) {
      return fail(fmt::format("pod {}/{}: {}", begin->ns, begin->name, containers.error().message));
    }
    if (!containers->empty()) {
      pods.push_back({.pod = {.ns = std::string(begin->ns), .name = std::string(begin->name)},
                      .containers = std::move(*containers)});
    }
    begin = end;
  }
  return pods;
}

PodChanges changes_between(const std::vector<PodDevices>& before,
                           const std::vector<PodDevices>& now) {
  PodChanges changes;
  auto old = before.begin();
  for (const PodDevices& pod : now) {
    for (; old != before.end() && old->pod < pod.pod; ++old) changes.gone.push_back(old->pod);
    const bool known = old != before.end() && old->pod == pod.pod;
    if (!known || *old != pod) changes.changed.push_back(pod);
    if (known) ++old;
  }
  for (; old != before.end(); ++old) changes.gone.push_back(old->pod);
  return changes;
}

}  // namespace stowage::agent
