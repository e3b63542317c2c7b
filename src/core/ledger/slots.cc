// Slots of nodes in the ledger: found by name, ranked by name, used again when they fall empty.
#include <iterator>
#include <limits>

#include "core/ledger/ledger.h"

namespace stowage::core {
namespace {

constexpr std::uint32_t kRankGap = 4096;  // room for a dozen names between two neighbours

}  // namespace

NodeIndex Ledger::slot_for(const std::string& name) {
  const NodeIndex known = find_node(name);
  if (known.valid()) return known;
  NodeIndex node;
  if (free_slots_.empty()) {
    node = NodeIndex(states_.size());
    states_.emplace_back();
    nodes_.emplace_back();
    ranks_.push_back(0);
    names_.emplace_back();
  } else {
    node = free_slots_.back();
    free_slots_.pop_back();
  }
  nodes_[node.at()].spec.name = name;
  names_[node.at()] = name;
  nodes_by_name_.emplace(name, node);
  quick_.emplace(name, node);
  assign_rank(node);
  ++layout_version_;
  return node;
}

void Ledger::drop_slot_if_empty(NodeIndex node) {
  auto& slot = nodes_[node.at()];
  if (slot.present || !slot.pods.empty()) return;
  nodes_by_name_.erase(slot.spec.name);
  quick_.erase(slot.spec.name);
  names_[node.at()].clear();
  const std::size_t card_room = slot.card_room;
  slot = NodeSlot{};
  slot.card_room = card_room;
  const auto first_card = states_[node.at()].first_card;
  states_[node.at()] = NodeState{};
  states_[node.at()].first_card = first_card;
  free_slots_.push_back(node);
  ++layout_version_;
}

void Ledger::assign_rank(NodeIndex node) {
  const auto self = nodes_by_name_.find(nodes_[node.at()].spec.name);
  const auto next = std::next(self);
  const std::uint32_t low =
      self == nodes_by_name_.begin() ? 0 : ranks_[std::prev(self)->second.at()];
  if (next == nodes_by_name_.end()) {
    if (low > std::numeric_limits<std::uint32_t>::max() - kRankGap) return relabel();
    ranks_[node.at()] = low + kRankGap;
    return;
  }
  const std::uint32_t high = ranks_[next->second.at()];
  if (high <= low + 1) return relabel();
  ranks_[node.at()] = low + (high - low) / 2;
}

void Ledger::relabel() {
  std::uint32_t rank = 0;
  for (const auto& [name, node] : nodes_by_name_) {
    if (nodes_[node.at()].spec.rank) continue;
    rank += kRankGap;
    ranks_[node.at()] = rank;
  }
  ++layout_version_;
}

}  // namespace stowage::core
