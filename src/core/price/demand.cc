#include "core/price/demand.h"

#include <algorithm>
#include <cmath>

namespace stowage::core {
namespace {

constexpr double kRescaleAt = 1e12;

// The share of a card that the container effectively takes: compute or memory, whichever is larger.
// Card sizes differ; the largest card of the cluster is used.
double share_of_card(const GpuPart& part, std::int32_t largest_card_mib) {
  if (part.whole) return 1.0;
  const double compute = part.milli / 1000.0;
  if (largest_card_mib <= 0) return compute;
  const double memory =
      part.whole_memory ? 1.0 : static_cast<double>(part.memory_mib) / largest_card_mib;
  return std::min(1.0, std::max(compute, memory));
}

PodKind make_kind(const Shape& shape, const Ledger& ledger) {
  PodKind kind;
  kind.key = shape.key;
  kind.cpu_milli = shape.cpu_milli;
  kind.memory_bytes = shape.memory_bytes;
  kind.cards = shape.cards;
  kind.parts = shape.parts;
  const auto& sizes = ledger.names().memory().sizes();
  const std::int32_t largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  for (const auto& part : shape.parts) {
    kind.gpus += part.count * share_of_card(part, largest);
    kind.constrained = kind.constrained || part.filter.constrains_models();
  }
  return kind;
}

}  // namespace

bool PodKind::accepts(std::uint16_t model) const {
  return std::all_of(parts.begin(), parts.end(), [model](const GpuPart& part) {
    return !part.filter.constrains_models() ||
           (model < part.model_ok.size() && part.model_ok[model] != 0);
  });
}

std::optional<std::uint32_t> Demand::known(const std::string& shape_key) const {
  const auto found = by_key_.find(shape_key);
  if (found == by_key_.end()) return std::nullopt;
  return found->second;
}

std::uint32_t Demand::kind_of(const Shape& shape, const Ledger& ledger) {
  const auto known = by_key_.find(shape.key);
  if (known != by_key_.end()) return known->second;
  if (kinds_.size() < kMaxKinds) {
    const auto slot = static_cast<std::uint32_t>(kinds_.size());
    kinds_.push_back(make_kind(shape, ledger));
    by_key_.emplace(shape.key, slot);
    return slot;
  }
  // The table is full: replace the kind with the least weight and no running pod; the first one if
  // all run.
  std::size_t faintest = 0;
  for (std::size_t i = 1; i < kinds_.size(); ++i) {
    const bool idle = kinds_[i].running == 0;
    const bool best_idle = kinds_[faintest].running == 0;
    if (idle != best_idle ? idle : kinds_[i].weight < kinds_[faintest].weight) faintest = i;
  }
  by_key_.erase(kinds_[faintest].key);
  kinds_[faintest] = make_kind(shape, ledger);
  const auto slot = static_cast<std::uint32_t>(faintest);
  by_key_.emplace(shape.key, slot);
  return slot;
}

Demand::Seen Demand::arrived(const Shape& shape, const Ledger& ledger) {
  ++arrivals_;
  unit_ *= std::exp2(1.0 / kHalfLife);
  if (unit_ > kRescaleAt) {
    for (auto& kind : kinds_) kind.weight /= unit_;
    unit_ = 1;
  }
  Seen seen;
  seen.kind = kind_of(shape, ledger);
  PodKind& kind = kinds_[seen.kind];
  kind.weight += unit_;
  if (kind.parts.empty() || kind.parts[0].model_ok.size() != shape.parts[0].model_ok.size()) {
    kind.parts = shape.parts;  // a new card model was added since
  }
  for (const auto& part : shape.parts) {
    if (part.whole) continue;
    const auto size = (static_cast<std::uint64_t>(part.milli) << 32U) |
                      static_cast<std::uint32_t>(part.memory_mib);
    const auto place = std::lower_bound(share_sizes_.begin(), share_sizes_.end(), size);
    if (place != share_sizes_.end() && *place == size) continue;
    if (share_sizes_.size() >= kMaxKinds) continue;
    share_sizes_.insert(place, size);
    seen.new_share = true;
  }
  return seen;
}

bool fits_empty(const PodKind& kind, const NodeClass& node_class) {
  if (kind.cpu_milli > node_class.cpu_milli || kind.memory_bytes > node_class.memory_bytes) {
    return false;
  }
  const auto cards = std::count_if(node_class.models.begin(), node_class.models.end(),
                                   [&](std::uint16_t model) { return kind.accepts(model); });
  return cards >= kind.cards;
}

}  // namespace stowage::core
