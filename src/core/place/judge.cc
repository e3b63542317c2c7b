#include "core/place/judge.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/place/containers.h"
#include "core/place/topology.h"
#include "core/policy/cost.h"
#include "core/price/model.h"

namespace stowage::core {
namespace {

struct ResourceCheck {
  int failures = 0;
  Reason first;  // the first failure

  void fail_if(bool fails, ReasonCode code, std::int64_t asked, std::int64_t found) {
    if (!fails) return;
    if (failures++ == 0) first = {.code = code, .only = false, .asked = asked, .found = found};
  }
};

bool resources_fit(const Ledger& ledger, const Shape& shape, const NodeView& node) {
  if (shape.cards_only) return true;
  const NodeState& s = *node.state;
  const bool common = s.pods_free >= 1 && shape.cpu_milli <= s.cpu_free_milli &&
                      shape.memory_bytes <= s.memory_free_bytes &&
                      shape.ephemeral_bytes <= s.ephemeral_free_bytes;
  if (!common || shape.extended.empty()) return common;
  return std::all_of(shape.extended.begin(), shape.extended.end(), [&](const auto& ask) {
    return ask.second <= ledger.nodes().record(node.index).extended_free(ask.first);
  });
}

ResourceCheck check_resources(const Ledger& ledger, const Shape& shape, const NodeView& node) {
  const NodeState& s = *node.state;
  ResourceCheck check;
  if (shape.cards_only) return check;
  check.fail_if(shape.cpu_milli > s.cpu_free_milli, ReasonCode::cpu, shape.cpu_milli,
                s.cpu_free_milli);
  check.fail_if(shape.memory_bytes > s.memory_free_bytes, ReasonCode::memory, shape.memory_bytes,
                s.memory_free_bytes);
  check.fail_if(shape.ephemeral_bytes > s.ephemeral_free_bytes, ReasonCode::ephemeral,
                shape.ephemeral_bytes, s.ephemeral_free_bytes);
  check.fail_if(s.pods_free < 1, ReasonCode::pods, 1, s.pods_free);
  for (const auto& [resource, amount] : shape.extended) {
    const auto free = ledger.nodes().record(node.index).extended_free(resource);
    check.fail_if(amount > free, ReasonCode::extended, amount, free);
  }
  return check;
}

bool quota_allows(const QuotaBounds& bounds, const Labels& labels) {
  const auto has = [&](const std::string& label, const std::vector<std::string>& values) {
    const auto found = labels.find(label);
    return found != labels.end() &&
           std::find(values.begin(), values.end(), found->second) != values.end();
  };
  return has(bounds.model_label, bounds.models) &&
         (bounds.pools.empty() || has(bounds.pool_label, bounds.pools));
}

// Checks the pod's rules about nodes; none if the node satisfies them.
ReasonCode ruled_out_by(const NodeSpec& spec, const NodeRules& rules, const NodeView& node) {
  if (!node.state->schedulable) {
    const Taint cordon{.key = kUnschedulableTaint, .value = ""};
    if (!node.state->present || !tolerates(rules.tolerations, cordon)) {
      return ReasonCode::not_schedulable;
    }
  }
  if (untolerated(rules.tolerations, spec.taints) != nullptr) return ReasonCode::taint;
  if (!selects(rules, spec.name, spec.labels)) return ReasonCode::node_affinity;
  return ReasonCode::none;
}

// Why the node takes no such pod regardless of free capacity; none if it does.
ReasonCode barred_by(const Ledger& ledger, const Shape& shape, const NodeView& node) {
  const NodeSpec& spec = ledger.nodes().spec(node.index);
  if (!shape.cards_only) {
    const ReasonCode ruled_out = ruled_out_by(spec, shape.rules, node);
    if (ruled_out != ReasonCode::none) return ruled_out;
  }
  if (shape.bounds.by_node && !quota_allows(shape.bounds, spec.labels)) return ReasonCode::quota;
  const bool offered = shape.needs == 0 || (shape.needs & node.state->offers) != 0;
  if (!offered) return node.state->cards == 0 ? ReasonCode::no_cards : ReasonCode::not_offered;
  const bool gated = node.state->plugin_missing && node.state->cards > 0 && !shape.parts.empty();
  return gated ? ReasonCode::plugin : ReasonCode::none;
}

// True for nearly all nodes and pods, without reading the node's spec, which is seldom in the CPU
// caches. False: barred_by() decides.
bool clearly_admits(const Shape& shape, const NodeView& node) {
  const bool offered = (shape.needs & node.state->offers) == shape.needs;
  const bool open = node.state->schedulable && !node.state->tainted && !node.state->plugin_missing;
  return open && !shape.selective && offered;
}

bool admits(const Ledger& ledger, const Shape& shape, const NodeView& node) {
  return clearly_admits(shape, node) || barred_by(ledger, shape, node) == ReasonCode::none;
}

// The cold path: the pod does not fit. Returns the reason with its numbers.
Reason why_not(const JudgeContext& context, const Shape& shape, const NodeView& node,
               bool cards_fit) {
  if (!clearly_admits(shape, node)) {
    const ReasonCode barred = barred_by(*context.ledger, shape, node);
    if (barred != ReasonCode::none) return {.code = barred};
  }
  const ResourceCheck resources = check_resources(*context.ledger, shape, node);
  if (cards_fit) {
    Reason reason = resources.first;
    reason.only = resources.failures == 1;
    return reason;
  }
  Reason reason = why_cards_do_not_fit(context, shape, node);
  reason.only = reason.only && resources.failures == 0;
  return reason;
}

// Takes the `count` cheapest of the fitting cards.
CardMask cheapest_cards(const CardTrial& trial, CardMask fitting, int count) {
  if (std::popcount(fitting) == count) return fitting;
  const bool last_first = last_card_first(*trial.context->options);
  struct Candidate {
    std::int64_t cost;
    int card;
  };
  std::array<Candidate, kMaxCardsPerNode> candidates{};
  std::size_t n = 0;
  for (CardMask rest = fitting; rest != 0; rest &= rest - 1) {
    const int card = std::countr_zero(rest);
    candidates[n++] = {card_cost(trial, static_cast<std::size_t>(card)), last_first ? -card : card};
  }
  const auto cheaper = [](const Candidate& a, const Candidate& b) {
    return a.cost != b.cost ? a.cost < b.cost : a.card < b.card;
  };
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(n);
  if (count == 1) {
    const auto best = std::min_element(candidates.begin(), end, cheaper);
    return CardMask{1} << static_cast<unsigned>(std::abs(best->card));
  }
  std::partial_sort(candidates.begin(), candidates.begin() + count, end, cheaper);
  CardMask mask = 0;
  for (int i = 0; i < count; ++i) {
    mask |= CardMask{1} << static_cast<unsigned>(
                std::abs(candidates[static_cast<std::size_t>(i)].card));
  }
  return mask;
}

// One part without card ids or topology, as in nearly every pod. No allocation, O(cards).
CardMask place_simple(const JudgeContext& context, const Shape& shape, const NodeView& node) {
  const GpuPart& part = shape.parts[0];
  const CardMask fitting = fitting_cards(*context.ledger, part, node);
  if (std::popcount(fitting) < part.count) return 0;
  const CardTrial trial{
      .context = &context, .shape = &shape, .part = &part, .node = node, .cards = node.cards};
  return cheapest_cards(trial, fitting, part.count);
}

// Policies that consider all containers, or the links of the cards, together.
bool chooses_jointly(CardPolicy policy) {
  return policy == CardPolicy::elastic_binpack || policy == CardPolicy::fragment;
}

void take(const Ledger& ledger, const GpuPart& part, CardMask cards, CardState* after) {
  for (CardMask rest = cards; rest != 0; rest &= rest - 1) {
    CardState& card = after[std::countr_zero(rest)];
    card.milli_free -= part.milli;
    card.memory_free_mib -= part.memory_of(card, ledger);
    if (card.slots_free != kNoSlotLimit) --card.slots_free;
  }
}

// How far the placement is from the pod's topology request: the worst of its containers.
unsigned shortfall_of(const Trial& trial) {
  const auto& parts = trial.shape->parts;
  const auto wishes = [](const GpuPart& part) { return part.topology != Topology::none; };
  if (std::none_of(parts.begin(), parts.end(), wishes)) return 0;
  const NodeSpec& spec = trial.context->ledger->nodes().spec(trial.node.index);
  std::vector<std::int32_t> numa;
  numa.reserve(spec.cards.size());
  for (const auto& card : spec.cards) numa.push_back(card.numa);
  unsigned worst = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Topology wish = parts[i].topology;
    if (wish == Topology::none) continue;
    const bool by_link = wish == Topology::link || wish == Topology::link_strict;
    worst = std::max(worst, by_link ? link_shortfall(spec.links, numa, trial.parts[i])
                                    : numa_shortfall(numa, trial.parts[i]));
  }
  return worst;
}

// Nodes that meet the topology request of a pod rank before others, whatever their policy cost.
std::uint64_t cost_of(const Trial& trial) {
  constexpr std::uint64_t kPerStep = kMaxCost / 16;  // more than any policy's cost
  const std::uint64_t cost = node_cost(trial);
  if (trial.shape->simple) return cost;
  return std::min(cost, kPerStep - 1) + shortfall_of(trial) * kPerStep;
}

// Simple shapes under dual-price: the hot path.
Verdict judge_priced(const JudgeContext& context, const Shape& shape, const NodeView& node,
                     Placement* placement) {
  CardMask fitting = 0;
  bool cards_fit = true;
  if (!shape.parts.empty()) {
    fitting = fitting_cards(*context.ledger, shape.parts[0], node);
    cards_fit = std::popcount(fitting) >= shape.parts[0].count;
  }
  if (!cards_fit || !resources_fit(*context.ledger, shape, node) ||
      !admits(*context.ledger, shape, node)) {
    return {.reason = why_not(context, shape, node, cards_fit)};
  }
  const PricedPlacement placed = dual_price_place(context, shape, node, fitting);
  if (placement != nullptr) placement->parts.assign(shape.parts.empty() ? 0 : 1, placed.used);
  return {.reason = {}, .cost = placed.cost};
}

Verdict judge_view(const JudgeContext& context, const Shape& shape, const NodeView& node,
                   Placement* placement) {
  const Ledger& ledger = *context.ledger;
  const PolicyChoice& choice = context.options->choice;
  if (shape.simple && choice.node == NodePolicy::dual_price &&
      choice.card == CardPolicy::dual_price) {
    return judge_priced(context, shape, node, placement);
  }
  const std::size_t cards = node.state->cards;
  std::array<CardState, kMaxCardsPerNode> after;  // NOLINT: only the first `cards` are used
  Trial trial{.context = &context, .shape = &shape, .node = node, .after = node.cards, .used = 0};
  std::optional<PlacedContainers> found;
  trial.parts = &trial.used;
  bool cards_fit = true;
  const bool possible = resources_fit(ledger, shape, node) && admits(ledger, shape, node);
  if (!shape.parts.empty()) {
    std::copy_n(node.cards, cards, after.begin());
    trial.after = after.data();
    if (shape.simple && !chooses_jointly(context.options->choice.card)) {
      trial.used = place_simple(context, shape, node);
      cards_fit = trial.used != 0;
      if (cards_fit) take(ledger, shape.parts[0], trial.used, after.data());
      if (cards_fit && placement != nullptr) placement->parts.assign(1, trial.used);
    } else {
      found = place_containers(context, shape, node);
      cards_fit = found.has_value();
      if (cards_fit) {
        trial.used = found->used;
        trial.parts = found->parts.data();
        std::copy_n(found->after.begin(), cards, after.begin());
        if (placement != nullptr) placement->parts = found->parts;
      }
    }
  } else if (placement != nullptr) {
    placement->parts.clear();
  }
  if (possible && !cards_fit && context.search != nullptr && context.search->cut) {
    return {.reason = {.code = ReasonCode::search}};
  }
  if (!possible || !cards_fit) return {.reason = why_not(context, shape, node, cards_fit)};
  return {.reason = {}, .cost = cost_of(trial)};
}

// Judges the node by the number of its cards. Of the idle cards that the pod accepts, as many as
// pods hold with unknown positions count as taken, counted from the last card. The others count as
// free, unless the node is closed to such pods.
Verdict judge_by_number(const JudgeContext& context, const Shape& shape, NodeIndex index,
                        Placement* placement) {
  const Ledger& ledger = *context.ledger;
  NodeState state = ledger.nodes().state(index);
  std::array<CardState, kMaxCardsPerNode> cards{};
  std::copy_n(ledger.nodes().cards(index).data(), state.cards, cards.begin());
  const ByNumber free = ledger.nodes().record(index).by_number();
  const auto accepted = [&](std::size_t card) {
    return std::any_of(shape.parts.begin(), shape.parts.end(),
                       [&](const GpuPart& part) { return part.model_ok[cards[card].model] != 0; });
  };
  CardMask whole = free.idle;
  std::int64_t taken = free.closed ? state.cards : free.unnamed;
  for (std::size_t c = state.cards; c-- > 0 && taken > 0;) {
    if ((whole >> c & 1U) == 0 || !accepted(c)) continue;
    whole &= ~(CardMask{1} << c);
    --taken;
  }
  const auto& specs = ledger.nodes().spec(index).cards;
  for (std::size_t c = 0; c < state.cards; ++c) {
    const bool is_free = (whole >> c & 1U) != 0;
    cards[c].milli_free = is_free ? kMilliPerCard : 0;
    cards[c].memory_free_mib = is_free ? specs[c].memory_mib : 0;
    cards[c].slots_free = !is_free ? 0 : specs[c].slots == 0 ? kNoSlotLimit : specs[c].slots;
  }
  state.whole = whole;
  return judge_view(context, shape, {.index = index, .state = &state, .cards = cards.data()},
                    placement);
}

}  // namespace

bool placed_by_number(const Ledger& ledger, const Shape& shape, NodeIndex node) {
  if (shape.naming == Naming::always) return false;
  return shape.naming == Naming::never || ledger.nodes().state(node).unnamed;
}

Verdict judge(const JudgeContext& context, const Shape& shape, NodeIndex index,
              Placement* placement) {
  const Ledger& ledger = *context.ledger;
  if (context.search != nullptr) context.search->cut = false;
  if (placed_by_number(ledger, shape, index)) {
    return judge_by_number(context, shape, index, placement);
  }
  return judge_view(context, shape,
                    {.index = index,
                     .state = &ledger.nodes().state(index),
                     .cards = ledger.nodes().cards(index).data()},
                    placement);
}

Assignment to_assignment(const Ledger& ledger, const Shape& shape, NodeIndex node,
                         const Placement& placement, std::size_t containers) {
  Assignment assignment;
  assignment.containers.resize(containers);
  if (placed_by_number(ledger, shape, node)) return assignment;
  for (std::size_t i = 0; i < shape.parts.size(); ++i) {
    const GpuPart& part = shape.parts[i];
    for (CardMask rest = placement.parts[i]; rest != 0; rest &= rest - 1) {
      const auto card = static_cast<std::uint32_t>(std::countr_zero(rest));
      const auto all = ledger.nodes().spec(node).cards[card].memory_mib;
      assignment.containers[part.container].push_back(
          {.card = card, .milli = part.milli, .memory_mib = part.memory_of(all)});
    }
  }
  return assignment;
}

std::int64_t asked_of(const Shape& shape, ReasonCode code) {
  std::int64_t asked = 0;
  const auto most = [&](auto&& of_part) {
    for (const auto& part : shape.parts) asked = std::max<std::int64_t>(asked, of_part(part));
    return asked;
  };
  switch (code) {
    case ReasonCode::cpu: return shape.cpu_milli;
    case ReasonCode::memory: return shape.memory_bytes;
    case ReasonCode::ephemeral: return shape.ephemeral_bytes;
    case ReasonCode::pods: return 1;
    case ReasonCode::extended: return shape.extended.empty() ? 0 : shape.extended.front().second;
    case ReasonCode::cards: return shape.parts.size() == 1 ? shape.parts[0].count : shape.cards;
    case ReasonCode::numa:
    case ReasonCode::link:
    case ReasonCode::held_back: return most([](const GpuPart& p) { return p.count; });
    case ReasonCode::card_milli: return most([](const GpuPart& p) { return p.milli; });
    case ReasonCode::card_memory:
      if (shape.parts.size() == 1) return shape.parts[0].memory_asked();
      return most([](const GpuPart& p) { return p.memory_mib; });
    case ReasonCode::card_slots: return 1;
    default: return 0;
  }
}

}  // namespace stowage::core
