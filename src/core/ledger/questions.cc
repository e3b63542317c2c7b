// What the ledger can be asked about a placement that has not been made.
#include <algorithm>
#include <bit>

#include "core/ledger/ledger.h"

namespace stowage::core {

bool Ledger::cards_free(const PodSpec& pod, NodeIndex node, const Assignment& cards) const {
  const auto& state = states_[node.at()];
  if (!names_cards(cards)) {
    if (!asks_for_cards(pod)) return true;
    PodRecord asks;
    take_unnamed(pod, asks);
    const ByNumber free = by_number(node);
    return asks.unknown == CardCharge{} &&
           std::popcount(free.idle) - free.unnamed >= asks.unknown_whole;
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
  ByNumber result{.idle = 0, .unnamed = slot.use.unknown_whole + slot.use.unknown.slots};
  for (std::size_t i = 0; i < slot.card_limits.size(); ++i) {
    const bool idle = slot.card_limits[i].healthy && slot.card_use[i] == CardUse{};
    result.idle |= std::uint64_t{idle} << i;
  }
  return result;
}

Ledger Ledger::without(NodeIndex node, std::span<const PodIndex> pods) const {
  Ledger alone;
  alone.models_ = models_;  // names keep their numbers
  alone.extended_ = extended_;
  alone.offers_ = offers_;
  const NodeIndex copy = alone.upsert_node(nodes_[node.at()].spec);
  for (const PodIndex pod : pods_on(node)) {
    if (std::find(pods.begin(), pods.end(), pod) != pods.end()) continue;
    const PodIndex index(alone.pods_.size());
    alone.pods_.push_back(pods_[pod.at()]);
    alone.pods_.back().node = copy;
    alone.pods_by_uid_.emplace(alone.pods_.back().uid, index);
    alone.nodes_[copy.at()].pods.push_back(index);
    alone.charge(alone.pods_.back(), 1);
  }
  return alone;
}

}  // namespace stowage::core
