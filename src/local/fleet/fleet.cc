#include "local/fleet/fleet.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/version.h"
#include "core/model/node.h"
#include "dialect/dialect.h"
#include "local/defaults.h"

namespace stowage::local {
namespace {

constexpr std::int64_t kCpuPerCard = 16;
constexpr std::int64_t kMemoryMibPerCard = 128LL << 10U;
constexpr std::int64_t kCpuWithoutCards = 32;
constexpr std::int64_t kMemoryMibWithoutCards = 128LL << 10U;
constexpr int kZones = 3;

struct Place {
  std::string name;
  std::int32_t number = 0;  // among all nodes, from 0
};

std::uint64_t seed_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

std::string card_uuid(const std::string& node, std::int32_t index) {
  base::Rng rng(seed_of(fmt::format("{}/{}", node, index)));
  const std::uint64_t a = rng.next();
  const std::uint64_t b = rng.next();
  return fmt::format("GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32U, (a >> 16U) & 0xffffU,
                     a & 0xffffU, b >> 48U, b & 0xffff'ffff'ffffU);
}

// Labels cannot contain the blanks of a product name.
std::string label_of(std::string product) {
  std::replace(product.begin(), product.end(), ' ', '-');
  return product;
}

std::vector<core::Card> cards_of(const NodeGroup& group, const std::string& node) {
  std::vector<core::Card> cards;
  for (std::int32_t i = 0; i < group.gpus; ++i) {
    core::Card card;
    card.id = card_uuid(node, i);
    card.index = i;
    card.model = group.model.product;
    card.memory_mib = group.model.memory_mib;
    cards.push_back(std::move(card));
  }
  return cards;
}

std::string size_text(std::int64_t mib) {
  if (mib % 1024 != 0) return fmt::format("{}Mi", mib);
  return fmt::format("{}Gi", mib / 1024);
}

// What the device plugins of all dialects publish for the same cards.
void add_card_resources(json::object& capacity, const NodeGroup& group) {
  if (group.gpus == 0) return;
  const std::int64_t cards = group.gpus;
  const std::int64_t mib = group.model.memory_mib;
  const std::int64_t percent = cards * 100;
  const std::pair<std::string_view, std::int64_t> amounts[] = {
      {"nvidia.com/gpu", cards},
      {"stowage.dev/gpu", cards},
      {"stowage.dev/gpu-core", percent},
      {"stowage.dev/gpu-memory", cards * mib},
      {"elasticgpu.io/gpu-core", percent},
      {"elasticgpu.io/gpu-memory", cards * mib},
      {"elasticgpu.com/gpu-core", percent},
      {"elasticgpu.com/gpu-memory", cards * mib},
      {"tencent.com/vcuda-core", percent},
      {"tencent.com/vcuda-memory", cards * (mib / 256)},
      {"nvidia.com/vcuda-core", percent},
      {"nvidia.com/vcuda-memory", cards * mib},
      {"alnair/vgpu-memory", cards * ((mib + 512) / 1024)},
      {"alnair/vgpu-compute", percent},
  };
  for (const auto& [name, amount] : amounts) capacity[name] = fmt::format("{}", amount);
}

json::object metadata_of(const NodeGroup& group, const Place& place) {
  json::object labels;
  labels["beta.kubernetes.io/arch"] = "amd64";
  labels["beta.kubernetes.io/os"] = "linux";
  labels["kubernetes.io/arch"] = "amd64";
  labels["kubernetes.io/os"] = "linux";
  labels["kubernetes.io/hostname"] = place.name;
  labels["topology.kubernetes.io/region"] = "local";
  labels["topology.kubernetes.io/zone"] =
      fmt::format("local-{}", static_cast<char>('a' + place.number % kZones));
  if (group.gpus > 0) {
    labels["node.kubernetes.io/instance-type"] =
        fmt::format("local.{}x{}", group.gpus, group.model.name);
    labels["nvidia.com/gpu.present"] = "true";
    labels["nvidia.com/gpu.product"] = label_of(group.model.product);
    labels["nvidia.com/gpu.memory"] = fmt::format("{}", group.model.memory_mib);
    labels["nvidia.com/gpu.count"] = fmt::format("{}", group.gpus);
  }
  for (const auto& [key, value] : group.labels) labels[key] = value;

  json::object metadata;
  metadata["name"] = place.name;
  metadata["labels"] = std::move(labels);
  if (group.gpus > 0) {
    metadata["annotations"] = {{std::string(dialect::kInventoryAnnotation),
                                dialect::inventory_text(cards_of(group, place.name), {})}};
  }
  return metadata;
}

json::object spec_of(const NodeGroup& group, const Place& place) {
  json::object spec;
  spec["podCIDR"] = fmt::format("10.{}.{}.0/24", place.number / 256, place.number % 256);
  spec["podCIDRs"] = json::array{spec["podCIDR"]};
  spec["providerID"] = fmt::format("stowage-local://{}", place.name);
  if (!group.taints.empty()) {
    json::array taints;
    for (const NodeTaint& taint : group.taints) {
      json::object one{{"key", taint.key}, {"effect", taint.effect}};
      if (!taint.value.empty()) one["value"] = taint.value;
      taints.push_back(std::move(one));
    }
    spec["taints"] = std::move(taints);
  }
  return spec;
}

json::object status_of(const NodeGroup& group, const Place& place, WallTime now) {
  json::object capacity;
  const std::int64_t cards = group.gpus;
  const std::int64_t cpu = cards > 0 ? cards * kCpuPerCard : kCpuWithoutCards;
  const std::int64_t memory = cards > 0 ? cards * kMemoryMibPerCard : kMemoryMibWithoutCards;
  capacity["cpu"] = fmt::format("{}", group.cpu > 0 ? group.cpu : cpu);
  capacity["memory"] = size_text(group.memory_mib > 0 ? group.memory_mib : memory);
  capacity["ephemeral-storage"] = "1Ti";
  capacity["hugepages-1Gi"] = "0";
  capacity["hugepages-2Mi"] = "0";
  capacity["pods"] = "110";
  add_card_resources(capacity, group);

  json::object status;
  status["allocatable"] = capacity;
  status["capacity"] = std::move(capacity);
  const int host = place.number + 1;
  status["addresses"] = {
      {{"type", "InternalIP"}, {"address", fmt::format("172.16.{}.{}", host / 256, host % 256)}},
      {{"type", "Hostname"}, {"address", place.name}}};
  status["nodeInfo"] = {{"architecture", "amd64"},
                        {"bootID", ""},
                        {"containerRuntimeVersion", "simulated://1"},
                        {"kernelVersion", "simulated"},
                        {"kubeProxyVersion", ""},
                        {"kubeletVersion", fmt::format("v{}-local", base::kVersion)},
                        {"machineID", ""},
                        {"operatingSystem", "linux"},
                        {"osImage", "Stowage local node"},
                        {"systemUUID", ""}};
  set_node_ready(status, now);
  return status;
}

}  // namespace

Result<std::int32_t> count_nodes(const std::vector<NodeGroup>& groups) {
  std::int64_t total = 0;
  for (const NodeGroup& group : groups) total += group.count;
  if (total > kNodesMax) {
    return fail(
        fmt::format("{} nodes are too many: at most {} can be simulated", total, kNodesMax));
  }
  return static_cast<std::int32_t>(total);
}

std::vector<json::object> make_nodes(const std::vector<NodeGroup>& groups, WallTime now) {
  STOWAGE_CHECK(count_nodes(groups).has_value());
  std::map<std::string, std::int32_t> totals;
  for (const NodeGroup& group : groups) totals[group.name] += group.count;
  std::map<std::string, std::int32_t> used;
  std::vector<json::object> nodes;
  std::int32_t number = 0;
  for (const NodeGroup& group : groups) {
    const std::size_t digits = fmt::formatted_size("{}", totals.at(group.name));
    for (std::int32_t i = 0; i < group.count; ++i) {
      const Place place{fmt::format("{}-{:0{}}", group.name, ++used[group.name], digits), number++};
      json::object node;
      node["apiVersion"] = "v1";
      node["kind"] = "Node";
      node["metadata"] = metadata_of(group, place);
      node["spec"] = spec_of(group, place);
      node["status"] = status_of(group, place, now);
      nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

void set_node_ready(json::object& status, WallTime now) {
  const Condition healthy[] = {
      {"MemoryPressure", "False", "KubeletHasSufficientMemory",
       "kubelet has sufficient memory available"},
      {"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
      {"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
      {"Ready", "True", "KubeletReady", "kubelet is posting ready status"}};
  for (const Condition& condition : healthy) set_condition(status, condition, now);
  for (json::value& condition : make_array(status, "conditions")) {
    condition.as_object()["lastHeartbeatTime"] = time_text(now);
  }
}

}  // namespace stowage::local
