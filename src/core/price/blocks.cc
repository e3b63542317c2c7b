#include "core/price/blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace stowage::core {
namespace {

constexpr std::size_t kMaxGroups = 16;
constexpr double kKeepFrom = 0.3;  // departures per accepted pod from which blocks are kept
constexpr double kDrainFrom = 0.5;
constexpr double kDrainNodes = 0.003;  // most nodes to drain, as a fraction
constexpr double kExemptBelow = 0.85;  // a multi-card pod may break blocks while its own pool is
                                       // below this fraction of its share
constexpr double kLeastCaution = 0.6;
constexpr double kCautionStep = 0.2;
constexpr double kFairness =
    0.01;  // allowed lag of multi-card pods behind the others in acceptance
constexpr double kFade = 0.9995;

}  // namespace

bool Blocks::Group::same_blocks(const Group& other) const {
  return cards == other.cards && classes == other.classes && cpu_milli == other.cpu_milli &&
         memory_bytes == other.memory_bytes;
}

std::uint8_t Blocks::blocks_on(const Group& group, const NodeState& state, std::uint64_t whole,
                               std::int64_t cpu, std::int64_t memory) {
  if (!state.schedulable || !group.takes(state.node_class)) return 0;
  std::int64_t blocks = std::popcount(whole) / group.cards;
  if (group.cpu_milli > 0) blocks = std::min(blocks, cpu / group.cpu_milli);
  if (group.memory_bytes > 0) blocks = std::min(blocks, memory / group.memory_bytes);
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(blocks, 0, 255));
}

void Blocks::make_groups(const Demand& demand, const Ledger& ledger) {
  const auto& kinds = demand.kinds();
  const auto& classes = ledger.classes().all();
  std::vector<Group> groups;
  group_of_kind_.assign(kinds.size(), -1);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].cards < 2) continue;
    Group group{.cards = kinds[i].cards};
    for (const auto& c : classes) group.classes.push_back(fits_empty(kinds[i], c) ? 1 : 0);
    if (std::find(group.classes.begin(), group.classes.end(), 1) == group.classes.end()) continue;
    auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.cards == group.cards && g.classes == group.classes;
    });
    if (same == groups.end()) {
      if (groups.size() == kMaxGroups) continue;
      same = groups.insert(groups.end(), std::move(group));
    }
    same->cpu_milli = std::max(same->cpu_milli, kinds[i].cpu_milli);
    same->memory_bytes = std::max(same->memory_bytes, kinds[i].memory_bytes);
    same->demand += demand.weight(kinds[i]) * kinds[i].gpus;
    same->use += kinds[i].running;
    group_of_kind_[i] = static_cast<std::int32_t>(same - groups.begin());
  }
  // Counts per node are kept for groups that have not changed.
  for (auto& group : groups) {
    const auto old = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Group& g) { return g.same_blocks(group); });
    if (old != groups_.end()) {
      group.free_on = std::move(old->free_on);
      group.free = old->free;
    }
  }
  groups_ = std::move(groups);
}

void Blocks::learn(const Demand& demand, const Ledger& ledger, double departures) {
  catch_up(ledger);
  departures_ = departures;
  make_groups(demand, ledger);
  double seen = 0;
  for (const auto& kind : demand.kinds()) seen += demand.weight(kind) * kind.gpus;
  cards_ = 0;
  for (std::size_t c = 0; c < ledger.classes().all().size(); ++c) {
    cards_ +=
        static_cast<double>(ledger.classes().nodes(c) * ledger.classes().all()[c].models.size());
  }
  std::vector<std::int64_t> own_use;
  own_use.reserve(groups_.size());
  for (const auto& group : groups_) own_use.push_back(group.use);
  for (auto& group : groups_) {
    group.pool.clear();
    group.use = 0;
    double share = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      bool inside = groups_[i].cards == group.cards;
      for (std::size_t c = 0; inside && c < group.classes.size(); ++c) {
        inside = groups_[i].classes[c] == 0 || group.classes[c] != 0;
      }
      if (!inside) continue;
      group.pool.push_back(i);
      group.use += own_use[i];
      share += groups_[i].demand;
    }
    group.fill = seen > 0 ? share / seen * cards_ / group.cards : 0;
  }
  recount(ledger);
  set_quotas();
}

void Blocks::recount(const Ledger& ledger) {
  for (auto& group : groups_) {
    if (group.free_on.size() == ledger.nodes().rows() &&
        layout_ == ledger.nodes().order().version())
      continue;
    group.free_on.assign(ledger.nodes().rows(), 0);
    group.free = 0;
    for (std::size_t n = 0; n < ledger.nodes().rows(); ++n) {
      const NodeState& s = ledger.nodes().state(NodeIndex(n));
      group.free_on[n] = blocks_on(group, s, s.whole, s.cpu_free_milli, s.memory_free_bytes);
      group.free += group.free_on[n];
    }
  }
  drain_.resize(ledger.nodes().rows(), 0);
  drain_group_.resize(ledger.nodes().rows(), 0);
  layout_ = ledger.nodes().order().version();
  seen_changes_ = ledger.changes().count();
  // A drain ends when its node or its group is removed, or when the node has a free block.
  for (std::size_t n = 0; draining_ > 0 && n < drain_.size(); ++n) {
    if (drain_[n] == 0) continue;
    const bool known =
        drain_group_[n] < groups_.size() && groups_[drain_group_[n]].cards == drain_[n];
    const bool wanted = known && ledger.nodes().state(NodeIndex(n)).schedulable &&
                        groups_[drain_group_[n]].free_on[n] == 0;
    if (!wanted) undrain(NodeIndex(n));
  }
}

void Blocks::count_node(const Ledger& ledger, NodeIndex node) {
  const NodeState& s = ledger.nodes().state(node);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    auto& group = groups_[i];
    const auto now = blocks_on(group, s, s.whole, s.cpu_free_milli, s.memory_free_bytes);
    group.free += now - group.free_on[node.at()];
    group.free_on[node.at()] = now;
    const bool done = !s.schedulable || (drain_group_[node.at()] == i && now >= 1);
    if (drain_[node.at()] != 0 && done) undrain(node);
  }
}

void Blocks::catch_up(const Ledger& ledger) {
  if (groups_.empty()) {
    seen_changes_ = ledger.changes().count();
    return;
  }
  const auto changes = ledger.changes().since(seen_changes_);
  if (layout_ != ledger.nodes().order().version() || !changes) {
    layout_ = 0;
    recount(ledger);
    return;
  }
  for (const NodeIndex node : *changes) count_node(ledger, node);
  seen_changes_ = ledger.changes().count();
}

void Blocks::set_quotas() {
  for (auto& group : groups_) {
    const double keep =
        group.fill * std::min(1.0, 2 * caution_) + 3 * caution_ * std::sqrt(group.fill);
    group.quota =
        departures_ >= kKeepFrom ? std::max(0.0, keep - static_cast<double>(group.use)) : 0.0;
  }
}

void Blocks::add_use(std::uint32_t kind, std::int64_t delta) {
  if (kind >= group_of_kind_.size() || group_of_kind_[kind] < 0) return;
  const auto own = static_cast<std::size_t>(group_of_kind_[kind]);
  for (auto& group : groups_) {
    if (std::find(group.pool.begin(), group.pool.end(), own) != group.pool.end()) {
      group.use += delta;
    }
  }
  set_quotas();
}

void Blocks::accepted(std::uint32_t kind, const PodKind& pod) {
  accepted_gpus_ = accepted_gpus_ * kFade + pod.gpus;
  asked_gpus_ = asked_gpus_ * kFade + pod.gpus;
  if (kind >= group_of_kind_.size() || group_of_kind_[kind] < 0) return;
  const double rate = asked_gpus_ > 0 ? accepted_gpus_ / asked_gpus_ : 1;
  caution_ = std::clamp(caution_ + kCautionStep * (rate - kFairness - 1), kLeastCaution, 1.0);
  add_use(kind, 1);
  const auto own = static_cast<std::size_t>(group_of_kind_[kind]);
  const Group& group = groups_[own];
  if (draining_ == 0 || static_cast<double>(group.use + group.free) < group.fill) return;
  for (std::size_t n = 0; n < drain_.size(); ++n) {
    if (drain_[n] != 0 && drain_group_[n] == own) undrain(NodeIndex(n));
  }
}

void Blocks::refused(std::uint32_t kind, const PodKind& pod, const Ledger& ledger) {
  accepted_gpus_ *= kFade;
  asked_gpus_ = asked_gpus_ * kFade + pod.gpus;
  if (kind >= group_of_kind_.size() || group_of_kind_[kind] < 0) return;
  const double rate = asked_gpus_ > 0 ? accepted_gpus_ / asked_gpus_ : 0;
  caution_ = std::clamp(caution_ + kCautionStep * (rate - kFairness), kLeastCaution, 1.0);
  set_quotas();
  drain_for(static_cast<std::size_t>(group_of_kind_[kind]), ledger);
}

void Blocks::departed(std::uint32_t kind) { add_use(kind, -1); }

void Blocks::drain_for(std::size_t index, const Ledger& ledger) {
  const Group& group = groups_[index];
  if (departures_ < kDrainFrom) return;
  if (static_cast<double>(draining_) >= kDrainNodes * static_cast<double>(ledger.nodes().count())) {
    return;
  }
  std::int64_t same = 0;
  for (std::size_t n = 0; n < drain_.size(); ++n) same += drain_[n] == group.cards ? 1 : 0;
  if (static_cast<double>(group.use + group.free + same) >= group.fill) return;
  double least = std::numeric_limits<double>::max();
  NodeIndex best;
  // The ledger may have nodes that catch_up() has not seen yet.
  for (std::size_t n = 0; n < drain_.size(); ++n) {
    const NodeState& s = ledger.nodes().state(NodeIndex(n));
    if (!s.schedulable || drain_[n] != 0 || !group.takes(s.node_class)) continue;
    const auto capacity = static_cast<double>(ledger.classes().all()[s.node_class].cpu_milli);
    const double missing = std::max(0, group.cards - std::popcount(s.whole));
    const auto cpu =
        static_cast<double>(std::max<std::int64_t>(0, group.cpu_milli - s.cpu_free_milli));
    const double work = 10 * missing + 2.0 * group.cards * cpu / std::max(1.0, capacity);
    if (work < least) {
      least = work;
      best = NodeIndex(n);
    }
  }
  if (!best.valid()) return;
  drain_[best.at()] = static_cast<std::uint8_t>(group.cards);
  drain_group_[best.at()] = static_cast<std::uint16_t>(index);
  ++draining_;
}

void Blocks::undrain(NodeIndex node) {
  drain_[node.at()] = 0;
  --draining_;
}

Blocks::Rules Blocks::rules_for(const Shape& shape, std::uint32_t kind) const {
  Rules rules{.quotas = false, .drains = draining_ > 0};
  if (kind < group_of_kind_.size() && group_of_kind_[kind] >= 0) {
    const Group& own = groups_[static_cast<std::size_t>(group_of_kind_[kind])];
    if (static_cast<double>(own.use) <= kExemptBelow * own.fill && own.quota >= 1) return rules;
  }
  rules.quotas = std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    return shape.cards < group.cards && group.active();
  });
  return rules;
}

bool Blocks::touches(NodeIndex node) const {
  if (drain_[node.at()] != 0) return true;
  return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    return group.free_on[node.at()] != 0 && group.active();
  });
}

bool Blocks::allows(const Ledger& ledger, const Shape& shape, NodeIndex node, CardMask used,
                    Rules rules) const {
  if (shape.cards < drain_[node.at()]) return false;
  if (!rules.quotas) return true;
  const NodeState& s = ledger.nodes().state(node);
  return std::all_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    if (shape.cards >= group.cards || !group.active() || group.free_on[node.at()] == 0) return true;
    const auto after = blocks_on(group, s, s.whole & ~used, s.cpu_free_milli - shape.cpu_milli,
                                 s.memory_free_bytes - shape.memory_bytes);
    return after >= group.free_on[node.at()];
  });
}

Blocks::State Blocks::state(const Ledger& ledger) const {
  State state;
  for (const auto& g : groups_) {
    state.groups.push_back({.cards = g.cards,
                            .classes = g.classes,
                            .cpu_milli = g.cpu_milli,
                            .memory_bytes = g.memory_bytes,
                            .fill = g.fill,
                            .use = g.use,
                            .quota = g.quota});
  }
  for (std::size_t n = 0; n < drain_.size(); ++n) {
    if (drain_[n] != 0) state.drains[ledger.nodes().spec(NodeIndex(n)).name] = drain_[n];
  }
  return state;
}

void Blocks::restore(const State& state, std::int32_t group, const Ledger& ledger) {
  groups_.clear();
  for (const auto& g : state.groups) {
    groups_.push_back({.cards = std::max(1, g.cards),
                       .classes = g.classes,
                       .cpu_milli = g.cpu_milli,
                       .memory_bytes = g.memory_bytes,
                       .fill = g.fill,
                       .use = g.use,
                       .quota = g.quota});
  }
  const bool known = group >= 0 && static_cast<std::size_t>(group) < groups_.size();
  group_of_kind_.assign(1, known ? group : -1);
  layout_ = 0;
  recount(ledger);
  for (const auto& [name, cards] : state.drains) {
    const NodeIndex node = ledger.nodes().find(name);
    if (!node.valid()) continue;
    drain_[node.at()] = static_cast<std::uint8_t>(cards);
    ++draining_;
  }
}

}  // namespace stowage::core
