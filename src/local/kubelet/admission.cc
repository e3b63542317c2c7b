#include "local/kubelet/admission.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/quantity.h"
#include "codec/kubernetes.h"
#include "core/model/node.h"
#include "dialect/dialect.h"
#include "dialect/table.h"

namespace stowage::local {
namespace {

constexpr std::int64_t kTooMuch = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t amount_of(std::string_view resource, const json::value& value) {
  const auto quantity = base::Quantity::parse(text_of(value));
  if (!quantity || quantity->negative()) return kTooMuch;
  const auto amount = resource == "cpu" ? quantity->milli() : quantity->units();
  return amount ? std::min(*amount, kTooMuch) : kTooMuch;
}

Amounts amounts_of(const json::object* quantities) {
  Amounts amounts;
  if (quantities == nullptr) return amounts;
  for (const auto& quantity : *quantities) {
    amounts[std::string(quantity.key())] = amount_of(quantity.key(), quantity.value());
  }
  return amounts;
}

void add(std::int64_t& to, std::int64_t more) { to = std::min(to + more, kTooMuch); }

void add(Amounts& to, const Amounts& more) {
  for (const auto& [name, amount] : more) add(to[name], amount);
}

// After a sum has reached kTooMuch, the result is too small here until the last pod of that sum
// goes.
void take_off(std::int64_t& from, std::int64_t less) {
  from = std::max<std::int64_t>(from - less, 0);
}

void raise_to(Amounts& to, const Amounts& other) {
  for (const auto& [name, amount] : other) {
    std::int64_t& most = to[name];
    most = std::max(most, amount);
  }
}

// The maximum over time of what a pod uses: containers that run together are added up; init
// containers run one after the other, beside the sidecars before them.
template <typename Ask>
Amounts largest_moment(const json::object& pod, const Ask& ask) {
  Amounts sidecars;
  Amounts most;
  const auto each = [&](std::string_view list, const auto& visit) {
    for (const json::object* container : objects_at(pod, list)) visit(*container, ask(*container));
  };
  each("spec.initContainers", [&](const json::object& container, const Amounts& asked) {
    if (text_at(container, "restartPolicy") == "Always") return add(sidecars, asked);
    Amounts moment = sidecars;
    add(moment, asked);
    raise_to(most, moment);
  });
  Amounts apps = sidecars;
  each("spec.containers",
       [&](const json::object& /*container*/, const Amounts& asked) { add(apps, asked); });
  raise_to(most, apps);
  return most;
}

// The value of one of our annotations; null if it is missing or invalid.
json::value annotated_json(const json::object& object, std::string_view name) {
  const std::string_view text = annotation(object, name);
  if (text.empty()) return nullptr;
  auto value = parse_json(text);
  return value && value->is_object() ? *std::move(value) : json::value(nullptr);
}

constexpr std::string_view kMilli = "milli/";
constexpr std::string_view kMib = "mib/";

}  // namespace

Amounts demand_of(const json::object& pod) {
  Amounts demand = largest_moment(pod, [](const json::object& container) {
    return amounts_of(object_at(container, "resources.requests"));
  });
  add(demand, amounts_of(object_at(pod, "spec.overhead")));
  demand["pods"] = 1;
  return demand;
}

std::vector<CardUse> cards_of(const json::object& pod) {
  const json::value root = annotated_json(pod, dialect::kGpusAnnotation);
  if (!root.is_object() || text_at(root.get_object(), "node") != text_at(pod, "spec.nodeName")) {
    return {};
  }
  const json::object* containers = object_at(root.get_object(), "containers");
  if (containers == nullptr) return {};
  const Amounts most = largest_moment(pod, [&](const json::object& container) {
    Amounts asked;
    const json::value* cards = containers->if_contains(text_at(container, "name"));
    if (cards == nullptr || !cards->is_array()) return asked;
    for (const json::value& element : cards->get_array()) {
      const json::object* card = element.if_object();
      if (card == nullptr) continue;
      const std::string id(text_at(*card, "id"));
      const auto within = [&](std::string_view key) {
        return std::clamp<std::int64_t>(int_at(*card, key).value_or(kTooMuch), 0, kTooMuch);
      };
      add(asked[std::string(kMilli) + id], within("milli"));
      add(asked[std::string(kMib) + id], within("memoryMiB"));
    }
    return asked;
  });
  std::vector<CardUse> uses;
  for (const auto& [key, milli] : most) {
    if (!key.starts_with(kMilli)) continue;
    const std::string id = key.substr(kMilli.size());
    uses.push_back({id, milli, most.find(std::string(kMib) + id)->second});
  }
  return uses;
}

NodeSupply supply_of(const json::object& node) {
  NodeSupply supply;
  supply.allocatable = amounts_of(object_at(node, "status.allocatable"));
  codec::Decoder decoder;
  auto object = decoder.node(json::serialize(node));
  if (!object) return supply;
  if (object->name.empty()) object->name = "unnamed";
  const auto reading = dialect::to_spec(*object);
  if (!reading) return supply;
  for (const core::Card& card : reading->node.cards) supply.cards[card.id] = card.memory_mib;
  return supply;
}

void Admission::set_node(const std::string& name, NodeSupply supply) {
  Node& node = nodes_[name];
  node.known = true;
  node.supply = std::move(supply);
}

void Admission::forget_node(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  found->second.known = false;
  if (found->second.used.empty()) nodes_.erase(found);
}

std::optional<AdmissionRefusal> Admission::admit(const std::string& node, const std::string& uid,
                                                 const json::object& pod) {
  if (held_.contains(uid)) return std::nullopt;
  const auto found = nodes_.find(node);
  STOWAGE_CHECK(found != nodes_.end());
  Held claim{node, demand_of(pod), cards_of(pod)};
  if (auto refusal = judge(found->second, claim)) return refusal;
  hold(uid, std::move(claim));
  return std::nullopt;
}

void Admission::count(const std::string& node, const std::string& uid, const json::object& pod) {
  if (!held_.contains(uid)) hold(uid, {node, demand_of(pod), cards_of(pod)});
}

std::optional<AdmissionRefusal> Admission::judge(const Node& node, const Held& claim) {
  for (const auto& [name, asked] : claim.amounts) {
    if (asked == 0) continue;
    const bool by_card = !claim.cards.empty() && dialect::means_cards(name);
    if (by_card) continue;
    const auto has = node.supply.allocatable.find(name);
    const auto in_use = node.used.find(name);
    const std::int64_t capacity = has == node.supply.allocatable.end() ? 0 : has->second;
    const std::int64_t used = in_use == node.used.end() ? 0 : in_use->second;
    if (asked <= capacity - used) continue;
    if (name.find('/') == std::string::npos) {
      return AdmissionRefusal{
          "OutOf" + name,
          fmt::format("Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}",
                      name, asked, used, capacity)};
    }
    return AdmissionRefusal{
        "UnexpectedAdmissionError",
        fmt::format("Allocate failed due to requested number of devices unavailable for {}. "
                    "Requested: {}, Available: {}, which is unexpected",
                    name, asked, std::max<std::int64_t>(capacity - used, 0))};
  }
  for (const CardUse& use : claim.cards) {
    const auto card = node.supply.cards.find(use.card);
    const bool listed = card != node.supply.cards.end();
    if (!listed && !node.supply.cards.empty()) {
      return AdmissionRefusal{"UnexpectedAdmissionError",
                              fmt::format("the node has no card {}", use.card)};
    }
    // If the node has no list of cards, their memory is unknown too.
    const std::int64_t memory = listed ? card->second : kTooMuch;
    const auto held = node.cards.find(use.card);
    const CardUse used = held == node.cards.end() ? CardUse{} : held->second;
    if (used.milli + use.milli > core::kMilliPerCard || used.memory_mib + use.memory_mib > memory) {
      return AdmissionRefusal{
          "UnexpectedAdmissionError",
          fmt::format("card {} would be over-committed: {} + {} of {} milli, {} + {} of {} MiB",
                      use.card, used.milli, use.milli, core::kMilliPerCard, used.memory_mib,
                      use.memory_mib, memory)};
    }
  }
  return std::nullopt;
}

void Admission::hold(const std::string& uid, Held claim) {
  Node& node = nodes_[claim.node];
  add(node.used, claim.amounts);
  for (const CardUse& use : claim.cards) {
    CardUse& sum = node.cards[use.card];
    add(sum.milli, use.milli);
    add(sum.memory_mib, use.memory_mib);
  }
  held_.emplace(uid, std::move(claim));
}

void Admission::release(const std::string& uid) {
  const auto found = held_.find(uid);
  if (found == held_.end()) return;
  const Held claim = std::move(found->second);
  held_.erase(found);
  Node& node = nodes_[claim.node];
  for (const auto& [name, amount] : claim.amounts) {
    const auto used = node.used.find(name);
    if (used == node.used.end()) continue;
    take_off(used->second, amount);
    if (used->second == 0) node.used.erase(used);
  }
  for (const CardUse& use : claim.cards) {
    const auto sum = node.cards.find(use.card);
    if (sum == node.cards.end()) continue;
    take_off(sum->second.milli, use.milli);
    take_off(sum->second.memory_mib, use.memory_mib);
    if (sum->second.milli == 0 && sum->second.memory_mib == 0) node.cards.erase(sum);
  }
  if (!node.known && node.used.empty()) nodes_.erase(claim.node);
}

}  // namespace stowage::local
