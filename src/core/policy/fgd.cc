#include "core/policy/fgd.h"

#include <array>
#include <cmath>

namespace stowage::core {
namespace {

// Classes of a node for a typical pod, in the order in which their sums are added.
enum FragmentClass : std::size_t {
  lacks_both,
  lacks_gpu,
  lacks_cpu,
  no_gpu_fits,  // a pod without GPU that fits
  no_gpu_lacks_cpu,
  no_access,
  fragment_classes
};

double fragmentation(const FgdModel& model, const CardState* cards, std::size_t count,
                     std::int64_t cpu_free) {
  std::array<std::int32_t, kMaxCardsPerNode> free;  // NOLINT: the first `count` are set below
  std::int64_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    free[i] = cards[i].milli_free;
    total += free[i];
  }
  const std::uint16_t node_model = count == 0 ? 0 : cards[0].model;
  std::array<double, fragment_classes> sums{};
  for (const auto& target : model.targets) {
    const bool cpu_fits = cpu_free >= target.cpu_milli;
    const double whole = target.frequency * static_cast<double>(total);
    if (target.cards == 0) {
      sums[cpu_fits ? no_gpu_fits : no_gpu_lacks_cpu] += whole;
      continue;
    }
    if (!target.model_ok.empty() &&
        (node_model >= target.model_ok.size() || target.model_ok[node_model] == 0)) {
      sums[no_access] += whole;
      continue;
    }
    std::int32_t fitting = 0;
    std::int32_t usable = 0;
    for (std::size_t i = 0; i < count; ++i) {
      // Branch-free, because which cards fit is not predictable.
      const std::int32_t fits = free[i] >= target.milli ? 1 : 0;
      fitting += fits;
      usable += free[i] & -fits;
    }
    const std::int64_t unusable = total - usable;
    if (fitting >= target.cards) {
      if (cpu_fits) {
        sums[lacks_gpu] += target.frequency * static_cast<double>(unusable);
      } else {
        sums[lacks_cpu] += whole;
      }
    } else {
      sums[cpu_fits ? lacks_gpu : lacks_both] += whole;
    }
  }
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

std::int64_t score(double before, double after) {
  const double x = (before - after) / 1000;
  return static_cast<std::int64_t>(100 * (1 / (1 + std::exp(-x))));
}

}  // namespace

FgdModel make_fgd_model(const std::vector<TypicalPod>& typical, const Ledger& ledger) {
  FgdModel model;
  for (const auto& pod : typical) {
    FgdModel::Target target{.cpu_milli = pod.cpu_milli,
                            .milli = pod.milli,
                            .cards = pod.cards,
                            .frequency = pod.frequency,
                            .model_ok = {}};
    if (!pod.models_any.empty()) {
      CardFilter filter;
      filter.models_any = pod.models_any;
      for (const auto& name : ledger.names().models().names()) {
        target.model_ok.push_back(accepts_model(filter, name) ? 1 : 0);
      }
    }
    model.targets.push_back(std::move(target));
  }
  return model;
}

std::int64_t fgd_score(const Trial& t) {
  const auto count = t.node.state->cards;
  const auto cpu = t.node.state->cpu_free_milli;
  const double before = fragmentation(*t.context->fgd, t.node.cards, count, cpu);
  const double after = fragmentation(*t.context->fgd, t.after, count, cpu - t.shape->cpu_milli);
  return score(before, after);
}

std::int64_t fgd_card_score(const CardTrial& t, std::size_t card) {
  if (t.part->whole) return 0;  // lowest index first, as published
  const auto count = t.node.state->cards;
  const auto cpu = t.node.state->cpu_free_milli;
  std::array<CardState, kMaxCardsPerNode> after;  // NOLINT: the first `count` are set below
  std::copy_n(t.cards, count, after.begin());
  after[card].milli_free -= t.part->milli;
  const double before = fragmentation(*t.context->fgd, t.cards, count, cpu);
  return score(before,
               fragmentation(*t.context->fgd, after.data(), count, cpu - t.shape->cpu_milli));
}

}  // namespace stowage::core
