#include "core/policy/cost.h"

#include <algorithm>
#include <bit>

#include "core/policy/elastic.h"
#include "core/policy/fgd.h"
#include "core/policy/published.h"
#include "core/policy/weights.h"
#include "core/price/model.h"

namespace stowage::core {
namespace {

// Scores of policies with "higher is better" are at most this.
constexpr std::int64_t kScoreTop = std::int64_t{1} << 50U;

std::uint64_t cost_of_score(std::int64_t score) {
  return static_cast<std::uint64_t>(kScoreTop - std::clamp(score, -kScoreTop, kScoreTop));
}

struct Free {
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
};

Free free_on(const CardState* cards, std::size_t count) {
  Free sum;
  for (std::size_t i = 0; i < count; ++i) {
    sum.milli += cards[i].milli_free;
    sum.memory_mib += cards[i].memory_free_mib;
  }
  return sum;
}

std::int64_t memory_in_use(const Trial& t) {
  std::int64_t used = 0;
  const auto& sizes = t.context->ledger->names().memory().sizes();
  for (std::size_t i = 0; i < t.node.state->cards; ++i) {
    used += sizes[t.node.cards[i].memory_class] - t.node.cards[i].memory_free_mib;
  }
  return used;
}

bool asks_memory_only(const Shape& shape) {
  return !shape.parts.empty() &&
         std::all_of(shape.parts.begin(), shape.parts.end(),
                     [](const auto& p) { return p.milli == 0 && p.memory_mib > 0; });
}

// Fullest node first. Pods that request only memory go by memory in use (as Alnair intends), others
// by the share of compute in use in whole percent, minus one per card (as nano-gpu does).
std::uint64_t binpack_cost(const Trial& t) {
  if (t.context->options->profile_weights) return cost_of_score(weighted_binpack(t));
  if (asks_memory_only(*t.shape)) return cost_of_score(memory_in_use(t));
  const std::int64_t cards = t.node.state->cards;
  if (cards == 0) return cost_of_score(0);
  const auto free = free_on(t.node.cards, t.node.state->cards).milli;
  return cost_of_score((cards * kMilliPerCard - free) * 100 / (cards * kMilliPerCard) - cards);
}

std::uint64_t spread_cost(const Trial& t) {
  if (t.context->options->profile_weights) return cost_of_score(weighted_spread(t));
  if (asks_memory_only(*t.shape)) return cost_of_score(-memory_in_use(t));
  const std::int64_t cards = t.node.state->cards;
  const auto free_percent = free_on(t.node.cards, t.node.state->cards).milli / 10;
  return cost_of_score(std::int64_t{100} * std::popcount(t.node.state->whole) + free_percent / 10 -
                       cards);
}

std::uint64_t tightest_cost(const Trial& t) {
  const Free free = free_on(t.node.cards, t.node.state->cards);
  constexpr std::int64_t kMemoryBits = 40;
  const auto memory = std::min(free.memory_mib, (std::int64_t{1} << kMemoryBits) - 1);
  return (static_cast<std::uint64_t>(free.milli) << kMemoryBits) |
         static_cast<std::uint64_t>(memory);
}

// Ranks by cards in use; a pod without cards goes where it wastes no cards.
std::uint64_t most_used_cost(const Trial& t) {
  const int used = std::popcount(t.node.state->healthy & ~t.node.state->whole);
  if (t.shape->parts.empty()) return cost_of_score(-t.node.state->cards);
  return cost_of_score(used);
}

std::uint64_t most_free_cost(const Trial& t) {
  std::int64_t free = 0;
  for (CardMask rest = t.node.state->whole; rest != 0; rest &= rest - 1) {
    const auto& card = t.node.cards[std::countr_zero(rest)];
    free += t.shape->parts.empty() || t.shape->parts[0].model_ok[card.model] != 0 ? 1 : 0;
  }
  return cost_of_score(free);
}

// The free part of the card in the dimensions that the container requests, in permille.
std::int64_t left_of(const CardTrial& t, std::size_t card) {
  const CardState& c = t.cards[card];
  if (t.context->options->profile_weights) return weighted_card(t, card);
  if (t.part->memory_mib == 0) return c.milli_free;
  if (t.part->milli == 0) return c.memory_free_mib;
  const auto size = t.context->ledger->names().memory().sizes()[c.memory_class];
  return c.milli_free + (size == 0 ? 0 : std::int64_t{c.memory_free_mib} * kMilliPerCard / size);
}

struct Busy {
  std::int64_t milli = 0;
  bool known = false;  // measured
};

// Without a measurement, a card counts as busy as its allocation.
Busy busy_of(const JudgeContext& context, const NodeView& node, const CardState* cards,
             std::size_t card) {
  const auto& measured = context.ledger->nodes().record(node.index).busy;
  if (card < measured.size() && measured[card] != kNoLoad) {
    return {.milli = std::min<std::int64_t>(measured[card], kMilliPerCard), .known = true};
  }
  return {.milli = kMilliPerCard - cards[card].milli_free};
}

// Ranks by the load of the pod's cards, then by that of the whole node, then prefers measured
// loads. A pod without cards goes where it wastes no cards.
std::uint64_t load_cost(const Trial& t) {
  const std::int64_t cards = t.node.state->cards;
  if (t.shape->parts.empty()) return cost_of_score(-cards);
  std::int64_t used = 0;
  std::int64_t all = 0;
  std::int64_t unknown = 0;
  for (std::size_t i = 0; i < t.node.state->cards; ++i) {
    const Busy busy = busy_of(*t.context, t.node, t.node.cards, i);
    all += busy.milli;
    if ((t.used >> i & 1U) == 0) continue;
    used += busy.milli;
    unknown += busy.known ? 0 : 1;
  }
  const std::int64_t count = std::max(1, std::popcount(t.used));
  constexpr std::int64_t kMilliRange = 1024;
  const std::int64_t busy = used / count * kMilliRange + all / std::max<std::int64_t>(1, cards);
  return static_cast<std::uint64_t>(busy * static_cast<std::int64_t>(kMaxCardsPerNode + 1) +
                                    unknown);
}

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

}  // namespace

std::uint64_t node_cost(const Trial& t) {
  switch (t.context->options->choice.node) {
    case NodePolicy::first: return 0;
    case NodePolicy::binpack: return binpack_cost(t);
    case NodePolicy::spread: return spread_cost(t);
    case NodePolicy::random: return 0;  // the index draws among feasible nodes
    case NodePolicy::tightest: return tightest_cost(t);
    case NodePolicy::most_used: return most_used_cost(t);
    case NodePolicy::most_free: return most_free_cost(t);
    case NodePolicy::elastic_binpack: return cost_of_score(elastic_rating(t));
    case NodePolicy::best_fit: return cost_of_score(best_fit_score(t));
    case NodePolicy::dot_product: return cost_of_score(dot_product_score(t));
    case NodePolicy::gpu_packing: return cost_of_score(gpu_packing_score(t));
    case NodePolicy::gpu_clustering: return cost_of_score(gpu_clustering_score(t));
    case NodePolicy::fgd: return cost_of_score(fgd_score(t));
    case NodePolicy::dual_price: return dual_price_cost(t);
    case NodePolicy::load: return load_cost(t);
  }
  return 0;
}

std::int64_t card_cost(const CardTrial& t, std::size_t card) {
  const CardState& c = t.cards[card];
  switch (t.context->options->choice.card) {
    case CardPolicy::first: return 0;
    case CardPolicy::binpack: return left_of(t, card);
    case CardPolicy::spread: return -left_of(t, card);
    case CardPolicy::random:
      return static_cast<std::int64_t>(mix(t.context->draw + (card + 1) * 0x9E3779B97F4A7C15ULL) >>
                                       1U);
    case CardPolicy::tightest:
      return (static_cast<std::int64_t>(c.milli_free) << 32U) + c.memory_free_mib;
    case CardPolicy::elastic_binpack: return 0;
    case CardPolicy::best_fit: return t.part->milli == 0 ? c.memory_free_mib : c.milli_free;
    case CardPolicy::fgd: return -fgd_card_score(t, card);
    case CardPolicy::dual_price: return dual_price_card_cost(t, card);
    case CardPolicy::fragment:
      return (static_cast<std::int64_t>(c.milli_free) << 32U) + c.memory_free_mib;
    case CardPolicy::load: {
      const Busy busy = busy_of(*t.context, t.node, t.cards, card);
      return 2 * busy.milli + (busy.known ? 0 : 1);
    }
  }
  return 0;
}

// As nano-gpu does. vgpu-manager, the source of these weights, takes the lowest index.
bool last_card_first(const PolicyOptions& options) {
  return options.choice.card == CardPolicy::spread && !options.profile_weights;
}

}  // namespace stowage::core
