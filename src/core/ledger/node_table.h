// The nodes of the ledger, by name, each with a record and the rows that decisions read. A node has
// a row while it is present or pods are charged to it; then the row is reused. Rows of nodes are
// contiguous, and so are the rows of one node's cards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>  // lookup only
#include <vector>

#include "core/ledger/node_order.h"
#include "core/ledger/node_record.h"
#include "core/ledger/state.h"
#include "core/model/ids.h"
#include "core/model/node.h"

namespace stowage::core {

// Over-commitment by others: how much the charges on a card exceed its capacity.
struct Debt {
  NodeIndex node;
  CardCharge excess;
};

class NodeTable {
 public:
  [[nodiscard]] NodeIndex find(std::string_view name) const;  // invalid if absent
  // Number of rows. Unused rows are not schedulable and have no name.
  [[nodiscard]] std::size_t rows() const { return states_.size(); }
  // Nodes that are present.
  [[nodiscard]] std::size_t count() const { return present_; }
  // Nodes with PreferNoSchedule taints.
  [[nodiscard]] std::size_t soft_taints() const { return soft_taints_; }
  [[nodiscard]] const NodeOrder& order() const { return order_; }
  [[nodiscard]] std::vector<Debt> debts() const;

  // The name of the node in this row, if there is one; faster than reading its spec.
  [[nodiscard]] const std::string& name(NodeIndex node) const { return names_[node.at()]; }
  [[nodiscard]] const NodeState& state(NodeIndex node) const { return states_[node.at()]; }
  [[nodiscard]] bool present(NodeIndex node) const { return states_[node.at()].present; }
  [[nodiscard]] std::span<const CardState> cards(NodeIndex node) const {
    const auto& s = states_[node.at()];
    return {cards_.data() + s.first_card, s.cards};
  }
  // Prefetches these rows into the CPU caches. prefetch_cards() reads the node's row.
  void prefetch_node(NodeIndex node) const { __builtin_prefetch(&states_[node.at()]); }
  void prefetch_cards(NodeIndex node) const {
    const CardState* cards = cards_.data() + states_[node.at()].first_card;
    __builtin_prefetch(cards);
    __builtin_prefetch(cards + 4);
  }
  [[nodiscard]] const NodeRecord& record(NodeIndex node) const { return records_[node.at()]; }
  [[nodiscard]] const NodeSpec& spec(NodeIndex node) const { return records_[node.at()].spec; }
  [[nodiscard]] std::span<const PodIndex> pods_on(NodeIndex node) const {
    return records_[node.at()].pods;
  }

  // The row with this name; a new one if none exists.
  NodeIndex add(const std::string& name);
  // Frees the row unless the node is present or has pods.
  void drop_if_empty(NodeIndex node);
  // The node is present with this spec, except for its cards (set_card_count) and rows (refresh).
  void set_spec(NodeIndex node, const NodeSpec& spec);
  // The node is absent now; `rest` replaces its spec. Requires: present.
  void set_gone(NodeIndex node, const NodeSpec& rest);
  // Allocates rows for the node's cards.
  void set_card_count(NodeIndex node, std::size_t count);
  // Brings the rows up to date with the record.
  void refresh(NodeIndex node);
  void remove_pod(NodeIndex node, PodIndex pod);

  // For the ledger's charges and numbers.
  [[nodiscard]] NodeRecord& record(NodeIndex node) { return records_[node.at()]; }
  [[nodiscard]] std::span<NodeRecord> records() { return records_; }
  [[nodiscard]] NodeState& state(NodeIndex node) { return states_[node.at()]; }
  [[nodiscard]] std::span<CardState> cards(NodeIndex node) {
    const auto& s = states_[node.at()];
    return {cards_.data() + s.first_card, s.cards};
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  std::vector<NodeState> states_;
  std::vector<CardState> cards_;
  std::vector<NodeRecord> records_;
  std::vector<std::string> names_;
  std::vector<NodeIndex> free_;
  std::unordered_map<std::string, NodeIndex, Hash, std::equal_to<>> by_name_;  // lookup only
  NodeOrder order_;
  std::size_t present_ = 0;
  std::size_t soft_taints_ = 0;
};

}  // namespace stowage::core
