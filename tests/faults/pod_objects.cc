// The pods of a plan as JSON.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "objects.h"

namespace stowage::faults {
namespace {

constexpr std::array kClasses{"low", "middle", "high"};
constexpr std::array kSchedulers{"stowage",    "kube-choose", "kube-bind", "kube-promise",
                                 "kube-count", "other",       "nobody"};
constexpr std::int64_t kUnitMib = 256;  // of vcuda-memory
constexpr std::uint32_t kManyTerms = 40;
constexpr std::uint32_t kManyResources = 120;
constexpr std::string_view kHost = "kubernetes.io/hostname";

json::object limits_of(const PodShape& shape) {
  json::object limits;
  const auto set = [&](std::string_view name, std::int64_t amount) {
    if (amount > 0) limits[name] = std::to_string(amount);
  };
  switch (shape.asks) {
    case Asks::vcuda:
      set("tencent.com/vcuda-core", shape.percent > 0 ? shape.percent : 100L * shape.cards);
      set("tencent.com/vcuda-memory", shape.memory_mib / kUnitMib);
      break;
    case Asks::native:
      set("stowage.dev/gpu", shape.cards);
      set("stowage.dev/gpu-core", shape.percent);
      set("stowage.dev/gpu-memory", shape.memory_mib);
      break;
    case Asks::devices: set("nvidia.com/gpu", shape.cards); break;
    case Asks::mixed:
      set("nvidia.com/gpu", shape.cards);
      set("stowage.dev/gpu-core", shape.percent);
      break;
  }
  for (std::uint32_t i = 0; shape.excess == Excess::resources && i < kManyResources; ++i) {
    set(fmt::format("many.example.com/resource-{}", i), 1);
  }
  return limits;
}

json::object selector(std::uint32_t app) {
  return {{"matchLabels", json::object{{"app", fmt::format("app-{}", app)}}}};
}

json::object constraint(std::string_view key, bool must, json::object labels) {
  return {{"maxSkew", 1},
          {"topologyKey", key},
          {"whenUnsatisfiable", must ? "DoNotSchedule" : "ScheduleAnyway"},
          {"labelSelector", std::move(labels)}};
}

void add_rules(const PodShape& shape, json::object& spec) {
  json::array apart;
  json::array together;
  json::array spread;
  if (shape.rule == Rule::apart || shape.rule == Rule::together) {
    json::object term{{"topologyKey", kHost}, {"labelSelector", selector(shape.app)}};
    (shape.rule == Rule::apart ? apart : together).push_back(std::move(term));
  }
  if (shape.rule == Rule::spread) spread.push_back(constraint(kHost, true, selector(shape.app)));
  for (std::uint32_t i = 0; i < kManyTerms; ++i) {
    const std::string key = fmt::format("example.com/level-{}", i);
    if (shape.excess == Excess::affinity_terms) {
      apart.push_back(json::object{{"topologyKey", key}, {"labelSelector", selector(1 + i)}});
    } else if (shape.excess == Excess::spread_constraints) {
      spread.push_back(constraint(key, false, selector(1 + i)));
    }
  }
  json::object affinity;
  const auto put = [&](const char* what, json::array& terms) {
    if (terms.empty()) return;
    affinity[what] =
        json::object{{"requiredDuringSchedulingIgnoredDuringExecution", std::move(terms)}};
  };
  put("podAntiAffinity", apart);
  put("podAffinity", together);
  if (!affinity.empty()) spec["affinity"] = std::move(affinity);
  if (!spread.empty()) spec["topologySpreadConstraints"] = std::move(spread);
}

// What gpu-admission writes on a pod, or what we write when cards are held by number, but written
// by the author of the pod.
json::object untrusted_pre_allocation(const PodShape& shape, bool by_number,
                                      std::int64_t unix_nanos) {
  if (by_number) {
    return {{"stowage.dev/pre-allocated-node", node_name(shape.pre_allocated_node - 1)},
            {"stowage.dev/signature",
             fmt::format("v1:0123456789abcdef:promise:{}:{:A>43}=:{:A>86}==", unix_nanos, "", "")}};
  }
  std::string indexes;
  for (std::uint32_t i = 0; i < shape.cards; ++i) {
    indexes += fmt::format("{}{}", i == 0 ? "" : ",", i);
  }
  return {{"tencent.com/predicate-node", node_name(shape.pre_allocated_node - 1)},
          {"tencent.com/predicate-gpu-idx-0", indexes},
          {"tencent.com/predicate-time", std::to_string(unix_nanos)},
          {"tencent.com/gpu-assigned", "false"},
          {"tencent.com/stuck-grace-period", "3600s"}};
}

// The whole first card of the node, even if it is in use.
std::string cards_of_choice(const Plan& plan, const PodShape& shape) {
  const std::uint32_t node = shape.born_on - 1;
  return fmt::format(R"({{"version":1,"node":"{}","containers":{{"main":[{{"id":"{}","index":0,)"
                     R"("milli":1000,"memoryMiB":{}}}]}}}})",
                     node_name(node), card_id(plan, node, 0), node_shape(plan, node).memory_mib);
}

}  // namespace

std::string claim_name(std::uint32_t pod) { return fmt::format("claim-{}", pod); }

json::object pod_object(const Plan& plan, std::uint32_t pod, std::int64_t unix_nanos) {
  const PodShape shape = shape_of(plan, pod);
  const local::ObjectName name = pod_name(plan, pod);
  json::object container{{"name", "main"},
                         {"image", "pause:1"},
                         {"resources", json::object{{"limits", limits_of(shape)}}}};
  json::object metadata{{"name", name.name}, {"namespace", name.ns}};
  if (shape.app != 0) metadata["labels"] = json::object{{"app", fmt::format("app-{}", shape.app)}};
  if (shape.pre_allocated_node != 0)
    metadata["annotations"] = untrusted_pre_allocation(shape, pod % 3 == 0, unix_nanos);
  if (shape.born_on != 0) {
    metadata["annotations"] = json::object{{"stowage.dev/gpus", cards_of_choice(plan, shape)}};
  }
  json::object spec{{"schedulerName", kSchedulers.at(static_cast<std::size_t>(shape.listener))},
                    {"priorityClassName", kClasses.at(shape.priority)},
                    {"terminationGracePeriodSeconds", 5},
                    {"containers", json::array{std::move(container)}}};
  if (shape.born_on != 0) spec["nodeName"] = node_name(shape.born_on - 1);
  add_rules(shape, spec);
  if (shape.claim) {
    spec["volumes"] = json::array{json::object{
        {"name", "data"}, {"persistentVolumeClaim", json::object{{"claimName", claim_name(pod)}}}}};
  }
  return {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

bool is_what_it_asks(const PodShape& shape, const std::vector<Share>& shares) {
  // The device plugin may choose the cards.
  if (shape.asks == Asks::devices && shares.empty()) return true;
  if (shares.size() != shape.cards) return false;
  return std::all_of(shares.begin(), shares.end(), [&](const Share& share) {
    if (shape.whole()) return share.milli == 1000;
    return share.milli == 10L * shape.percent && share.memory_mib == shape.memory_mib;
  });
}

}  // namespace stowage::faults
