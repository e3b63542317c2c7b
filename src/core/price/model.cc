#include "core/price/model.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stowage::core {
namespace {

constexpr double kGrid = 100;  // costs are compared in units of 0.01 card
constexpr double kFineGrid =
    1 << 20;  // rounding does not help to choose between the cards of one node
constexpr std::uint64_t kFullnessBits = 20;

inline CardTerms terms_of(const PriceModel& model, const Ledger& ledger, const CardState& card) {
  const std::size_t size_class = card.memory_class;
  if (size_class < model.memory_value.size() && model.memory_value[size_class].two_dimensional()) {
    const auto size = ledger.names().memory().sizes()[size_class];
    // If there are too many sizes, a class may contain other sizes too.
    const std::int64_t parts = size == 0 ? 0 : std::int64_t{card.memory_free_mib} * 1000 / size;
    const auto permille = static_cast<std::int32_t>(std::min<std::int64_t>(parts, 1000));
    const double free = (card.milli_free + permille) / 2000.0;
    return {model.memory_value[size_class].at(card.milli_free, permille), free * free};
  }
  return model.terms[static_cast<std::size_t>(card.milli_free)];
}

// The parts of a node's worth that depend on its cards.
struct Sums {
  double value = 0;
  double squares = 0;
  int free = 0;
};

Sums sum_cards(const PriceModel& model, const Ledger& ledger, const NodeView& node,
               const CardState* cards) {
  Sums sums;
  const std::uint64_t healthy = node.state->healthy;
  sums.free = std::popcount(node.state->whole);
  if (model.memory_value.empty() && std::popcount(healthy) == node.state->cards) {
    const CardTerms* terms = model.terms.data();
    for (std::size_t i = 0; i < node.state->cards; ++i) {
      const CardTerms& t = terms[cards[i].milli_free];
      sums.value += t.value;
      sums.squares += t.square;
    }
    return sums;
  }
  for (std::size_t i = 0; i < node.state->cards; ++i) {
    if (((healthy >> i) & 1U) == 0) continue;
    const CardTerms terms = terms_of(model, ledger, cards[i]);
    sums.value += terms.value;
    sums.squares += terms.square;
  }
  return sums;
}

double weight_of(const PriceModel& model, const NodeView& node) {
  const std::size_t c = node.state->node_class;
  return c < model.weight.size() ? model.weight[c] : 1.0;
}

struct NodeTerms {
  double weight = 1;
  double cpu_before = 0;  // cards that the free CPU could serve
  double cpu_after = 0;
};

NodeTerms node_terms(const PriceModel& model, const Shape& shape, const NodeView& node) {
  constexpr double kPlenty = 1e9;
  const auto serve = [&](std::int64_t cpu, std::int64_t memory) {
    double cards = kPlenty;
    if (model.cards_per_cpu_milli > 0) cards = static_cast<double>(cpu) * model.cards_per_cpu_milli;
    if (model.cards_per_memory_byte > 0) {
      cards = std::min(cards, static_cast<double>(memory) * model.cards_per_memory_byte);
    }
    return cards;
  };
  const NodeState& s = *node.state;
  return {.weight = weight_of(model, node),
          .cpu_before = serve(s.cpu_free_milli, s.memory_free_bytes),
          .cpu_after =
              serve(s.cpu_free_milli - shape.cpu_milli, s.memory_free_bytes - shape.memory_bytes)};
}

double worth_lost(const PriceModel& model, const NodeTerms& node, const Sums& before,
                  const Sums& after) {
  const double used =
      std::min(before.value, node.cpu_before) - std::min(after.value, node.cpu_after);
  const double blocks = (before.free * before.free - after.free * after.free) / 8.0;
  return node.weight * used + model.convex * (before.squares - after.squares) +
         model.blocks * node.weight * blocks;
}

std::uint64_t on_grid(double lost, double grid) {
  constexpr double kMost = 1e12;  // below kMaxCost, with space for the fullness bits
  return static_cast<std::uint64_t>(std::min(kMost, std::max(0.0, std::floor(lost * grid + 0.5))));
}

// Cost on the grid first; then, if fullness counts, the free compute of the node.
std::uint64_t packed_cost(const PriceModel& model, const NodeView& node, double lost) {
  std::uint64_t left = 0;
  for (std::size_t i = 0; model.fullest_first && i < node.state->cards; ++i) {
    left += static_cast<std::uint64_t>(node.cards[i].milli_free);
  }
  return (on_grid(lost, kGrid) << kFullnessBits) |
         std::min(left, (std::uint64_t{1} << kFullnessBits) - 1);
}

// The node's sums after one card changes from `card` to `then`.
Sums with_card(const PriceModel& model, const Ledger& ledger, const Sums& before,
               const CardState& card, const CardState& then, bool was_whole) {
  const CardTerms old_terms = terms_of(model, ledger, card);
  const CardTerms new_terms = terms_of(model, ledger, then);
  return {.value = before.value - old_terms.value + new_terms.value,
          .squares = before.squares - old_terms.square + new_terms.square,
          .free = before.free - (was_whole ? 1 : 0)};
}

// An init container may ask for more than is free if it runs before the pod's own containers.
CardState taken(const Ledger& ledger, const GpuPart& part, CardState card) {
  card.milli_free = std::max(0, card.milli_free - part.milli);
  card.memory_free_mib = std::max(0, card.memory_free_mib - part.memory_of(card, ledger));
  return card;
}

}  // namespace

void PriceModel::prepare() {
  terms.resize(kMilliPerCard + 1);
  for (std::int32_t milli = 0; milli <= kMilliPerCard; ++milli) {
    const double free = milli / 1000.0;
    terms[static_cast<std::size_t>(milli)] = {value.at(milli), free * free};
  }
}

bool PriceModel::same_prices(const PriceModel& other) const {
  return value == other.value && memory_value == other.memory_value &&
         cards_per_cpu_milli == other.cards_per_cpu_milli &&
         cards_per_memory_byte == other.cards_per_memory_byte && weight == other.weight &&
         convex == other.convex && blocks == other.blocks && fullest_first == other.fullest_first;
}

std::uint64_t dual_price_cost(const Trial& t) {
  const PriceModel& model = *t.context->price;
  const Ledger& ledger = *t.context->ledger;
  const NodeTerms terms = node_terms(model, *t.shape, t.node);
  const Sums before = sum_cards(model, ledger, t.node, t.node.cards);
  Sums after = before;
  for_each(t.used, [&](std::size_t card) {
    after = with_card(model, ledger, after, t.node.cards[card], t.after[card],
                      has_card(t.node.state->whole, card));
  });
  return packed_cost(model, t.node, worth_lost(model, terms, before, after));
}

std::int64_t dual_price_card_cost(const CardTrial& t, std::size_t card) {
  const PriceModel& model = *t.context->price;
  const Ledger& ledger = *t.context->ledger;
  const NodeTerms terms = node_terms(model, *t.shape, t.node);
  const Sums before = sum_cards(model, ledger, t.node, t.cards);
  const Sums after =
      with_card(model, ledger, before, t.cards[card], taken(ledger, *t.part, t.cards[card]),
                has_card(t.node.state->whole, card));
  return static_cast<std::int64_t>(on_grid(worth_lost(model, terms, before, after), kFineGrid));
}

PricedPlacement dual_price_place(const JudgeContext& context, const Shape& shape,
                                 const NodeView& node, CardMask fitting) {
  const PriceModel& model = *context.price;
  const Ledger& ledger = *context.ledger;
  const NodeTerms terms = node_terms(model, shape, node);
  const Sums before = sum_cards(model, ledger, node, node.cards);
  if (shape.parts.empty())
    return {0, packed_cost(model, node, worth_lost(model, terms, before, before))};
  const GpuPart& part = shape.parts[0];
  const auto after_taking = [&](const Sums& sums, std::size_t card) {
    return with_card(model, ledger, sums, node.cards[card], taken(ledger, part, node.cards[card]),
                     has_card(node.state->whole, card));
  };
  PricedPlacement best;
  if (part.whole || part.count > 1) {  // all whole cards have the same value
    Sums after = before;
    CardMask rest = fitting;
    for (int i = 0; i < part.count; ++i, rest &= rest - 1) {
      const std::size_t card = lowest(rest);
      best.used |= card_bit(card);
      after = after_taking(after, card);
    }
    best.cost = packed_cost(model, node, worth_lost(model, terms, before, after));
    return best;
  }
  double least = 0;
  const CardState* last = nullptr;
  for (CardMask rest = fitting; rest != 0; rest &= rest - 1) {
    const std::size_t card = lowest(rest);
    if (last != nullptr && *last == node.cards[card]) continue;  // equal to the previous card
    last = &node.cards[card];
    const double lost = worth_lost(model, terms, before, after_taking(before, card));
    if (best.used != 0 && lost >= least) continue;
    best.used = card_bit(card);
    least = lost;
  }
  best.cost = packed_cost(model, node, least);
  return best;
}

}  // namespace stowage::core
