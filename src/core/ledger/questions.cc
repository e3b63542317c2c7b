// Queries about a placement that has not been made, and capacity for nominations.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "core/ledger/ledger.h"

namespace stowage::core {

bool Ledger::cards_free(const PodSpec& pod, NodeIndex node, const Assignment& cards) const {
  return free_charges(pod, node, cards).has_value();
}

std::optional<std::vector<CardCharge>> Ledger::free_charges(const PodSpec& pod, NodeIndex node,
                                                            const Assignment& cards) const {
  std::vector<CardCharge> charges;
  if (!names_cards(cards)) {
    if (!asks_for_cards(pod)) return charges;
    const UnnamedUse asks = unnamed_use(unnamed_asks(pod));
    const ByNumber free = nodes_.record(node).by_number();
    const bool enough =
        !free.closed && asks.shared == 0 && std::popcount(free.idle) - free.unnamed >= asks.whole;
    return enough ? std::optional(std::move(charges)) : std::nullopt;
  }
  if (cards.containers.size() != pod.containers.size()) return std::nullopt;
  charges = footprint(pod, cards);
  const std::span<const CardState> all = nodes_.cards(node);
  for (const CardCharge& charge : charges) {
    if (charge.card >= all.size()) return std::nullopt;
    const CardState& card = all[charge.card];
    if (charge.milli > card.milli_free || charge.memory_mib > card.memory_free_mib ||
        charge.slots > card.slots_free) {
      return std::nullopt;
    }
  }
  return charges;
}

Ledger Ledger::without(NodeIndex node, std::span<const PodIndex> pods) const {
  Ledger alone;
  alone.names_.borrow(names_);
  const NodeIndex copy = alone.upsert_node(nodes_.record(node).spec);
  alone.set_busy(copy, nodes_.record(node).busy);
  for (const PodIndex pod : nodes_.pods_on(node)) {
    if (std::find(pods.begin(), pods.end(), pod) == pods.end()) alone.put(pods_.record(pod), copy);
  }
  return alone;
}

PodIndex Ledger::put(const PodRecord& pod, NodeIndex node) {
  const PodIndex index = pods_.append(pod);
  PodRecord& record = pods_.record(index);
  record.node = node;
  nodes_.record(node).pods.push_back(index);
  charge(record, 1);
  return index;
}

// The free parts of healthy cards that are in use, which may be empty. Those come first that will
// be nearest to idle once the pods that are terminating have gone.
std::vector<CardCharge> Ledger::rest_of_shared(NodeIndex node, std::uint64_t idle) const {
  const NodeRecord& record = nodes_.record(node);
  std::vector<CardUse> later = record.card_use;
  NodeUse ignored;
  for (const PodIndex pod : record.pods) {
    if (pods_.record(pod).leaving) add_charges(pods_.record(pod), -1, ignored, later);
  }
  std::vector<CardCharge> rest;
  const auto all = nodes_.cards(node);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (!record.card_limits[i].healthy || (idle >> i & 1U) != 0) continue;
    rest.push_back({.card = i, .milli = all[i].milli_free, .memory_mib = all[i].memory_free_mib});
  }
  std::stable_sort(rest.begin(), rest.end(), [&](const CardCharge& a, const CardCharge& b) {
    return std::pair(later[a.card].milli, later[a.card].memory_mib) <
           std::pair(later[b.card].milli, later[b.card].memory_mib);
  });
  return rest;
}

Ledger::KeptCapacity Ledger::keep_capacity(const PodSpec& pod, const std::string& uid,
                                           NodeIndex node, const Assignment& target) {
  const NodeState& state = nodes_.state(node);
  KeptCapacity kept{.complete = state.pods_free >= 1};
  const auto part = [&](std::int64_t wanted, std::int64_t free) {
    kept.complete = kept.complete && wanted <= free;
    return std::min(wanted, free);
  };
  Resources wanted = effective_resources(pod);
  wanted.cpu_milli = part(wanted.cpu_milli, state.cpu_free_milli);
  wanted.memory_bytes = part(wanted.memory_bytes, state.memory_free_bytes);
  wanted.ephemeral_bytes = part(wanted.ephemeral_bytes, state.ephemeral_free_bytes);
  for (auto& [name, amount] : wanted.extended) {
    amount = part(amount, nodes_.record(node).extended_free(names_.resources().find(name)));
  }
  const UnnamedUse asks = unnamed_use(unnamed_asks(pod));
  const bool must_name = pod.naming == Naming::always || asks.shared > 0;
  // Cards that could be named when the target was chosen may have to be counted now, or the
  // reverse.
  const bool named = names_cards(target) && (must_name || !state.unnamed);
  std::vector<CardCharge> charges;
  for (CardCharge charge : named ? footprint(pod, target) : std::vector<CardCharge>{}) {
    if (charge.card >= state.cards) {
      kept.complete = false;
      continue;
    }
    const CardState& card = nodes_.cards(node)[charge.card];
    const CardCharge whole = charge;
    charge.milli = std::min(charge.milli, card.milli_free);
    charge.memory_mib = std::min(charge.memory_mib, card.memory_free_mib);
    charge.slots = std::min(charge.slots, card.slots_free);
    kept.complete = kept.complete && charge == whole;
    kept.cards += charge == whole ? 1 : 0;
    if (charge.milli > 0 || charge.memory_mib > 0 || charge.slots > 0) charges.push_back(charge);
  }
  std::int32_t unnamed = 0;
  if (!named && asks_for_cards(pod)) {
    const ByNumber free = nodes_.record(node).by_number();
    const auto left = std::max<std::int64_t>(0, std::popcount(free.idle) - free.unnamed);
    unnamed = static_cast<std::int32_t>(part(asks.whole, left));
    kept.cards += unnamed;
    // A kept card only gets nearer to idle, so only a card that is nearer still replaces it.
    charges = rest_of_shared(node, free.idle);
    const auto missing = static_cast<std::size_t>(asks.whole - unnamed);
    charges.resize(std::min(charges.size(), missing));
    std::erase_if(charges, [](const CardCharge& c) { return c.milli == 0 && c.memory_mib == 0; });
    std::sort(charges.begin(), charges.end(),
              [](const CardCharge& a, const CardCharge& b) { return a.card < b.card; });
  }
  PodSpec empty{.uid = uid, .name = pod.name, .priority = pod.priority};
  kept.index = new_record(empty, node);
  PodRecord& record = pods_.record(kept.index);
  record.state = PodState::nomination;
  record.resources = std::move(wanted);
  record.charges = std::move(charges);
  if (unnamed > 0) record.asks = {{.count = unnamed}};
  record.unnamed.whole = unnamed;
  record.by_name = named && must_name;
  charge(record, 1);
  return kept;
}

}  // namespace stowage::core
