#include "core/policy/elastic.h"

#include <algorithm>
#include <bit>

namespace stowage::core {
namespace {

std::int64_t rating(const CardState* cards, std::size_t count, CardMask single_card_use) {
  std::int64_t most_memory = 0;
  std::int64_t most_core = 0;
  std::int64_t least_memory = std::numeric_limits<std::int32_t>::max();
  std::int64_t least_core = kMilliPerCard;
  for (std::size_t i = 0; i < count; ++i) {
    most_memory = std::max<std::int64_t>(most_memory, cards[i].memory_free_mib);
    least_memory = std::min<std::int64_t>(least_memory, cards[i].memory_free_mib);
    most_core = std::max<std::int64_t>(most_core, cards[i].milli_free / 10);
    least_core = std::min<std::int64_t>(least_core, cards[i].milli_free / 10);
  }
  if (count == 0) return 0;
  const auto range = (most_memory + most_core - least_memory - least_core) / 2;
  return range / (std::popcount(single_card_use) + 1) * 100;
}

// Depth-first search over containers in order and cards ascending.
class ElasticSearch {
 public:
  ElasticSearch(const Shape& shape, const NodeView& node) : shape_(shape), node_(node) {
    std::copy_n(node.cards, node.state->cards, now_.begin());
    parts_.resize(shape.parts.size());
  }

  std::optional<PlacedContainers> run() {
    visit(0, node_.state->whole, 0);
    return std::move(best_);
  }

 private:
  void visit(std::size_t depth, CardMask whole, CardMask single) {
    if (++steps_ > kSearchLimit) return;
    if (depth == shape_.parts.size()) {
      const auto value = rating(now_.data(), node_.state->cards, single);
      if (best_ && value < best_rating_) return;
      best_rating_ = value;
      if (!best_) best_.emplace();  // otherwise reuse the memory of the previous best
      best_->parts = parts_;
      std::copy_n(now_.begin(), node_.state->cards, best_->after.begin());
      best_->used = 0;
      for (const CardMask mask : parts_) best_->used |= mask;
      return;
    }
    const GpuPart& part = shape_.parts[depth];
    if (part.whole || part.count > 1) return take_first(depth, whole, single);
    for (std::size_t card = 0; card < node_.state->cards; ++card) {
      if (!fits(part, card)) continue;
      const CardState before = now_[card];
      use(part, card);
      parts_[depth] = card_bit(card);
      visit(depth + 1, whole & ~card_bit(card), single | card_bit(card));
      now_[card] = before;
    }
  }

  // Whole cards: the first free ones by index.
  void take_first(std::size_t depth, CardMask whole, CardMask single) {
    const GpuPart& part = shape_.parts[depth];
    CardMask chosen = 0;
    for (std::size_t card = 0; card < node_.state->cards; ++card) {
      if (std::popcount(chosen) == part.count) break;
      const bool free = part.whole ? has_card(whole, card) : true;
      if (free && fits(part, card)) chosen |= card_bit(card);
    }
    if (std::popcount(chosen) < part.count) return;
    const auto before = now_;
    for_each(chosen, [&](std::size_t card) { use(part, card); });
    parts_[depth] = chosen;
    visit(depth + 1, whole & ~chosen, part.count == 1 ? single | chosen : single);
    now_ = before;
  }

  [[nodiscard]] bool fits(const GpuPart& part, std::size_t card) const {
    const CardState& c = now_[card];
    return has_card(node_.state->healthy, card) && part.model_ok[c.model] != 0 &&
           c.milli_free >= part.milli && c.memory_free_mib >= part.memory_mib && c.slots_free >= 1;
  }

  void use(const GpuPart& part, std::size_t card) {
    CardState& c = now_[card];
    c.milli_free -= part.milli;
    c.memory_free_mib -= part.whole || part.whole_memory ? c.memory_free_mib : part.memory_mib;
    if (c.slots_free != kNoSlotLimit) --c.slots_free;
  }

  const Shape& shape_;
  NodeView node_;
  std::array<CardState, kMaxCardsPerNode> now_{};
  std::vector<CardMask> parts_;
  std::optional<PlacedContainers> best_;
  std::int64_t best_rating_ = 0;
  int steps_ = 0;
};

}  // namespace

std::optional<PlacedContainers> place_elastic(const JudgeContext& context, const Shape& shape,
                                              const NodeView& node) {
  const bool plain = std::all_of(shape.parts.begin(), shape.parts.end(), [](const GpuPart& part) {
    return part.phase == Phase::app && part.topology == Topology::none && !part.whole_memory &&
           !part.memory_with_core && !part.filter.constrains_ids();
  });
  if (!plain || context.options->choice.card != CardPolicy::elastic_binpack) return std::nullopt;
  return ElasticSearch(shape, node).run();
}

std::int64_t elastic_rating(const Trial& t) {
  CardMask single = 0;
  for (std::size_t i = 0; i < t.shape->parts.size(); ++i) {
    if (t.shape->parts[i].count == 1) single |= t.parts[i];
  }
  return rating(t.after, t.node.state->cards, single);
}

}  // namespace stowage::core
