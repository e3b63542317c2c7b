// All nodes as one shape of pod ranks them: the best node at once, and why the others refuse.
//
// One 64-bit key per node row: a cost or a packed reason. Keys are stored in blocks of 16 (two
// cache lines). Each block caches its best key, and so does each group of 64 blocks. Setting a key
// costs O(1) typically and O(16 + 64) at worst; the best key of all is read from the groups. Counts
// of reasons and the largest holes are updated with the keys, so a refusal over 100,000 nodes needs
// no walk either.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/model/ids.h"
#include "core/model/reason.h"
#include "core/place/judge.h"

namespace stowage::core {

class Ranking {
 public:
  // Removes everything and makes `rows` empty rows. `ranks` order equal costs, lowest first; the
  // span must stay valid and unchanged until the next reset.
  void reset(std::size_t rows, std::span<const std::uint32_t> ranks);

  void set(NodeIndex node, const Verdict& verdict);
  void clear(NodeIndex node);  // the row has no node
  // Sets all rows in order; `verdict` returns null for an empty row. Cheaper than set().
  void assign(const std::function<const Verdict*(NodeIndex)>& verdict);
  void soon(NodeIndex node) const {
    __builtin_prefetch(&keys_[node.at()], 1);
    __builtin_prefetch(&blocks_[node.at() / kLeaves], 1);
  }

  // The feasible node with the least cost; invalid if none exists.
  [[nodiscard]] NodeIndex best() const;
  // The same among nodes that `allowed` accepts. Walks only blocks that could contain a better one.
  [[nodiscard]] NodeIndex best_if(const std::function<bool(NodeIndex)>& allowed) const;
  // All feasible nodes of this cost that `allowed` accepts (empty: all), by rank.
  [[nodiscard]] std::vector<NodeIndex> at_cost(std::uint64_t cost,
                                               const std::function<bool(NodeIndex)>& allowed) const;
  // The n-th feasible node in row order. Requires n < feasible(). O(rows).
  [[nodiscard]] NodeIndex nth_feasible(std::uint64_t n) const;
  [[nodiscard]] std::uint64_t feasible() const { return feasible_; }
  // One node. cost() requires that it is feasible; reason() requires that it is a node and not
  // feasible. The reason is complete except for `asked`.
  [[nodiscard]] bool feasible(NodeIndex node) const;
  [[nodiscard]] std::uint64_t cost(NodeIndex node) const { return keys_[node.at()]; }
  [[nodiscard]] Reason reason(NodeIndex node) const;

  // Counts of reasons over all nodes, ordered as in Refusal. Requires `asked` per code.
  [[nodiscard]] Refusal refusal(const std::function<std::int64_t(ReasonCode)>& asked);

  [[nodiscard]] std::size_t rows() const { return keys_.size(); }

 private:
  static constexpr std::size_t kLeaves = 16;  // keys in a block
  static constexpr std::size_t kFan = 64;     // blocks in a group
  struct Winner {
    std::uint64_t key;
    std::uint32_t rank;
    std::uint32_t row;
    [[nodiscard]] bool beats(const Winner& other) const {
      return key != other.key ? key < other.key : rank < other.rank;
    }
  };
  struct HoleStat {  // of one code, kept apart for nodes with no other reason
    std::int64_t nodes = 0;
    std::int64_t best = 0;
    std::int64_t at_best = 0;  // nodes with the largest hole; 0 with nodes > 0: recompute
  };

  void store(std::size_t row, std::uint64_t key);
  void count(std::uint64_t key, std::int64_t delta);
  void look_again();
  [[nodiscard]] Winner winner_of_leaves(std::size_t block) const;
  static Winner winner_of(std::span<const Winner> winners);
  void climb(std::size_t row, const Winner& now);

  std::vector<std::uint64_t> keys_;
  std::span<const std::uint32_t> ranks_;
  std::vector<Winner> blocks_;  // per kLeaves keys
  std::vector<Winner> groups_;  // per kFan blocks
  std::uint64_t feasible_ = 0;
  std::array<HoleStat, 2 * kReasonCodes> stats_{};
};

}  // namespace stowage::core
