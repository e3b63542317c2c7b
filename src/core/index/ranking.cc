#include "core/index/ranking.h"

#include <algorithm>

#include "base/check.h"

namespace stowage::core {
namespace {

// Keys: below kMaxCost a cost; kEmpty an empty row; otherwise a reason: bit 63, then code, `only`
// and the number, so that all three can be decoded.
constexpr std::uint64_t kReasonBit = std::uint64_t{1} << 63U;
constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
constexpr unsigned kNumberBits = 56;
constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;
static_assert(kReasonCodes <= 63, "the key of a reason has six bits for its code");

std::uint64_t pack(const Reason& reason) {
  const auto number = static_cast<std::uint64_t>(std::max<std::int64_t>(0, reason.found));
  const std::uint64_t stat = static_cast<std::uint64_t>(reason.code) * 2 + (reason.only ? 1U : 0U);
  return kReasonBit | (stat << kNumberBits) | std::min(number, kNumberMask);
}

bool is_cost(std::uint64_t key) { return (key & kReasonBit) == 0; }
std::size_t stat_of(std::uint64_t key) { return (key & ~kReasonBit) >> kNumberBits; }
std::int64_t number_of(std::uint64_t key) { return static_cast<std::int64_t>(key & kNumberMask); }

}  // namespace

void Ranking::reset(std::size_t rows, std::span<const std::uint32_t> ranks) {
  STOWAGE_CHECK(ranks.size() >= rows);
  ranks_ = ranks;
  keys_.assign(rows, kEmpty);
  const std::size_t blocks = (rows + kLeaves - 1) / kLeaves;
  const Winner nobody{kEmpty, ~0U, ~0U};
  blocks_.assign(blocks, nobody);
  groups_.assign((blocks + kFan - 1) / kFan, nobody);
  feasible_ = 0;
  stats_ = {};
}

void Ranking::set(NodeIndex node, const Verdict& verdict) {
  store(node.at(), verdict.reason.code == ReasonCode::none ? verdict.cost : pack(verdict.reason));
}

bool Ranking::feasible(NodeIndex node) const { return is_cost(keys_[node.at()]); }

Reason Ranking::reason(NodeIndex node) const {
  const std::uint64_t key = keys_[node.at()];
  return {.code = static_cast<ReasonCode>(stat_of(key) / 2),
          .only = stat_of(key) % 2 != 0,
          .asked = 0,
          .found = number_of(key)};
}

void Ranking::clear(NodeIndex node) { store(node.at(), kEmpty); }

void Ranking::assign(const std::function<const Verdict*(NodeIndex)>& verdict) {
  reset(keys_.size(), ranks_);
  for (std::size_t row = 0; row < keys_.size(); ++row) {
    const Verdict* v = verdict(NodeIndex(row));
    if (v == nullptr) continue;
    const std::uint64_t key = v->reason.code == ReasonCode::none ? v->cost : pack(v->reason);
    keys_[row] = key;
    count(key, 1);
    feasible_ += is_cost(key) ? 1U : 0U;
  }
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    blocks_[block] = winner_of_leaves(block);
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const std::size_t begin = group * kFan;
    const std::size_t count = std::min(kFan, blocks_.size() - begin);
    groups_[group] = winner_of(std::span<const Winner>(blocks_).subspan(begin, count));
  }
}

void Ranking::count(std::uint64_t key, std::int64_t delta) {
  if (key == kEmpty || is_cost(key)) return;
  HoleStat& stat = stats_[stat_of(key)];
  const std::int64_t number = number_of(key);
  stat.nodes += delta;
  if (stat.nodes == 0) {
    stat = {};
  } else if (delta > 0 && (stat.nodes == 1 || (number > stat.best && stat.at_best > 0))) {
    stat.best = number;
    stat.at_best = 1;
  } else if (number == stat.best && stat.at_best > 0) {
    stat.at_best += delta;
  }
}

void Ranking::store(std::size_t row, std::uint64_t key) {
  const std::uint64_t old = keys_[row];
  if (old == key) return;
  keys_[row] = key;
  count(old, -1);
  count(key, 1);
  feasible_ += is_cost(key) ? 1U : 0U;
  feasible_ -= is_cost(old) ? 1U : 0U;
  const std::size_t block = row / kLeaves;
  const Winner& best = blocks_[block];
  if (best.row == row && old < key) {
    climb(block, winner_of_leaves(block));
  } else if (is_cost(key) && key <= best.key) {  // ranks are looked up only for ties
    const Winner now{key, ranks_[row], static_cast<std::uint32_t>(row)};
    if (best.row == row || now.beats(best)) climb(block, now);
  }
}

Ranking::Winner Ranking::winner_of_leaves(std::size_t block) const {
  const std::size_t begin = block * kLeaves;
  const std::size_t end = std::min(begin + kLeaves, keys_.size());
  std::uint64_t least = kEmpty;
  for (std::size_t i = begin; i < end; ++i) least = std::min(least, keys_[i]);
  Winner winner{kEmpty, ~0U, ~0U};
  if (!is_cost(least)) return winner;  // only feasible nodes compete
  for (std::size_t i = begin; i < end; ++i) {
    if (keys_[i] != least) continue;
    const Winner candidate{least, ranks_[i], static_cast<std::uint32_t>(i)};
    if (candidate.beats(winner)) winner = candidate;
  }
  return winner;
}

Ranking::Winner Ranking::winner_of(std::span<const Winner> winners) {
  Winner best = winners.front();
  for (const auto& w : winners.subspan(1)) {
    if (w.beats(best)) best = w;
  }
  return best;
}

void Ranking::climb(std::size_t block, const Winner& now) {
  const Winner winner = is_cost(now.key) ? now : Winner{kEmpty, ~0U, ~0U};
  const std::uint32_t old_row = blocks_[block].row;
  blocks_[block] = winner;
  const std::size_t group = block / kFan;
  Winner& top = groups_[group];
  if (winner.beats(top)) {
    top = winner;
  } else if (is_cost(top.key) && top.row == old_row) {
    const std::size_t begin = group * kFan;
    const std::size_t count = std::min(kFan, blocks_.size() - begin);
    top = winner_of(std::span<const Winner>(blocks_).subspan(begin, count));
  }
}

NodeIndex Ranking::best() const {
  if (groups_.empty()) return {};
  const Winner winner = winner_of(groups_);
  return is_cost(winner.key) ? NodeIndex(winner.row) : NodeIndex{};
}

NodeIndex Ranking::best_if(const std::function<bool(NodeIndex)>& allowed) const {
  Winner best{kEmpty, ~0U, ~0U};
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    if (!is_cost(blocks_[block].key) || !blocks_[block].beats(best)) continue;
    const std::size_t end = std::min((block + 1) * kLeaves, keys_.size());
    for (std::size_t i = block * kLeaves; i < end; ++i) {
      const Winner candidate{keys_[i], ranks_[i], static_cast<std::uint32_t>(i)};
      if (!is_cost(candidate.key) || !candidate.beats(best)) continue;
      if (allowed(NodeIndex(i))) best = candidate;
    }
  }
  return is_cost(best.key) ? NodeIndex(best.row) : NodeIndex{};
}

std::vector<NodeIndex> Ranking::at_cost(std::uint64_t cost,
                                        const std::function<bool(NodeIndex)>& allowed) const {
  std::vector<NodeIndex> nodes;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    if (blocks_[block].key > cost) continue;
    const std::size_t end = std::min((block + 1) * kLeaves, keys_.size());
    for (std::size_t i = block * kLeaves; i < end; ++i) {
      if (keys_[i] == cost && (!allowed || allowed(NodeIndex(i)))) nodes.emplace_back(i);
    }
  }
  std::sort(nodes.begin(), nodes.end(),
            [&](NodeIndex a, NodeIndex b) { return ranks_[a.at()] < ranks_[b.at()]; });
  return nodes;
}

NodeIndex Ranking::nth_feasible(std::uint64_t n) const {
  STOWAGE_CHECK(n < feasible_);
  for (std::size_t i = 0;; ++i) {
    if (is_cost(keys_[i]) && n-- == 0) return NodeIndex(i);
  }
}

// Recomputes the largest hole after the node with it has changed. Rare, because the emptiest nodes
// usually have equally large holes.
void Ranking::look_again() {
  std::array<bool, 2 * kReasonCodes> stale{};
  bool any = false;
  for (std::size_t s = 0; s < stats_.size(); ++s) {
    stale[s] = stats_[s].nodes > 0 && stats_[s].at_best == 0;
    any = any || stale[s];
    if (stale[s]) stats_[s].best = 0;
  }
  if (!any) return;
  for (const std::uint64_t key : keys_) {
    if (key == kEmpty || is_cost(key) || !stale[stat_of(key)]) continue;
    HoleStat& stat = stats_[stat_of(key)];
    const std::int64_t number = number_of(key);
    if (stat.at_best == 0 || number > stat.best) {
      stat.best = number;
      stat.at_best = 1;
    } else if (number == stat.best) {
      ++stat.at_best;
    }
  }
}

Refusal Ranking::refusal(const std::function<std::int64_t(ReasonCode)>& asked) {
  look_again();
  Refusal refusal;
  for (std::size_t c = 0; c < kReasonCodes; ++c) {
    const HoleStat& mixed = stats_[2 * c];
    const HoleStat& only = stats_[2 * c + 1];
    if (mixed.nodes + only.nodes == 0) continue;
    const auto code = static_cast<ReasonCode>(c);
    ReasonCount count{.code = code, .nodes = mixed.nodes + only.nodes, .asked = asked(code)};
    count.best = std::max(mixed.nodes > 0 ? mixed.best : 0, only.nodes > 0 ? only.best : 0);
    count.best_only = only.nodes > 0 ? only.best : -1;
    refusal.counts.push_back(count);
    refusal.nodes += count.nodes;
  }
  std::stable_sort(refusal.counts.begin(), refusal.counts.end(),
                   [](const ReasonCount& a, const ReasonCount& b) { return a.nodes > b.nodes; });
  return refusal;
}

}  // namespace stowage::core
