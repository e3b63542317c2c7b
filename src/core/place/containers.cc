#include "core/place/containers.h"

#include <algorithm>
#include <bit>
#include <span>

#include "core/place/card_reason.h"
#include "core/place/topology.h"
#include "core/place/topology_tree.h"
#include "core/policy/cost.h"
#include "core/policy/elastic.h"

namespace stowage::core {
namespace {

constexpr CardMask bit(std::size_t card) { return CardMask{1} << card; }

struct Claim {
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;
  std::int32_t slots = 0;
};

// The claims of the containers placed so far on one card (see footprint.h).
struct CardClaims {
  Claim apps, sidecars, largest_init;

  [[nodiscard]] Claim total() const {
    return {.milli = sidecars.milli + std::max(apps.milli, largest_init.milli),
            .memory_mib = sidecars.memory_mib + std::max(apps.memory_mib, largest_init.memory_mib),
            .slots = sidecars.slots + std::max(apps.slots, largest_init.slots)};
  }
};

// Cards that the container accepts: healthy, of the right model and id.
CardMask accepted_cards(const Ledger& ledger, const GpuPart& part, const NodeView& node) {
  CardMask mask = 0;
  for (std::size_t i = 0; i < node.state->cards; ++i) {
    if (part.model_ok[node.cards[i].model] == 0) continue;
    if (part.ids.constrain() && !part.ids.accept(ledger.nodes().spec(node.index).cards[i].id)) {
      continue;
    }
    mask |= bit(i);
  }
  return mask & node.state->healthy;
}

// Places the containers of one pod on one node, step by step, with undo.
class Search {
 public:
  Search(const JudgeContext& context, const Shape& shape, const NodeView& node)
      : context_(context), shape_(shape), node_(node), parts_(shape.parts.size(), 0) {
    std::copy_n(node.cards, node.state->cards, now_.begin());
    accepted_.reserve(shape.parts.size());
    for (const auto& p : shape.parts) accepted_.push_back(accepted_cards(*context.ledger, p, node));
    order_parts();
  }

  [[nodiscard]] bool greedy() {
    for (const std::size_t i : order_) {
      const auto choice = choose(i, candidates(i));
      if (!choice) return false;
      put(i, *choice);
    }
    return true;
  }

  void clear() {
    while (!undo_.empty()) take_back();
  }

  // Depth-first search over the parts; each part tries every set of cards, preferred ones first.
  [[nodiscard]] bool exhaustive() {
    SearchSteps* left = context_.search;
    if (left != nullptr) limit_ = std::clamp(left->left, 0, limit_);
    const bool found = exhaustive(0);
    if (left == nullptr) return found;
    left->left -= std::min(steps_, limit_);
    left->cut = !found && limit_ < kSearchLimit && steps_ > limit_;
    return found;
  }
  [[nodiscard]] bool exhaustive(std::size_t depth) {
    if (depth == order_.size()) return true;
    const std::size_t i = order_[depth];
    return subsets(depth, candidates(i), 0, 0);
  }

  // True if the accepted cards can hold the sum of all requests. If not, no assignment exists.
  [[nodiscard]] bool enough_in_all() const {
    std::int64_t milli = 0;  // requested minus free
    std::int64_t slots = 0;
    CardMask cards = 0;
    for (std::size_t i = 0; i < shape_.parts.size(); ++i) {
      const GpuPart& part = shape_.parts[i];
      cards |= part.whole ? accepted_[i] & node_.state->whole : accepted_[i];
      if (part.phase == Phase::init) continue;  // it reuses cards of the other containers
      milli += std::int64_t{part.milli} * part.count;
      slots += part.count;
    }
    for_each(cards, [&](std::size_t card) {
      milli -= std::max(node_.cards[card].milli_free, 0);
      slots -= std::max(node_.cards[card].slots_free, 0);
    });
    return milli <= 0 && slots <= 0;
  }

  // Cards that fit part `i` now, preferred ones first.
  [[nodiscard]] std::vector<std::uint8_t> candidates(std::size_t i) const {
    const GpuPart& part = shape_.parts[i];
    const CardTrial trial{
        .context = &context_, .shape = &shape_, .part = &part, .node = node_, .cards = now_.data()};
    struct Scored {
      bool extends;  // takes more of the card than the pod has already claimed
      std::int64_t cost;
      int tie;
      std::uint8_t card;
    };
    std::vector<Scored> scored;
    const bool last_first = last_card_first(*context_.options);
    for (CardMask rest = accepted_[i]; rest != 0; rest &= rest - 1) {
      const auto card = static_cast<std::size_t>(std::countr_zero(rest));
      const auto grown = with(part, card);
      if (!holds(part, card, grown)) continue;
      const Claim before = claims_[card].total();
      const Claim after = grown.total();
      const bool extends = part.phase != Phase::init || after.milli > before.milli ||
                           after.memory_mib > before.memory_mib || after.slots > before.slots;
      const int tie = static_cast<int>(card);
      scored.push_back({extends, card_cost(trial, card), last_first ? -tie : tie,
                        static_cast<std::uint8_t>(card)});
    }
    std::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
      if (a.extends != b.extends) return !a.extends;
      return a.cost != b.cost ? a.cost < b.cost : a.tie < b.tie;
    });
    std::vector<std::uint8_t> cards;
    cards.reserve(scored.size());
    for (const auto& s : scored) cards.push_back(s.card);
    return cards;
  }

  [[nodiscard]] std::optional<CardMask> choose(std::size_t i,
                                               const std::vector<std::uint8_t>& cards) const {
    const GpuPart& part = shape_.parts[i];
    const auto count = static_cast<std::size_t>(part.count);
    if (cards.size() < count) return std::nullopt;
    if (part.topology != Topology::none) return by_topology(part, cards);
    if (context_.options->choice.card == CardPolicy::fragment && part.whole) {
      CardMask free = 0;
      for (const auto card : cards) free |= bit(card);
      const auto& links = context_.ledger->nodes().spec(node_.index).links;
      const auto chosen =
          count == 1 ? choose_fragment(links, free, 1) : choose_linked_tree(links, free, count);
      if (chosen) return chosen;
    }
    CardMask mask = 0;
    for (std::size_t k = 0; k < count; ++k) mask |= bit(cards[k]);
    return mask;
  }

  [[nodiscard]] PlacedContainers result() const {
    PlacedContainers placed;
    placed.parts = parts_;
    for (const CardMask mask : parts_) placed.used |= mask;
    placed.after = now_;
    return placed;
  }

  [[nodiscard]] std::int32_t cards_placed() const {
    std::int32_t n = 0;
    for (const CardMask mask : parts_) n += std::popcount(mask);
    return n;
  }

 private:
  struct Undo {
    std::size_t part;
    std::vector<std::pair<std::size_t, CardClaims>> claims;
  };

  void order_parts() {
    order_.resize(shape_.parts.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    const auto policy = context_.options->choice.card;
    const bool largest_first = policy == CardPolicy::binpack || policy == CardPolicy::spread;
    if (largest_first) std::reverse(order_.begin(), order_.end());
    const auto& parts = shape_.parts;
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      const bool init_a = parts[a].phase == Phase::init;
      const bool init_b = parts[b].phase == Phase::init;
      if (init_a != init_b) return init_b;  // init containers reuse cards of the app containers
      if (!largest_first) return false;
      if (parts[a].milli != parts[b].milli) return parts[a].milli > parts[b].milli;
      return parts[a].memory_mib > parts[b].memory_mib;
    });
  }

  [[nodiscard]] std::int32_t memory_of(std::size_t card) const {
    return context_.ledger->nodes().spec(node_.index).cards[card].memory_mib;
  }

  [[nodiscard]] CardClaims with(const GpuPart& part, std::size_t card) const {
    CardClaims claims = claims_[card];
    const Claim claim{
        .milli = part.milli, .memory_mib = part.memory_of(memory_of(card)), .slots = 1};
    const auto add = [&claim](Claim& to) {
      to.milli += claim.milli;
      to.memory_mib += claim.memory_mib;
      to.slots += claim.slots;
    };
    switch (part.phase) {
      case Phase::app: add(claims.apps); break;
      case Phase::sidecar: add(claims.sidecars); break;
      case Phase::init: {
        Claim& most = claims.largest_init;
        most = {.milli = std::max(most.milli, claim.milli),
                .memory_mib = std::max(most.memory_mib, claim.memory_mib),
                .slots = std::max(most.slots, claim.slots)};
        break;
      }
    }
    return claims;
  }

  [[nodiscard]] bool holds(const GpuPart& part, std::size_t card, const CardClaims& claims) const {
    const CardState& free = node_.cards[card];
    const Claim total = claims.total();
    if (part.whole && (node_.state->whole & bit(card)) == 0) return false;
    if (part.whole && memory_of(card) < part.memory_mib) return false;
    return total.milli <= free.milli_free && total.memory_mib <= free.memory_free_mib &&
           total.slots <= free.slots_free;
  }

  void put(std::size_t i, CardMask cards) {
    Undo undo{.part = i, .claims = {}};
    for (CardMask rest = cards; rest != 0; rest &= rest - 1) {
      const auto card = static_cast<std::size_t>(std::countr_zero(rest));
      undo.claims.emplace_back(card, claims_[card]);
      claims_[card] = with(shape_.parts[i], card);
      refresh(card);
    }
    parts_[i] = cards;
    undo_.push_back(std::move(undo));
  }

  void take_back() {
    const Undo& undo = undo_.back();
    for (const auto& [card, claims] : undo.claims) {
      claims_[card] = claims;
      refresh(card);
    }
    parts_[undo.part] = 0;
    undo_.pop_back();
  }

  void refresh(std::size_t card) {
    const Claim total = claims_[card].total();
    now_[card].milli_free = node_.cards[card].milli_free - total.milli;
    now_[card].memory_free_mib = node_.cards[card].memory_free_mib - total.memory_mib;
    if (node_.cards[card].slots_free != kNoSlotLimit) {
      now_[card].slots_free = node_.cards[card].slots_free - total.slots;
    }
  }

  [[nodiscard]] std::optional<CardMask> by_topology(const GpuPart& part,
                                                    std::span<const std::uint8_t> cards) const {
    const NodeSpec& spec = context_.ledger->nodes().spec(node_.index);
    std::vector<std::int32_t> numa;
    numa.reserve(spec.cards.size());
    for (const auto& card : spec.cards) numa.push_back(card.numa);
    const auto count = static_cast<std::size_t>(part.count);
    std::optional<CardChoice> choice;
    if (part.topology == Topology::link || part.topology == Topology::link_strict) {
      choice =
          choose_by_link(spec.links, numa, cards, count, part.topology == Topology::link_strict);
    } else {
      choice = choose_by_numa(numa, cards, count, part.topology == Topology::numa_strict,
                              wanted_numa(part, numa, cards));
    }
    if (!choice) return std::nullopt;
    return choice->cards;
  }

  // For binpack and spread: the NUMA nodes ordered by the mean over their cards. Other policies go
  // by the best card of each NUMA node.
  [[nodiscard]] std::vector<std::int32_t> wanted_numa(const GpuPart& part,
                                                      std::span<const std::int32_t> numa,
                                                      std::span<const std::uint8_t> cards) const {
    const auto policy = context_.options->choice.card;
    if (policy != CardPolicy::binpack && policy != CardPolicy::spread) return {};
    const CardTrial trial{
        .context = &context_, .shape = &shape_, .part = &part, .node = node_, .cards = now_.data()};
    const bool pack = policy == CardPolicy::binpack;
    std::array<std::int32_t, kMaxCardsPerNode> usage{};
    CardMask mask = 0;
    for (const auto card : cards) {
      const auto cost = static_cast<std::int32_t>(card_cost(trial, card));
      usage[card] = pack ? -cost : cost;
      mask |= bit(card);
    }
    return numa_order(numa, usage, mask, pack ? NumaPreference::fullest : NumaPreference::emptiest);
  }

  bool subsets(std::size_t depth, const std::vector<std::uint8_t>& cards, std::size_t from,
               CardMask chosen) {
    if (++steps_ > limit_) return false;
    const std::size_t i = order_[depth];
    const GpuPart& part = shape_.parts[i];
    const auto missing = part.count - std::popcount(chosen);
    if (missing == 0) {
      if (part.topology != Topology::none) {
        std::vector<std::uint8_t> exactly;
        for (const auto card : cards) {
          if ((chosen & bit(card)) != 0) exactly.push_back(card);
        }
        if (!by_topology(part, exactly)) return false;
      }
      put(i, chosen);
      if (exhaustive(depth + 1)) return true;
      take_back();
      return false;
    }
    for (std::size_t k = from; k + static_cast<std::size_t>(missing) <= cards.size(); ++k) {
      if (subsets(depth, cards, k + 1, chosen | bit(cards[k]))) return true;
    }
    return false;
  }

  const JudgeContext& context_;
  const Shape& shape_;
  NodeView node_;
  std::vector<CardMask> parts_;
  std::vector<CardMask> accepted_;
  std::vector<std::size_t> order_;
  std::array<CardClaims, kMaxCardsPerNode> claims_{};
  std::array<CardState, kMaxCardsPerNode> now_{};
  std::vector<Undo> undo_;
  int steps_ = 0;
  int limit_ = kSearchLimit;
};

// The greedy pass over the containers, repeated once if it fails, is free up to this many
// containers.
bool pay_for_greedy(const JudgeContext& context, const Shape& shape) {
  constexpr std::size_t kFreeParts = 8;
  SearchSteps* search = context.search;
  if (search == nullptr || shape.parts.size() <= kFreeParts) return true;
  search->cut = search->left <= 0;
  search->left -= 2 * static_cast<int>(shape.parts.size() - kFreeParts);
  return !search->cut;
}

CardMask fitting_whole(const GpuPart& part, const NodeView& node) {
  CardMask mask = 0;
  const std::uint8_t* model_ok = part.model_ok.data();
  for (CardMask rest = node.state->whole; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(rest));
    const bool fits =
        model_ok[node.cards[i].model] != 0 && node.cards[i].memory_free_mib >= part.memory_mib;
    mask |= static_cast<CardMask>(fits) << i;
  }
  return mask;
}

CardMask fitting_share(const GpuPart& part, const NodeView& node) {
  CardMask mask = 0;
  const CardState* cards = node.cards;
  const auto count = node.state->cards;
  const std::uint8_t* model_ok = part.model_ok.data();
  for (std::size_t i = 0; i < count; ++i) {
    const CardState& card = cards[i];
    const bool fits = (card.milli_free >= part.milli) & (card.memory_free_mib >= part.memory_mib) &
                      (card.slots_free >= 1) & (model_ok[card.model] != 0);
    mask |= static_cast<CardMask>(fits) << i;
  }
  return mask & node.state->healthy;
}

// The share's memory depends on that of the card. Not inlined: few shares are of this kind, and the
// others would save registers for it.
[[gnu::noinline]] CardMask fitting_fraction(const Ledger& ledger, const GpuPart& part,
                                            const NodeView& node) {
  const NodeSpec& spec = ledger.nodes().spec(node.index);
  CardMask mask = fitting_share(part, node);
  for_each(mask, [&](std::size_t i) {
    if (node.cards[i].memory_free_mib < part.memory_of(spec.cards[i].memory_mib)) mask &= ~bit(i);
  });
  return mask;
}

}  // namespace

CardMask fitting_cards(const Ledger& ledger, const GpuPart& part, const NodeView& node) {
  if (part.whole) return fitting_whole(part, node);
  return part.memory_with_core ? fitting_fraction(ledger, part, node) : fitting_share(part, node);
}

std::optional<PlacedContainers> place_containers(const JudgeContext& context, const Shape& shape,
                                                 const NodeView& node) {
  if (context.options->choice.card == CardPolicy::elastic_binpack) {
    if (auto placed = place_elastic(context, shape, node)) return placed;
  }
  Search search(context, shape, node);
  const bool alone = shape.parts.size() < 2;
  if (!alone && !search.enough_in_all()) return std::nullopt;
  if (!pay_for_greedy(context, shape)) return std::nullopt;
  if (search.greedy()) return search.result();
  if (alone) return std::nullopt;  // the greedy pass is exact here
  search.clear();
  if (search.exhaustive()) return search.result();
  return std::nullopt;
}

Reason why_cards_do_not_fit(const JudgeContext& context, const Shape& shape, const NodeView& node) {
  if (node.state->cards == 0) return {.code = ReasonCode::no_cards};
  for (const GpuPart& part : shape.parts) {
    Reason reason = why_part_does_not_fit(context, part, node);
    if (reason.code == ReasonCode::none) continue;
    // With several containers, a smaller request of one of them need not help.
    if (reason.code != ReasonCode::cards && shape.parts.size() > 1) reason.only = false;
    return reason;
  }
  Search search(context, shape, node);
  for (std::size_t i = 0; i < shape.parts.size(); ++i) {
    const GpuPart& part = shape.parts[i];
    if (part.topology == Topology::none || search.choose(i, search.candidates(i))) continue;
    const bool link = part.topology == Topology::link || part.topology == Topology::link_strict;
    return {.code = link ? ReasonCode::link : ReasonCode::numa,
            .only = shape.parts.size() == 1,
            .asked = part.count};
  }
  const bool all = search.greedy();
  return {.code = ReasonCode::cards,
          .only = true,
          .asked = shape.cards,
          .found = all ? 0 : std::min<std::int64_t>(search.cards_placed(), shape.cards - 1)};
}

}  // namespace stowage::core
