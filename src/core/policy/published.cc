#include "core/policy/published.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stowage::core {
namespace {

// The largest node of the published cluster; scores are fractions of it.
constexpr double kLargestCpuMilli = 128000;
constexpr double kLargestGpuMilli = 8000;
constexpr std::int64_t kTop = 100;

std::int64_t gpu_free(const NodeView& node) {
  std::int64_t free = 0;
  for (std::size_t i = 0; i < node.state->cards; ++i) free += node.cards[i].milli_free;
  return free;
}

// The kind of GPU pod: 0 none, 1 a share, 1 + n for n whole cards.
unsigned affinity_of(std::int32_t cards, bool share) {
  if (cards == 0) return 0;
  return share ? 1U : 1U + static_cast<unsigned>(cards);
}

// One bit per kind of GPU pod that runs on the node.
std::uint64_t affinities_on(const Ledger& ledger, NodeIndex node) {
  std::uint64_t kinds = 0;
  for (const PodIndex pod : ledger.nodes().pods_on(node)) {
    const auto& charges = ledger.pods().record(pod).charges;
    if (charges.empty()) continue;
    const bool share = charges.front().milli < kMilliPerCard;
    kinds |= std::uint64_t{1} << affinity_of(static_cast<std::int32_t>(charges.size()), share);
  }
  return kinds;
}

}  // namespace

std::int64_t best_fit_score(const Trial& t) {
  const auto cpu_left = static_cast<double>(t.node.state->cpu_free_milli - t.shape->cpu_milli);
  const auto gpu_left = static_cast<double>(gpu_free(t.node) - t.shape->gpu_milli);
  const double left = 0.5 * (cpu_left / kLargestCpuMilli + gpu_left / kLargestGpuMilli);
  return static_cast<std::int64_t>(std::floor(kTop * (1 - left)));
}

std::int64_t dot_product_score(const Trial& t) {
  const auto cpu_free = static_cast<double>(t.node.state->cpu_free_milli);
  const auto gpu = static_cast<double>(gpu_free(t.node));
  const double product =
      cpu_free / kLargestCpuMilli * (static_cast<double>(t.shape->cpu_milli) / kLargestCpuMilli) +
      gpu / kLargestGpuMilli * (static_cast<double>(t.shape->gpu_milli) / kLargestGpuMilli);
  return static_cast<std::int64_t>(std::floor(kTop * (1 - 0.5 * product)));
}

std::int64_t gpu_packing_score(const Trial& t) {
  if (t.shape->parts.empty()) return 0;
  const int cards = t.node.state->cards;
  const int free = std::popcount(t.node.state->whole);
  if (free == cards) return std::max(33 - free, free);
  const int opened = std::popcount(t.used & t.node.state->whole);
  if (opened > 0) return std::max(50 - opened, 33);
  std::int64_t left = 0;
  for (CardMask rest = t.used; rest != 0; rest &= rest - 1) {
    left += std::int64_t{t.node.cards[std::countr_zero(rest)].milli_free} * 100 / kMilliPerCard;
  }
  return std::max<std::int64_t>(kTop - left / 10, 50);
}

std::int64_t gpu_clustering_score(const Trial& t) {
  if (t.shape->parts.empty()) return 0;
  const std::int64_t base = 25 * (8000 - gpu_free(t.node)) / 8000;
  const std::uint64_t kinds = affinities_on(*t.context->ledger, t.node.index);
  const std::uint64_t own = std::uint64_t{1} << affinity_of(t.shape->cards, t.shape->share());
  if (kinds == 0) return base + 25;
  if ((kinds & own) == 0) return base;
  return base + (kinds == own ? 75 : 50);
}

}  // namespace stowage::core
