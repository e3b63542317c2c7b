#include "core/engine/load_tracker.h"

#include <algorithm>
#include <utility>

namespace stowage::core {

void LoadTracker::choice_options(const PolicyChoice& choice) {
  if (choice.node != NodePolicy::load && choice.card != CardPolicy::load) return;
  if (std::exchange(choice_options_, true)) return;
  for (const std::string& node : loads_.nodes()) refresh(node);
}

void LoadTracker::measured(const CardsMeasured& event) {
  loads_.measured(event);
  refresh(event.node);
}

void LoadTracker::expect(PodIndex placed, base::Instant now) {
  if (!choice_options_) return;
  const PodRecord& pod = ledger_.pods().record(placed);
  const NodeSpec& node = ledger_.nodes().spec(pod.node);
  const base::Instant until{now.ns + delay_ns_};
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
  const NodeIndex node = ledger_.nodes().find(name);
  if (node.valid() && ledger_.nodes().present(node)) {
    ledger_.set_busy(node, loads_.busy(ledger_.nodes().spec(node)), choice_options_);
  }
}

void LoadTracker::clear() {
  for (const std::string& node : loads_.nodes()) {
    loads_.forget(node);
    refresh(node);
  }
}

}  // namespace stowage::core
