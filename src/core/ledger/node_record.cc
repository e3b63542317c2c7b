#include "core/ledger/node_record.h"

#include <algorithm>
#include <limits>

namespace stowage::core {
namespace {

std::int32_t clamp32(std::int64_t value) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(value, 0, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

std::int64_t NodeRecord::extended_free(std::uint32_t resource) const {
  const auto at = [resource](const std::vector<std::int64_t>& v) {
    return resource < v.size() ? v[resource] : 0;
  };
  return std::max<std::int64_t>(0, at(extended_capacity) - at(use.extended));
}

ByNumber NodeRecord::by_number() const {
  ByNumber result{.idle = 0,
                  .unnamed = use.unknown_whole + use.unknown_shared,
                  .closed = use.nominations_by_name > 0};
  for (std::size_t i = 0; i < card_limits.size(); ++i) {
    const bool idle = card_limits[i].healthy && card_use[i] == CardUse{};
    result.idle |= std::uint64_t{idle} << i;
  }
  return result;
}

void add_charges(const PodRecord& pod, std::int64_t sign, NodeUse& use,
                 std::vector<CardUse>& cards) {
  use.cpu_milli += sign * pod.resources.cpu_milli;
  use.memory_bytes += sign * pod.resources.memory_bytes;
  use.ephemeral_bytes += sign * pod.resources.ephemeral_bytes;
  use.pods += sign;
  use.nominations_by_name += pod.by_name ? sign : 0;
  add_unnamed(pod.unnamed, sign, use);
  for (const auto& charge : pod.charges) {
    auto& card = cards[charge.card];
    card.milli += sign * charge.milli;
    card.memory_mib += sign * charge.memory_mib;
    card.slots += sign * charge.slots;
  }
}

void add_extended(const PodRecord& pod, std::int64_t sign, const ResourceNames& names,
                  NodeUse& use) {
  for (const auto& [name, amount] : pod.resources.extended) {
    const auto number = names.find(name);
    if (number == ResourceNames::kNone) continue;  // charged when a node offers it
    if (use.extended.size() <= number) use.extended.resize(number + 1);
    use.extended[number] += sign * amount;
  }
}

CardState card_row(const NodeRecord& node, std::size_t card, bool overdrawn) {
  const CardLimit& spec = node.card_limits[card];
  const CardUse& use = node.card_use[card];
  CardState state;
  state.milli_free = clamp32(kMilliPerCard - use.milli - node.use.unknown.milli);
  const std::int64_t with_core = node.use.unknown_with_core * spec.memory_mib / kMilliPerCard;
  state.memory_free_mib =
      clamp32(spec.memory_mib - use.memory_mib - node.use.unknown.memory_mib - with_core);
  state.slots_free =
      spec.slots == 0 ? kNoSlotLimit : clamp32(spec.slots - use.slots - node.use.unknown.slots);
  // Some pod has whole cards, but it is unknown which: they may be any that look free.
  const bool looks_free = use == CardUse{};
  if (node.use.unknown_whole > 0 && (looks_free || overdrawn)) {
    state.milli_free = 0;
    state.memory_free_mib = 0;
    state.slots_free = 0;
  }
  return state;
}

void update_rows(const NodeRecord& node, NodeState& row, CardState* cards) {
  const auto left = [](std::int64_t capacity, std::int64_t used) {
    return std::max<std::int64_t>(0, capacity - used);
  };
  row.cpu_free_milli = left(node.spec.allocatable.cpu_milli, node.use.cpu_milli);
  row.memory_free_bytes = left(node.spec.allocatable.memory_bytes, node.use.memory_bytes);
  row.ephemeral_free_bytes = left(node.spec.allocatable.ephemeral_bytes, node.use.ephemeral_bytes);
  row.pods_free = clamp32(node.spec.allocatable.pods - node.use.pods);
  row.present = node.present;
  row.schedulable = node.present && node.spec.schedulable;
  row.tainted = untolerated({}, node.spec.taints) != nullptr;
  row.plugin_missing = node.spec.plugin_missing;
  row.healthy = 0;
  row.whole = 0;
  const bool surely_free = node.use.unknown == CardUse{} && node.use.unknown_whole == 0;
  row.unnamed = !surely_free;
  const bool too_many = node.overdrawn();
  for (std::size_t i = 0; i < node.card_limits.size(); ++i) {
    CardState fresh = card_row(node, i, too_many);
    fresh.model = cards[i].model;
    fresh.memory_class = cards[i].memory_class;
    cards[i] = fresh;
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (!node.card_limits[i].healthy) continue;
    row.healthy |= bit;
    if (surely_free && node.card_use[i] == CardUse{}) row.whole |= bit;
  }
}

}  // namespace stowage::core
