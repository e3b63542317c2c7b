#include "objects.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/check.h"

namespace stowage::faults {
namespace {

constexpr std::string_view kInventory = "stowage.dev/gpu-inventory";
constexpr std::string_view kGpus = "stowage.dev/gpus";
constexpr std::array kClasses{"low", "middle", "high"};
constexpr std::array kSchedulers{"stowage", "kube-choose", "kube-bind", "kube-promise"};
constexpr std::int64_t kUnitMib = 256;  // of vcuda-memory

json::value parsed(const std::string& text) {
  auto value = local::parse_json(text);
  STOWAGE_CHECK(value.has_value());
  return std::move(*value);
}

std::string inventory(const Plan& plan, std::uint32_t node, const NodeNow& now) {
  const NodeShape shape = node_shape(plan, node);
  std::string cards;
  for (std::uint32_t card = 0; card < shape.cards; ++card) {
    if (now.lost[card]) continue;
    if (!cards.empty()) cards += ",";
    cards += fmt::format(
        R"({{"id":"{}","index":{},"model":"Model","memoryMiB":{},"slots":{},"healthy":{}}})",
        card_id(plan, node, card), card, shape.memory_mib, shape.slots, !now.broken[card]);
  }
  return fmt::format(R"({{"version":1,"cards":[{}]}})", cards);
}

}  // namespace

std::string node_name(std::uint32_t node) { return fmt::format("node-{}", node); }

std::string card_id(const Plan& plan, std::uint32_t node, std::uint32_t card) {
  return node_shape(plan, node).inventory ? fmt::format("GPU-{}-{}", node, card)
                                          : fmt::format("{}/{}", node_name(node), card);
}

json::object node_object(const Plan& plan, std::uint32_t node, const NodeNow& now) {
  const NodeShape shape = node_shape(plan, node);
  const auto left = static_cast<std::uint32_t>(std::count(now.lost.begin(), now.lost.end(), false));
  json::object resources{{"cpu", "1000"}, {"memory", "4000Gi"}, {"pods", "110"}};
  json::object annotations;
  if (shape.inventory) {
    annotations[kInventory] = inventory(plan, node, now);
  } else {
    resources["nvidia.com/gpu"] = std::to_string(left);
  }
  if (plan.promises) {
    resources["tencent.com/vcuda-core"] = std::to_string(100 * left);
    resources["tencent.com/vcuda-memory"] = std::to_string(shape.memory_mib / kUnitMib * left);
  }
  json::object labels{{"nvidia.com/gpu.product", "Model"},
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

json::object pod_object(const Plan& plan, std::uint32_t pod) {
  const PodShape shape = shape_of(plan, pod);
  json::object limits;
  const auto set = [&](const char* name, std::int64_t amount) {
    if (amount > 0) limits[name] = std::to_string(amount);
  };
  if (shape.door == Door::promise) {
    set("tencent.com/vcuda-core", shape.percent > 0 ? shape.percent : 100L * shape.cards);
    set("tencent.com/vcuda-memory", shape.memory_mib / kUnitMib);
  } else {
    set("stowage.dev/gpu", shape.cards);
    set("stowage.dev/gpu-core", shape.percent);
    set("stowage.dev/gpu-memory", shape.memory_mib);
  }
  const local::ObjectName name = pod_name(plan, pod);
  json::object container{{"name", "main"},
                         {"image", "pause:1"},
                         {"resources", json::object{{"limits", std::move(limits)}}}};
  return {
      {"metadata", json::object{{"name", name.name}, {"namespace", name.ns}}},
      {"spec", json::object{{"schedulerName", kSchedulers.at(static_cast<std::size_t>(shape.door))},
                            {"priorityClassName", kClasses.at(shape.priority)},
                            {"terminationGracePeriodSeconds", 5},
                            {"containers", json::array{std::move(container)}}}}};
}

std::uint32_t pod_number(const std::string& name) {
  std::uint32_t number = 0;
  const std::size_t dash = name.rfind('-');
  std::from_chars(name.data() + dash + 1, name.data() + name.size(), number);
  return number;
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
  const json::object* annotations = local::object_at(tree, "metadata.annotations");
  const json::value* cards = annotations == nullptr ? nullptr : annotations->if_contains(kGpus);
  if (cards == nullptr) return view;
  view.cards_text = local::text_of(*cards);
  const auto said = local::parse_json(view.cards_text);
  if (!said || !said->is_object()) return view;
  view.cards_node = local::text_at(said->get_object(), "node");
  const json::array* shares = local::array_at(said->get_object(), "containers.main");
  if (shares == nullptr) return view;
  for (const json::value& each : *shares) {
    const json::object* share = each.if_object();
    if (share == nullptr) continue;
    view.shares.push_back({.card = std::string(local::text_at(*share, "id")),
                           .milli = local::int_at(*share, "milli").value_or(0),
                           .memory_mib = local::int_at(*share, "memoryMiB").value_or(0)});
  }
  std::sort(view.shares.begin(), view.shares.end(),
            [](const Share& a, const Share& b) { return a.card < b.card; });
  return view;
}

NodeView view_of(const Plan& plan, const local::StoredObject& node) {
  const json::object tree = node.tree();
  NodeView view;
  view.name = node.name.name;
  view.cordoned = local::true_at(tree, "spec.unschedulable");
  const std::uint32_t number = pod_number(view.name);
  const NodeShape shape = node_shape(plan, number);
  if (!shape.inventory) {
    const json::object* offered = local::object_at(tree, "status.allocatable");
    const auto count = std::stoul(std::string(local::text_of(offered->at("nvidia.com/gpu"))));
    for (std::uint32_t card = 0; card < count; ++card) {
      view.cards.push_back({.id = card_id(plan, number, card), .memory_mib = shape.memory_mib});
    }
    return view;
  }
  const json::object* annotations = local::object_at(tree, "metadata.annotations");
  const json::value said = parsed(std::string(local::text_of(annotations->at(kInventory))));
  for (const json::value& each : *local::array_at(said.get_object(), "cards")) {
    const json::object& card = each.get_object();
    view.cards.push_back({.id = std::string(local::text_at(card, "id")),
                          .memory_mib = shape.memory_mib,
                          .slots = shape.slots,
                          .healthy = local::true_at(card, "healthy")});
  }
  return view;
}

template <typename View, typename Reader>
std::vector<const View*> Views::all(local::Kind kind, Known<View>& known, Reader read) {
  Known<View> now;
  store_.visit(kind, "", [&](const local::ObjectPtr& object) {
    auto before = known.extract(object->name);
    if (!before.empty() && before.mapped().object == object) {
      now.insert(std::move(before));
    } else {
      now.emplace(object->name, Read<View>{.object = object, .view = read(*object)});
    }
  });
  known = std::move(now);
  std::vector<const View*> views;
  views.reserve(known.size());
  for (const auto& [name, each] : known) views.push_back(&each.view);
  return views;
}

std::vector<const PodView*> Views::pods() {
  return all(local::Kind::pod, pods_, [](const auto& object) { return view_of(object); });
}

std::vector<const NodeView*> Views::nodes() {
  return all(local::Kind::node, nodes_,
             [this](const auto& object) { return view_of(plan_, object); });
}

bool is_what_it_asks(const PodShape& shape, const std::vector<Share>& shares) {
  if (shares.size() != shape.cards) return false;
  return std::all_of(shares.begin(), shares.end(), [&](const Share& share) {
    if (shape.percent == 0) return share.milli == 1000;
    return share.milli == 10L * shape.percent && share.memory_mib == shape.memory_mib;
  });
}

}  // namespace stowage::faults
