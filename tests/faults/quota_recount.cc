#include "quota_recount.h"

#include <algorithm>

#include <fmt/format.h>

namespace stowage::faults {
namespace {

struct Charge {
  std::int64_t cards = 0;
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
};

std::int64_t amount(const PodView& pod, const char* name) {
  const auto found = pod.asks.find(name);
  return found == pod.asks.end() ? 0 : found->second;
}

void add_share(Charge& charge, std::int64_t cards, std::int64_t milli, std::int64_t memory,
               std::int64_t card_memory) {
  charge.cards += cards;
  charge.milli += cards * std::max(milli, 1000 * memory / card_memory);
  charge.memory_mib += cards * memory;
}

// From the pod's request, in any dialect.
Charge charge_of(const PodView& pod, std::int64_t card_memory) {
  Charge charge;
  const std::int64_t devices = pod.devices();
  if (devices > 0) add_share(charge, devices, 1000, card_memory, card_memory);
  const std::int64_t core = amount(pod, "tencent.com/vcuda-core");
  if (core >= 100) {
    add_share(charge, core / 100, 1000, card_memory, card_memory);
  } else if (core > 0) {
    add_share(charge, 1, 10 * core, 256 * amount(pod, "tencent.com/vcuda-memory"), card_memory);
  }
  const std::int64_t percent = amount(pod, "stowage.dev/gpu-core");
  const std::int64_t memory = amount(pod, "stowage.dev/gpu-memory");
  std::int64_t cards = amount(pod, "stowage.dev/gpu");
  if (cards == 0 && devices == 0 && percent + memory > 0) cards = 1;
  if (cards == 0) return charge;
  const bool whole = percent == 0 && memory == 0;
  add_share(charge, cards, whole ? 1000 : 10 * percent, whole ? card_memory : memory, card_memory);
  return charge;
}

}  // namespace

std::string QuotaRecount::exceeded(const PodView& newest, const std::vector<const PodView*>& pods,
                                   Moment known_until) const {
  if (newest.name.ns != "limited" || history_.empty()) return {};
  Charge sum;
  std::string who;
  for (const PodView* pod : pods) {
    if (pod->name.ns != "limited") continue;
    const Charge charge = charge_of(*pod, node_shape(plan_, pod_number(pod->node)).memory_mib);
    sum.cards += charge.cards;
    sum.milli += charge.milli;
    sum.memory_mib += charge.memory_mib;
    who += fmt::format(" {} ({} milli)", pod->name.name, charge.milli);
  }
  // The highest of the limits that may have been in force.
  const auto beyond = [&](std::int64_t held, auto limit_of, std::int64_t unit) -> std::int64_t {
    std::int64_t most = -1;
    for (std::size_t i = 0; i < history_.size(); ++i) {
      const bool over = i + 1 < history_.size() && history_[i + 1].since < known_until;
      if (over) continue;
      const std::optional<std::int64_t> limit = limit_of(history_[i].limits);
      if (!limit || (i == 0 && history_[i].since >= known_until)) return -1;
      most = std::max(most, *limit * unit);
    }
    return held > most ? most : -1;
  };
  const auto say = [&](const char* what, std::int64_t held, std::int64_t limit) {
    return fmt::format("with pod {} on {} the pods of its namespace hold {} {} of {}:{}",
                       newest.name.name, newest.node, held, what, limit, who);
  };
  std::int64_t limit = beyond(
      sum.cards, [](const Limits& l) { return l.cards; }, 1);
  if (limit >= 0) return say("cards", sum.cards, limit);
  limit = beyond(
      sum.milli, [](const Limits& l) { return l.milli; }, 1);
  if (limit >= 0) return say("milli", sum.milli, limit);
  limit = beyond(
      sum.memory_mib, [](const Limits& l) { return l.memory_mib; }, 1);
  if (limit >= 0) return say("MiB", sum.memory_mib, limit);
  limit = beyond(
      sum.milli, [](const Limits& l) { return l.node_cards; }, 1000);
  if (limit >= 0) return say("milli by nodes", sum.milli, limit);
  return {};
}

}  // namespace stowage::faults
