#include "core/ledger/node_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace stowage::core {
namespace {

bool has_soft_taint(const NodeSpec& node) {
  return std::any_of(node.taints.begin(), node.taints.end(), [](const Taint& taint) {
    return taint.effect == TaintEffect::prefer_no_schedule;
  });
}

}  // namespace

NodeIndex NodeTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? NodeIndex{} : found->second;
}

std::vector<Debt> NodeTable::debts() const {
  std::vector<Debt> out;
  for (const auto& [name, node] : order_.by_name()) {
    const auto& row = records_[node.at()];
    for (std::size_t i = 0; i < row.spec.cards.size(); ++i) {
      const auto& card = row.spec.cards[i];
      const auto over = [](std::int64_t used, std::int64_t capacity) {
        return static_cast<std::int32_t>(
            std::clamp<std::int64_t>(used - capacity, 0, std::numeric_limits<std::int32_t>::max()));
      };
      CardCharge excess{.card = static_cast<std::uint32_t>(i),
                        .milli = over(row.card_use[i].milli, kMilliPerCard),
                        .memory_mib = over(row.card_use[i].memory_mib, card.memory_mib),
                        .slots = card.slots == 0 ? 0 : over(row.card_use[i].slots, card.slots)};
      if (excess.milli != 0 || excess.memory_mib != 0 || excess.slots != 0) {
        out.push_back({.node = node, .excess = excess});
      }
    }
  }
  return out;
}

NodeIndex NodeTable::add(const std::string& name) {
  const NodeIndex known = find(name);
  if (known.valid()) return known;
  NodeIndex node;
  if (free_.empty()) {
    node = NodeIndex(states_.size());
    states_.emplace_back();
    records_.emplace_back();
    names_.emplace_back();
  } else {
    node = free_.back();
    free_.pop_back();
  }
  records_[node.at()].spec.name = name;
  names_[node.at()] = name;
  by_name_.emplace(name, node);
  order_.add(name, node);
  return node;
}

void NodeTable::drop_if_empty(NodeIndex node) {
  NodeRecord& record = records_[node.at()];
  if (record.present || !record.pods.empty()) return;
  order_.remove(record.spec.name);
  by_name_.erase(record.spec.name);
  names_[node.at()].clear();
  const std::size_t card_capacity = record.card_capacity;
  record = NodeRecord{};
  record.card_capacity = card_capacity;
  const auto first_card = states_[node.at()].first_card;
  states_[node.at()] = NodeState{};
  states_[node.at()].first_card = first_card;
  free_.push_back(node);
}

void NodeTable::set_spec(NodeIndex node, const NodeSpec& spec) {
  NodeRecord& record = records_[node.at()];
  order_.set_rank(spec.name, spec.rank);
  if (record.present) {
    soft_taints_ -= has_soft_taint(record.spec) ? 1U : 0U;
  } else {
    ++present_;
  }
  soft_taints_ += has_soft_taint(spec) ? 1U : 0U;
  record.spec = spec;
  record.present = true;
  record.last_labels.clear();
}

void NodeTable::set_gone(NodeIndex node, const NodeSpec& rest) {
  NodeRecord& record = records_[node.at()];
  soft_taints_ -= has_soft_taint(record.spec) ? 1U : 0U;
  --present_;
  record.present = false;
  record.last_labels = std::move(record.spec.labels);
  record.extended_capacity.clear();
  record.spec = rest;
}

void NodeTable::set_card_count(NodeIndex node, std::size_t count) {
  NodeRecord& record = records_[node.at()];
  NodeState& state = states_[node.at()];
  if (count > record.card_capacity) {
    state.first_card = static_cast<std::uint32_t>(cards_.size());
    cards_.resize(cards_.size() + count);
    record.card_capacity = count;
  }
  state.cards = static_cast<std::uint8_t>(count);
}

void NodeTable::refresh(NodeIndex node) {
  NodeState& state = states_[node.at()];
  update_rows(records_[node.at()], state, cards_.data() + state.first_card);
}

void NodeTable::remove_pod(NodeIndex node, PodIndex pod) {
  auto& pods = records_[node.at()].pods;
  const auto place = std::find(pods.begin(), pods.end(), pod);
  STOWAGE_CHECK(place != pods.end());
  *place = pods.back();
  pods.pop_back();
}

}  // namespace stowage::core
