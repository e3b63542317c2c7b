#include "objects.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/check.h"

namespace stowage::faults {
namespace {

constexpr std::string_view kInventory = "stowage.dev/gpu-inventory";
constexpr std::string_view kDevices = "nvidia.com/gpu";
constexpr std::int64_t kUnitMib = 256;  // of vcuda-memory
// No pod requests these: they give the number of cards while the inventory is missing.
constexpr std::string_view kCores = "elasticgpu.io/gpu-core";
constexpr std::string_view kMemory = "elasticgpu.io/gpu-memory";

std::string inventory(const Plan& plan, std::uint32_t node, const NodeNow& now) {
  const NodeShape shape = node_shape(plan, node);
  std::string cards;
  for (const CardNow& card : now.cards) {
    if (card.lost) continue;
    if (!cards.empty()) cards += ",";
    cards += fmt::format(
        R"({{"id":"{}","index":{},"model":"Model","memoryMiB":{},"slots":{},"healthy":{}}})",
        card.id, card.index, shape.memory_mib, shape.slots, !card.broken);
  }
  return fmt::format(R"({{"version":1,"cards":[{}]}})", cards);
}

}  // namespace

std::string node_name(std::uint32_t node) { return fmt::format("node-{}", node); }

std::string card_id(const Plan& plan, std::uint32_t node, std::uint32_t card) {
  return node_shape(plan, node).inventory ? fmt::format("GPU-{}-{}", node, card)
                                          : counted_id(node, card);
}

std::string counted_id(std::uint32_t node, std::uint32_t card) {
  return fmt::format("{}/{}", node_name(node), card);
}

std::uint32_t NodeNow::left() const {
  if (plugin_away) return 0;
  return static_cast<std::uint32_t>(
      std::count_if(cards.begin(), cards.end(), [](const CardNow& card) { return !card.lost; }));
}

NodeNow first_state(const Plan& plan, std::uint32_t node) {
  NodeNow now;
  for (std::uint32_t card = 0; card < node_shape(plan, node).cards; ++card) {
    now.cards.push_back({.id = card_id(plan, node, card), .index = card});
  }
  return now;
}

json::object node_object(const Plan& plan, std::uint32_t node, const NodeNow& now) {
  const NodeShape shape = node_shape(plan, node);
  const std::uint32_t left = now.left();
  json::object resources{{"cpu", "1000"}, {"memory", "4000Gi"}, {"pods", "110"}};
  json::object annotations;
  if (now.renumbered) annotations["example.com/renumbered"] = "true";
  if (shape.inventory) {
    if (!now.unlisted) annotations[kInventory] = inventory(plan, node, now);
    if (plan.features.has(Feature::unlisted)) {
      resources[kCores] = std::to_string(100 * left);
      resources[kMemory] = std::to_string(shape.memory_mib * left);
    }
  } else {
    resources[kDevices] = std::to_string(left);
  }
  if (plan.pre_allocations) {
    resources["tencent.com/vcuda-core"] = std::to_string(100 * left);
    resources["tencent.com/vcuda-memory"] = std::to_string(shape.memory_mib / kUnitMib * left);
  }
  json::object labels{{"kubernetes.io/hostname", node_name(node)},
                      {"gaia.tencent.com/gpu-model", "Model"},
                      {"nvidia.com/gpu.product", "Model"},
                      {"nvidia.com/gpu.memory", std::to_string(shape.memory_mib)}};
  json::object spec;
  if (now.cordoned) spec["unschedulable"] = true;
  return {{"metadata", json::object{{"name", node_name(node)},
                                    {"labels", std::move(labels)},
                                    {"annotations", std::move(annotations)}}},
          {"spec", std::move(spec)},
          {"status", json::object{{"capacity", resources}, {"allocatable", resources}}}};
}

local::ObjectName pod_name(const Plan& plan, std::uint32_t pod) {
  return {shape_of(plan, pod).limited ? "limited" : "default", fmt::format("pod-{}", pod)};
}

std::uint32_t pod_number(const std::string& name) {
  std::uint32_t number = 0;
  const std::size_t dash = name.rfind('-');
  std::from_chars(name.data() + dash + 1, name.data() + name.size(), number);
  return number;
}

template <typename View, typename Reader>
std::vector<const View*> Views::all(local::Kind kind, Known<View>& known, Reader read) {
  if (known.version == store_.version()) return known.views;
  // Both are in order of the names.
  auto at = known.read.begin();
  store_.visit(kind, "", [&](const local::ObjectPtr& object) {
    while (at != known.read.end() && at->first < object->name) at = known.read.erase(at);
    if (at == known.read.end() || at->first != object->name) {
      at = known.read.emplace_hint(at, object->name, Read<View>{});
    }
    if (at->second.object != object) at->second = {.object = object, .view = read(*object)};
    ++at;
  });
  known.read.erase(at, known.read.end());
  known.views.clear();
  for (const auto& [name, each] : known.read) known.views.push_back(&each.view);
  known.version = store_.version();
  return known.views;
}

std::vector<const PodView*> Views::pods() {
  return all(local::Kind::pod, pods_, [](const auto& object) { return view_of(object); });
}

std::vector<const NodeView*> Views::nodes() {
  return all(local::Kind::node, nodes_,
             [this](const auto& object) { return view_of(plan_, object); });
}

}  // namespace stowage::faults
