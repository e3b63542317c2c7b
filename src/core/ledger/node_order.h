// The order of nodes with equal cost: each has a rank, either given or by name. Ranks by name leave
// gaps, so that a new node rarely changes the ranks of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/ids.h"

namespace stowage::core {

class NodeOrder {
 public:
  using ByName = std::map<std::string, NodeIndex, std::less<>>;

  [[nodiscard]] const ByName& by_name() const { return by_name_; }
  [[nodiscard]] std::uint32_t rank(NodeIndex node) const { return ranks_[node.at()]; }
  // By index; undefined for unused indexes.
  [[nodiscard]] std::span<const std::uint32_t> ranks() const { return ranks_; }
  // Changes when nodes are added or removed or their ranks change. Rankings must start over then.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  // Ranks the node by its name. Requires: neither name nor node is known.
  void add(const std::string& name, NodeIndex node);
  void remove(const std::string& name);
  // Unset: rank by name. Requires: added.
  void set_rank(const std::string& name, std::optional<std::uint32_t> rank);

 private:
  void rank_by_name(ByName::const_iterator self);
  void relabel();

  ByName by_name_;
  std::vector<std::uint32_t> ranks_;
  std::vector<bool> given_;  // the rank was given
  std::uint64_t version_ = 1;
};

}  // namespace stowage::core
