// Parses the objects of the API without the controller's readers.
#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "objects.h"

namespace stowage::faults {
namespace {

constexpr std::string_view kInventory = "stowage.dev/gpu-inventory";
constexpr std::string_view kGpus = "stowage.dev/gpus";
constexpr std::string_view kPreAllocation = "tencent.com/predicate-node";
constexpr std::string_view kIndexes = "tencent.com/predicate-gpu-idx-0";
constexpr std::string_view kDevices = "nvidia.com/gpu";
constexpr std::string_view kCores = "elasticgpu.io/gpu-core";

// Devices are requested and offered in whole numbers; cpu and memory are ignored.
void read_amounts(const json::object& from, Amounts& into) {
  for (const auto& [name, value] : from) {
    if (std::string_view(name).find('/') == std::string_view::npos) continue;
    const std::string_view text = local::text_of(value);
    std::int64_t amount = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), amount);
    if (read.ec == std::errc{}) into[std::string(name)] += amount;
  }
}

void read_cards(const json::object& tree, PodView& view) {
  const json::object* annotations = local::object_at(tree, "metadata.annotations");
  if (annotations == nullptr) return;
  view.pre_allocated = annotations->if_contains(kPreAllocation) != nullptr;
  const json::value* indexes = annotations->if_contains(kIndexes);
  if (indexes != nullptr) view.indexes = local::text_of(*indexes);
  const json::value* cards = annotations->if_contains(kGpus);
  if (cards == nullptr) return;
  view.cards_text = local::text_of(*cards);
  const auto said = local::parse_json(view.cards_text);
  if (!said || !said->is_object()) return;
  view.cards_node = local::text_at(said->get_object(), "node");
  const json::array* shares = local::array_at(said->get_object(), "containers.main");
  if (shares == nullptr) return;
  for (const json::value& each : *shares) {
    const json::object* share = each.if_object();
    if (share == nullptr) continue;
    view.shares.push_back({.card = std::string(local::text_at(*share, "id")),
                           .milli = local::int_at(*share, "milli").value_or(0),
                           .memory_mib = local::int_at(*share, "memoryMiB").value_or(0)});
  }
  std::sort(view.shares.begin(), view.shares.end(),
            [](const Share& a, const Share& b) { return a.card < b.card; });
}

// The rules of the plan's pods are about the pods of their own app, by node, and one at a time.
Rule read_rule(const json::object& tree, const std::string& app) {
  if (app.empty()) return Rule::none;
  const auto has = [&](const char* what) {
    const json::object* part = local::object_at(tree, std::string("spec.affinity.") + what);
    return part != nullptr &&
           local::array_at(*part, "requiredDuringSchedulingIgnoredDuringExecution") != nullptr;
  };
  if (has("podAntiAffinity")) return Rule::apart;
  if (has("podAffinity")) return Rule::together;
  const json::array* spread = local::array_at(tree, "spec.topologySpreadConstraints");
  return spread != nullptr && !spread->empty() ? Rule::spread : Rule::none;
}

}  // namespace

std::int64_t PodView::devices() const {
  const auto found = asks.find(std::string(kDevices));
  return found == asks.end() ? 0 : found->second;
}

PodView view_of(const local::StoredObject& pod) {
  const json::object tree = pod.tree();
  PodView view;
  view.name = pod.name;
  view.number = pod_number(pod.name.name);
  view.uid = pod.uid;
  view.node = local::text_at(tree, "spec.nodeName");
  view.scheduler = local::text_at(tree, "spec.schedulerName");
  view.phase = local::text_at(tree, "status.phase");
  view.deleting = pod.deleting;
  view.priority = local::int_at(tree, "spec.priority").value_or(0);
  view.nominated = local::text_at(tree, "status.nominatedNodeName");
  view.app = local::text_at(tree, "metadata.labels.app");
  view.rule = read_rule(tree, view.app);
  if (const json::array* containers = local::array_at(tree, "spec.containers")) {
    for (const json::value& each : *containers) {
      const json::object* limits = local::object_at(each.get_object(), "resources.limits");
      if (limits != nullptr) read_amounts(*limits, view.asks);
    }
  }
  read_cards(tree, view);
  return view;
}

std::vector<std::string> inventory_ids(const local::StoredObject& node) {
  const json::object tree = node.tree();
  const json::object* annotations = local::object_at(tree, "metadata.annotations");
  const json::value* text = annotations == nullptr ? nullptr : annotations->if_contains(kInventory);
  if (text == nullptr) return {};
  const auto said = local::parse_json(local::text_of(*text));
  std::vector<std::string> ids;
  for (const json::value& each : *local::array_at(said->get_object(), "cards")) {
    ids.emplace_back(local::text_at(each.get_object(), "id"));
  }
  return ids;
}

NodeView view_of(const Plan& plan, const local::StoredObject& node) {
  const json::object tree = node.tree();
  NodeView view;
  view.name = node.name.name;
  view.cordoned = local::true_at(tree, "spec.unschedulable");
  const std::uint32_t number = pod_number(view.name);
  const NodeShape shape = node_shape(plan, number);
  view.counted = !shape.inventory;
  if (const json::object* offered = local::object_at(tree, "status.allocatable")) {
    read_amounts(*offered, view.offers);
  }
  const json::object* annotations = local::object_at(tree, "metadata.annotations");
  const json::value* text = annotations == nullptr ? nullptr : annotations->if_contains(kInventory);
  view.renumbered = annotations != nullptr && annotations->contains("example.com/renumbered");
  if (text == nullptr) {
    const std::int64_t count =
        view.counted ? view.offers[std::string(kDevices)] : view.offers[std::string(kCores)] / 100;
    for (std::uint32_t card = 0; card < count; ++card) {
      view.cards.push_back(
          {.id = counted_id(number, card), .index = card, .memory_mib = shape.memory_mib});
    }
    return view;
  }
  const auto said = local::parse_json(local::text_of(*text));
  STOWAGE_CHECK(said.has_value());
  for (const json::value& each : *local::array_at(said->get_object(), "cards")) {
    const json::object& card = each.get_object();
    view.cards.push_back({.id = std::string(local::text_at(card, "id")),
                          .index = local::int_at(card, "index").value_or(-1),
                          .memory_mib = shape.memory_mib,
                          .slots = shape.slots,
                          .healthy = local::true_at(card, "healthy")});
  }
  return view;
}

}  // namespace stowage::faults
