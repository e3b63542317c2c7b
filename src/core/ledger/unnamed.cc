// Charges on cards with unknown positions: the cards were never named, or were named and are no
// longer reported. Also moves charges when the cards of a node change.
#include <algorithm>
#include <map>
#include <utility>

#include "core/ledger/ledger.h"
#include "core/model/counted.h"

namespace stowage::core {
namespace {

struct ByPhase {
  std::int32_t apps = 0;
  std::int32_t sidecars = 0;
  std::int32_t largest_init = 0;

  void add(Phase phase, std::int32_t amount) {
    switch (phase) {
      case Phase::app: apps += amount; break;
      case Phase::sidecar: sidecars += amount; break;
      case Phase::init: largest_init = std::max(largest_init, amount); break;
    }
  }
  [[nodiscard]] std::int32_t total() const { return sidecars + std::max(apps, largest_init); }
};

// Positions of a node's cards by id. A counted card ("node/index") never matches a card with an id
// of its own, nor the reverse: indexes may have changed while the ids were not reported.
class CardFinder {
 public:
  explicit CardFinder(const NodeSpec& node) {
    for (std::size_t i = 0; i < node.cards.size(); ++i) {
      by_id_[node.cards[i].id] = static_cast<std::uint32_t>(i);
    }
  }

  [[nodiscard]] std::optional<std::uint32_t> find(const std::string& id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<std::string_view, std::uint32_t> by_id_;
};

void set_aside(LostCharge lost, std::vector<LostCharge>& orphans) {
  lost.charge.card = 0;
  const auto at =
      std::upper_bound(orphans.begin(), orphans.end(), lost,
                       [](const LostCharge& a, const LostCharge& b) { return a.id < b.id; });
  orphans.insert(at, std::move(lost));
}

// Moves the charges of a pod to the new positions of its cards, and sets aside those whose cards
// are not reported.
void follow_cards(PodRecord& record, const std::vector<Card>& were, const CardFinder& positions) {
  std::vector<LostCharge> all = std::exchange(record.orphans, {});
  for (const auto& charge : record.charges) {
    const Card& card = were[charge.card];
    all.push_back({.id = card.id,
                   .seen = true,
                   .model = card.model,
                   .memory_mib = card.memory_mib,
                   .charge = charge});
  }
  record.charges.clear();
  for (LostCharge& lost : all) {
    if (const auto at = positions.find(lost.id)) {
      lost.charge.card = *at;
      record.charges.push_back(lost.charge);
    } else {
      set_aside(std::move(lost), record.orphans);
    }
  }
  std::sort(record.charges.begin(), record.charges.end(),
            [](const CardCharge& a, const CardCharge& b) { return a.card < b.card; });
}

}  // namespace

SeenCards seen_cards(const std::vector<CardCharge>& all, const NodeSpec& node,
                     std::span<const std::string> absent) {
  SeenCards seen;
  const CardFinder positions(node);
  for (CardCharge charge : all) {
    if (charge.card < node.cards.size()) {
      seen.charges.push_back(charge);
      continue;
    }
    const std::size_t behind = charge.card - node.cards.size();
    LostCharge lost{.id = behind < absent.size() ? absent[behind] : "", .charge = charge};
    if (const auto at = positions.find(lost.id)) {
      charge.card = *at;
      seen.charges.push_back(charge);
    } else {
      set_aside(std::move(lost), seen.orphans);
    }
  }
  std::sort(seen.charges.begin(), seen.charges.end(),
            [](const CardCharge& a, const CardCharge& b) { return a.card < b.card; });
  return seen;
}

bool same_orphans(const PodRecord& record, const std::vector<LostCharge>& orphans) {
  return std::equal(record.orphans.begin(), record.orphans.end(), orphans.begin(), orphans.end(),
                    [](const LostCharge& a, const LostCharge& b) {
                      return a.id == b.id && a.charge == b.charge;
                    });
}

std::vector<UnnamedRequest> unnamed_asks(const PodSpec& pod) {
  std::vector<UnnamedRequest> asks;
  for (const auto& container : pod.containers) {
    const GpuRequest& gpu = container.gpu;
    if (gpu.count == 0) continue;
    asks.push_back({.phase = container.phase,
                    .count = gpu.count,
                    .milli = gpu.milli,
                    .memory_mib = gpu.memory_mib});
  }
  return asks;
}

// A container has `count` different cards: it takes one share and one slot of any single card.
UnnamedUse unnamed_use(const std::vector<UnnamedRequest>& asks) {
  ByPhase milli;
  ByPhase memory_mib;
  ByPhase slots;
  ByPhase with_core;
  ByPhase shared;
  ByPhase shared_milli;
  ByPhase whole;
  for (const UnnamedRequest& ask : asks) {
    if (ask.whole()) {
      whole.add(ask.phase, ask.count);
      continue;
    }
    const std::int32_t share = ask.milli.value_or(0);
    const std::int32_t mib = ask.memory_mib.value_or(0);
    milli.add(ask.phase, share);
    slots.add(ask.phase, 1);
    shared.add(ask.phase, ask.count);
    shared_milli.add(ask.phase, ask.count * share);
    if (mib == kMemoryWithCore) {
      with_core.add(ask.phase, share);
    } else {
      memory_mib.add(ask.phase, mib == kWholeMemory ? kMaxCardMemoryMib : mib);
    }
  }
  return {
      .most = {.milli = milli.total(), .memory_mib = memory_mib.total(), .slots = slots.total()},
      .with_core = with_core.total(),
      .shared = shared.total(),
      .shared_milli = shared_milli.total(),
      .whole = whole.total()};
}

void take_unnamed(const PodSpec& pod, PodRecord& record) {
  record.asks = unnamed_asks(pod);
  record.unnamed = unnamed_use(record.asks);
}

// A card with an id of its own has left the node, together with the charges on it. A counted card
// may be any of those that are still reported.
bool may_be_shown(const LostCharge& lost, const NodeSpec& node) {
  return lost.id.empty() || counted_card(node.name, lost.id) ||
         std::any_of(node.cards.begin(), node.cards.end(),
                     [&](const Card& card) { return counted_card(node.name, card.id); });
}

UnnamedUse unnamed_use(const PodRecord& record, const NodeSpec& node) {
  if (!record.cards_known()) return unnamed_use(record.asks);
  UnnamedUse use;
  if (record.orphans.empty()) return use;
  for (const LostCharge& lost : record.orphans) {
    if (!may_be_shown(lost, node)) continue;
    if (lost.charge.milli >= kMilliPerCard) {
      ++use.whole;
      continue;
    }
    // All of them may be on one card, so they are added up.
    use.most.milli += lost.charge.milli;
    use.most.memory_mib += lost.charge.memory_mib;
    use.most.slots += lost.charge.slots;
    use.shared_milli += lost.charge.milli;
    ++use.shared;
  }
  return use;
}

void add_unnamed(const UnnamedUse& unnamed, std::int64_t sign, NodeUse& use) {
  use.unknown.milli += sign * unnamed.most.milli;
  use.unknown.memory_mib += sign * unnamed.most.memory_mib;
  use.unknown.slots += sign * unnamed.most.slots;
  use.unknown_with_core += sign * unnamed.with_core;
  use.unknown_shared += sign * unnamed.shared;
  use.unknown_whole += sign * unnamed.whole;
}

bool NodeRecord::overdrawn() const {
  if (use.unknown_whole == 0) return false;
  const auto idle = std::count(card_use.begin(), card_use.end(), CardUse{});
  return use.unknown_whole > idle;
}

// Allocates rows for the node's cards and moves the charges of its pods to the new positions.
void Ledger::place_cards(NodeIndex node, const NodeSpec& spec) {
  NodeRecord& slot = nodes_.record(node);
  if (slot.spec.cards == spec.cards) return;
  const auto count = spec.cards.size();
  nodes_.set_card_count(node, count);
  const CardFinder positions(spec);
  for (const PodIndex pod : slot.pods) {
    PodRecord& record = pods_.record(pod);
    add_unnamed(record.unnamed, -1, slot.use);
    follow_cards(record, slot.spec.cards, positions);
    record.unnamed = unnamed_use(record, spec);
    add_unnamed(record.unnamed, 1, slot.use);
  }
  if (count == 0) {
    slot.last_cards = std::move(slot.spec.cards);
    slot.spec.cards.clear();
  } else {
    slot.last_cards.clear();
  }
  slot.card_use.assign(count, CardUse{});
  slot.card_limits.clear();
  for (const auto& card : spec.cards) {
    slot.card_limits.push_back(
        {.memory_mib = card.memory_mib, .slots = card.slots, .healthy = card.healthy});
  }
  NodeUse ignored;
  for (const PodIndex pod : slot.pods) add_charges(pods_.record(pod), 1, ignored, slot.card_use);
}

}  // namespace stowage::core
