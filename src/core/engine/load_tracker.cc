#include "core/engine/load_tracker.h"

#include <algorithm>
#include <utility>

namespace stowage::core {

void LoadTracker::heed(const PolicyChoice& choice) {
  if (choice.node != NodePolicy::load && choice.card != CardPolicy::load) return;
  if (std::exchange(heeded_, true)) return;
  for (const std::string& node : loads_.nodes()) refresh(node);
}

void LoadTracker::measured(const CardsMeasured& event) {
  loads_.measured(event);
  refresh(event.node);
}

void LoadTracker::expect(PodIndex placed, base::Instant now) {
  if (!heeded_) return;
  const PodRecord& pod = ledger_.pod(placed);
  const NodeSpec& node = ledger_.spec(pod.node);
  const base::Instant until{now.ns + settles_ns_};
  for (const CardCharge& charge : pod.charges) {
    const auto milli = static_cast<std::int32_t>(
        charge.milli == 0 ? kMilliPerCard : std::min<std::int64_t>(charge.milli, kMilliPerCard));
    loads_.placed(node.name, node.cards[charge.card].id, milli, until);
  }
  if (!pod.charges.empty()) refresh(node.name);
}

void LoadTracker::expire(base::Instant now) {
  for (const std::string& node : loads_.expire(now)) refresh(node);
}

void LoadTracker::refresh(const std::string& name) {
  const NodeIndex node = ledger_.find_node(name);
  if (node.valid() && ledger_.present(node)) {
    ledger_.set_busy(node, loads_.busy(ledger_.spec(node)), heeded_);
  }
}

void LoadTracker::clear() {
  for (const std::string& node : loads_.nodes()) {
    loads_.forget(node);
    refresh(node);
  }
}

}  // namespace stowage::core
