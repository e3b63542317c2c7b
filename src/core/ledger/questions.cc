// What the ledger can be asked about a placement that has not been made.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "core/ledger/ledger.h"

namespace stowage::core {

bool Ledger::cards_free(const PodSpec& pod, NodeIndex node, const Assignment& cards) const {
  const auto& state = states_[node.at()];
  if (!names_cards(cards)) {
    if (!asks_for_cards(pod)) return true;
    const UnnamedUse asks = unnamed_use(unnamed_asks(pod));
    const ByNumber free = by_number(node);
    return !free.closed && asks.shared == 0 &&
           std::popcount(free.idle) - free.unnamed >= asks.whole;
  }
  if (cards.containers.size() != pod.containers.size()) return false;
  const auto charges = footprint(pod, cards);
  return std::all_of(charges.begin(), charges.end(), [&](const CardCharge& charge) {
    if (charge.card >= state.cards) return false;
    const CardState& card = this->cards(node)[charge.card];
    return charge.milli <= card.milli_free && charge.memory_mib <= card.memory_free_mib &&
           charge.slots <= card.slots_free;
  });
}

Ledger::ByNumber Ledger::by_number(NodeIndex node) const {
  const auto& slot = nodes_[node.at()];
  ByNumber result{.idle = 0,
                  .unnamed = slot.use.unknown_whole + slot.use.unknown_shared,
                  .closed = slot.use.rooms_by_name > 0};
  for (std::size_t i = 0; i < slot.card_limits.size(); ++i) {
    const bool idle = slot.card_limits[i].healthy && slot.card_use[i] == CardUse{};
    result.idle |= std::uint64_t{idle} << i;
  }
  return result;
}

Ledger Ledger::without(NodeIndex node, std::span<const PodIndex> pods) const {
  Ledger alone;
  alone.borrowed_ = &tables();  // names keep their numbers, and are not copied
  const NodeIndex copy = alone.upsert_node(nodes_[node.at()].spec);
  alone.set_busy(copy, nodes_[node.at()].busy);
  for (const PodIndex pod : pods_on(node)) {
    if (std::find(pods.begin(), pods.end(), pod) == pods.end()) alone.put(this->pod(pod), copy);
  }
  return alone;
}

PodIndex Ledger::put(const PodRecord& pod, NodeIndex node) {
  const PodIndex index(pods_.size());
  pods_.push_back(pod);
  pods_.back().node = node;
  STOWAGE_CHECK(pods_by_uid_.emplace(pod.uid, index).second);
  nodes_[node.at()].pods.push_back(index);
  charge(pods_.back(), 1);
  return index;
}

Ledger::Room Ledger::keep_room(const PodSpec& pod, const std::string& uid, NodeIndex node,
                               const Assignment& target) {
  const NodeState& state = states_[node.at()];
  Room room{.complete = state.pods_free >= 1};
  const auto part = [&](std::int64_t wanted, std::int64_t free) {
    room.complete = room.complete && wanted <= free;
    return std::min(wanted, free);
  };
  Resources wanted = effective_resources(pod);
  wanted.cpu_milli = part(wanted.cpu_milli, state.cpu_free_milli);
  wanted.memory_bytes = part(wanted.memory_bytes, state.memory_free_bytes);
  wanted.ephemeral_bytes = part(wanted.ephemeral_bytes, state.ephemeral_free_bytes);
  for (auto& [name, amount] : wanted.extended) {
    amount = part(amount, extended_free(node, resource_number(name)));
  }
  const UnnamedUse asks = unnamed_use(unnamed_asks(pod));
  const bool must_name = pod.naming == Naming::always || asks.shared > 0;
  // What could be named when it was chosen may have to be counted now, or the reverse.
  const bool named = names_cards(target) && (must_name || !state.unnamed);
  std::vector<CardCharge> charges;
  for (CardCharge charge : named ? footprint(pod, target) : std::vector<CardCharge>{}) {
    if (charge.card >= state.cards) {
      room.complete = false;
      continue;
    }
    const CardState& card = cards(node)[charge.card];
    const CardCharge whole = charge;
    charge.milli = std::min(charge.milli, card.milli_free);
    charge.memory_mib = std::min(charge.memory_mib, card.memory_free_mib);
    charge.slots = std::min(charge.slots, card.slots_free);
    room.complete = room.complete && charge == whole;
    room.cards += charge == whole ? 1 : 0;
    if (charge.milli > 0 || charge.memory_mib > 0 || charge.slots > 0) charges.push_back(charge);
  }
  std::int32_t unnamed = 0;
  if (!named && asks_for_cards(pod)) {
    const ByNumber free = by_number(node);
    const auto left = std::max<std::int64_t>(0, std::popcount(free.idle) - free.unnamed);
    unnamed = static_cast<std::int32_t>(part(asks.whole, left));
    room.cards += unnamed;
  }
  PodSpec empty{.uid = uid, .name = pod.name, .priority = pod.priority};
  room.index = new_record(empty, node);
  PodRecord& record = pods_[room.index.at()];
  record.state = PodState::room;
  record.resources = std::move(wanted);
  record.charges = std::move(charges);
  if (unnamed > 0) record.asks = {{.count = unnamed}};
  record.unnamed.whole = unnamed;
  record.by_name = named && must_name;
  charge(record, 1);
  return room;
}

}  // namespace stowage::core
