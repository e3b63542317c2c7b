#include "core/engine/conflicts.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace stowage::core {
namespace {

struct Use {  // of one card, by the pods that keep their cards
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t slots = 0;
  PodIndex first;         // invalid: none
  std::int64_t last = 0;  // latest `placed` time of these pods
};

// A limit that the node does not state (memory or slots of the card) is not checked.
bool fits(const Use& use, const CardCharge& charge, const Card& card) {
  const auto within = [](std::int64_t sum, std::int64_t limit) {
    return limit <= 0 || sum <= limit;
  };
  return use.milli + charge.milli <= kMilliPerCard &&
         within(use.memory_mib + charge.memory_mib, card.memory_mib) &&
         within(use.slots + charge.slots, card.slots);
}

}  // namespace

void CardConflicts::lead(Commands& out) {
  leads_ = true;
  for (std::size_t n = 0; n < ledger_.nodes().rows(); ++n) resolve(NodeIndex(n), out);
}

void CardConflicts::stand_down() {
  leads_ = false;
  reported_.clear();
}

void CardConflicts::resolve(NodeIndex node, Commands& out) {
  if (!leads_ || !ledger_.nodes().present(node)) return;
  std::vector<PodIndex> placed;
  for (const PodIndex pod : ledger_.nodes().pods_on(node)) {
    const PodRecord& record = ledger_.pods().record(pod);
    // A terminating pod needs no resolution.
    if (record.placed != 0 && !record.leaving && !record.charges.empty()) placed.push_back(pod);
  }
  std::sort(placed.begin(), placed.end(), [this](PodIndex a, PodIndex b) {
    const PodRecord& x = ledger_.pods().record(a);
    const PodRecord& y = ledger_.pods().record(b);
    return std::tie(x.placed, x.uid) < std::tie(y.placed, y.uid);
  });
  const NodeSpec& spec = ledger_.nodes().spec(node);
  std::vector<Use> uses(spec.cards.size());
  for (const PodIndex pod : placed) {
    const PodRecord& record = ledger_.pods().record(pod);
    const auto crowds = [&](const CardCharge& charge) {
      const Use& use = uses[charge.card];
      return use.first.valid() && !fits(use, charge, spec.cards[charge.card]);
    };
    const auto surely_later = [&](const CardCharge& charge) {
      return !record.placed_by_then && record.placed > uses[charge.card].last && crowds(charge);
    };
    auto crowded = std::find_if(record.charges.begin(), record.charges.end(), surely_later);
    const bool later = crowded != record.charges.end();
    if (!later) crowded = std::find_if(record.charges.begin(), record.charges.end(), crowds);
    if (crowded != record.charges.end()) {
      if (!reported_.insert(record.uid).second) continue;  // already reported
      ++found_;
      out.emplace_back(CardConflict{.uid = record.uid,
                                    .with = ledger_.pods().record(uses[crowded->card].first).uid,
                                    .node = spec.name,
                                    .card = spec.cards[crowded->card].id,
                                    .evict = evicts_ && !record.stays && later,
                                    .in_doubt = !later});
      continue;
    }
    for (const CardCharge& charge : record.charges) {
      Use& use = uses[charge.card];
      use.milli += charge.milli;
      use.memory_mib += charge.memory_mib;
      use.slots += charge.slots;
      if (!use.first.valid()) use.first = pod;
      use.last = std::max(use.last, record.placed);
    }
  }
}

}  // namespace stowage::core
