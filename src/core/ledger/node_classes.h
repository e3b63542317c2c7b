// Numbered kinds of nodes, and the number of nodes of each kind.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/ledger/state.h"
#include "core/model/node.h"

namespace stowage::core {

// Nodes that are alike when empty: the same cards (model, memory), and CPU and memory that are
// equal when rounded down to multiples of half a core and 4 GiB.
struct NodeClass {
  std::vector<std::uint16_t> models;  // per card, sorted
  std::vector<std::int32_t> memory_mib;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  auto operator<=>(const NodeClass&) const = default;
};
// The class of a node; `cards` supplies the numbers of the models.
[[nodiscard]] NodeClass node_class(const NodeSpec& spec, std::span<const CardState> cards);

// A number is given to another class only if its class has no node and all kMost numbers are in
// use.
class NodeClasses {
 public:
  static constexpr std::size_t kMost = 4096;

  // Returns the number of the class, with one more node in it. Beyond kMost classes with nodes, all
  // others share the last number, and the weight of that class is approximate.
  std::uint16_t take(NodeClass key);
  void give_back(std::uint16_t number) { --nodes_[number]; }

  // By number.
  [[nodiscard]] const std::vector<NodeClass>& all() const { return all_; }
  [[nodiscard]] std::size_t nodes(std::size_t number) const { return nodes_[number]; }
  [[nodiscard]] const std::vector<std::size_t>& nodes() const { return nodes_; }

 private:
  std::vector<NodeClass> all_;
  std::map<NodeClass, std::uint16_t> numbers_;
  std::vector<std::size_t> nodes_;
};

}  // namespace stowage::core
