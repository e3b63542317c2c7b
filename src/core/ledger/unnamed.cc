// What pods hold of a node's cards though nobody says of which ones: their cards were never named,
// or were named and are no longer shown. And how charges follow their cards when these change.
#include <algorithm>
#include <map>
#include <utility>

#include "core/ledger/ledger.h"

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

// The id that a card has where only a number of cards is known.
bool counted(const std::string& node, const std::string& id, std::int32_t index) {
  return id.size() > node.size() && id.starts_with(node) &&
         id.compare(node.size(), std::string::npos, "/" + std::to_string(index)) == 0;
}

// Where cards are on a node, by all that a charge may know about its card.
class CardFinder {
 public:
  explicit CardFinder(const NodeSpec& node) : name_(node.name) {
    for (std::size_t i = 0; i < node.cards.size(); ++i) {
      by_id_[node.cards[i].id] = static_cast<std::uint32_t>(i);
      by_index_[node.cards[i].index] = static_cast<std::uint32_t>(i);
    }
  }

  [[nodiscard]] std::optional<std::uint32_t> of(const LostCharge& lost) const {
    if (const auto found = by_id_.find(lost.id); found != by_id_.end()) return found->second;
    // The node's cards were counted and have names now: their indexes stay. Not the reverse: a card
    // whose name is known may have another index when the node's cards have names again.
    if (!counted(name_, lost.id, lost.index)) return std::nullopt;
    const auto found = by_index_.find(lost.index);
    return found == by_index_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const std::string& name_;
  std::map<std::string_view, std::uint32_t> by_id_;
  std::map<std::int32_t, std::uint32_t> by_index_;
};

void set_aside(LostCharge lost, std::vector<LostCharge>& orphans) {
  lost.charge.card = 0;
  const auto at =
      std::upper_bound(orphans.begin(), orphans.end(), lost,
                       [](const LostCharge& a, const LostCharge& b) { return a.id < b.id; });
  orphans.insert(at, std::move(lost));
}

// The index in the id of a counted card; -1 if it is not one.
std::int32_t index_in(const std::string& node, const std::string& id) {
  for (std::int32_t index = 0; index < static_cast<std::int32_t>(kMaxCardsPerNode); ++index) {
    if (counted(node, id, index)) return index;
  }
  return -1;
}

// Moves the charges of a pod to where its cards are now, and sets aside those on others.
void follow_cards(PodRecord& record, const std::vector<Card>& were, const CardFinder& positions) {
  std::vector<LostCharge> all = std::exchange(record.orphans, {});
  for (const auto& charge : record.charges) {
    const Card& card = were[charge.card];
    all.push_back({.id = card.id,
                   .index = card.index,
                   .seen = true,
                   .model = card.model,
                   .memory_mib = card.memory_mib,
                   .charge = charge});
  }
  record.charges.clear();
  for (LostCharge& lost : all) {
    if (const auto at = positions.of(lost)) {
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
    lost.index = index_in(node.name, lost.id);
    if (const auto at = positions.of(lost)) {
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

std::vector<UnnamedAsk> unnamed_asks(const PodSpec& pod) {
  std::vector<UnnamedAsk> asks;
  for (const auto& container : pod.containers) {
    const GpuAsk& gpu = container.gpu;
    if (gpu.count == 0) continue;
    asks.push_back({.phase = container.phase,
                    .count = gpu.count,
                    .milli = gpu.milli,
                    .memory_mib = gpu.memory_mib});
  }
  return asks;
}

// A container has `count` different cards: of any one card it takes one share, and one place.
UnnamedUse unnamed_use(const std::vector<UnnamedAsk>& asks) {
  ByPhase milli;
  ByPhase memory_mib;
  ByPhase slots;
  ByPhase with_core;
  ByPhase shared;
  ByPhase shared_milli;
  ByPhase whole;
  for (const UnnamedAsk& ask : asks) {
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

void Ledger::take_unnamed(const PodSpec& pod, PodRecord& record) {
  record.asks = unnamed_asks(pod);
  record.unnamed = unnamed_use(record.asks);
}

// A card with a name of its own has left the node, and takes along what pods have of it. One of
// which only the number is known may be any of those that are still shown.
bool may_be_shown(const LostCharge& lost, const NodeSpec& node) {
  return lost.id.empty() || counted(node.name, lost.id, lost.index) ||
         std::any_of(node.cards.begin(), node.cards.end(),
                     [&](const Card& card) { return counted(node.name, card.id, card.index); });
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
    // On any one card: all of them may be on it, for they may be shown as one.
    use.most.milli += lost.charge.milli;
    use.most.memory_mib += lost.charge.memory_mib;
    use.most.slots += lost.charge.slots;
    use.shared_milli += lost.charge.milli;
    ++use.shared;
  }
  return use;
}

void Ledger::add_unnamed(const UnnamedUse& unnamed, std::int64_t sign, NodeUse& use) {
  use.unknown.milli += sign * unnamed.most.milli;
  use.unknown.memory_mib += sign * unnamed.most.memory_mib;
  use.unknown.slots += sign * unnamed.most.slots;
  use.unknown_with_core += sign * unnamed.with_core;
  use.unknown_shared += sign * unnamed.shared;
  use.unknown_whole += sign * unnamed.whole;
}

bool Ledger::overdrawn(const NodeSlot& slot) {
  if (slot.use.unknown_whole == 0) return false;
  const auto idle = std::count(slot.card_use.begin(), slot.card_use.end(), CardUse{});
  return slot.use.unknown_whole > idle;
}

// Gives the node room for its cards and moves the charges of its pods to the cards' new positions.
void Ledger::place_cards(NodeIndex node, const NodeSpec& spec) {
  auto& slot = nodes_[node.at()];
  auto& state = states_[node.at()];
  if (slot.spec.cards == spec.cards) return;
  const auto count = spec.cards.size();
  if (count > slot.card_room) {
    state.first_card = static_cast<std::uint32_t>(cards_.size());
    cards_.resize(cards_.size() + count);
    slot.card_room = count;
  }
  state.cards = static_cast<std::uint8_t>(count);
  const CardFinder positions(spec);
  for (const PodIndex pod : slot.pods) {
    PodRecord& record = pods_[pod.at()];
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
  for (const PodIndex pod : slot.pods) add_charges(pods_[pod.at()], 1, ignored, slot.card_use);
}

}  // namespace stowage::core
