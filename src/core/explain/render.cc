#include "core/explain/render.h"

#include <fmt/format.h>

namespace stowage::core {
namespace {

constexpr std::int64_t kMiB = 1 << 20U;

// The numbers of a reason: how much the best node has, and how much was asked.
std::string numbers(ReasonCode code, std::int64_t best, std::int64_t asked) {
  switch (code) {
    case ReasonCode::cards: return fmt::format(" (most free on a node {}, asked {})", best, asked);
    case ReasonCode::card_milli:
      return fmt::format(" (largest hole {} milli, asked {})", best, asked);
    case ReasonCode::card_memory:
      return fmt::format(" (largest hole {} MiB, asked {})", best, asked);
    case ReasonCode::cpu: return fmt::format(" (most free {} milli, asked {})", best, asked);
    case ReasonCode::memory:
    case ReasonCode::ephemeral:
      return fmt::format(" (most free {} MiB, asked {})", best / kMiB, asked / kMiB);
    case ReasonCode::extended: return fmt::format(" (most free {}, asked {})", best, asked);
    default: return {};
  }
}

}  // namespace

const char* phrase(ReasonCode code) {
  switch (code) {
    case ReasonCode::none: return "fits";
    case ReasonCode::not_schedulable: return "node is unschedulable";
    case ReasonCode::taint: return "node has a taint that the pod does not tolerate";
    case ReasonCode::node_affinity:
      return "node does not match the pod's node selector or affinity";
    case ReasonCode::no_cards: return "node has no GPU";
    case ReasonCode::not_offered: return "node does not offer the GPU resource that the pod names";
    case ReasonCode::model_mismatch: return "GPU model mismatch";
    case ReasonCode::quota: return "GPU quota of the namespace exceeded";
    case ReasonCode::id_mismatch: return "GPU id mismatch";
    case ReasonCode::unhealthy: return "GPU unhealthy";
    case ReasonCode::cards: return "insufficient GPU cards";
    case ReasonCode::card_milli: return "insufficient GPU compute";
    case ReasonCode::card_memory: return "insufficient GPU memory";
    case ReasonCode::card_slots: return "no place left on a GPU";
    case ReasonCode::numa: return "GPUs not in one NUMA node";
    case ReasonCode::link: return "GPUs not joined by NVLink";
    case ReasonCode::held_back: return "GPUs kept for pods that need several at once";
    case ReasonCode::cpu: return "insufficient cpu";
    case ReasonCode::memory: return "insufficient memory";
    case ReasonCode::ephemeral: return "insufficient ephemeral-storage";
    case ReasonCode::pods: return "too many pods";
    case ReasonCode::extended: return "insufficient extended resource";
  }
  return "unknown";
}

std::string render(const Refusal& refusal) {
  if (refusal.counts.empty()) return fmt::format("0/{} nodes are available.", refusal.nodes);
  std::string text = fmt::format("0/{} nodes are available: ", refusal.nodes);
  const char* separator = "";
  for (const auto& count : refusal.counts) {
    const std::string what = count.what.empty() ? phrase(count.code) : "insufficient " + count.what;
    text += fmt::format("{}{} {}{}", separator, count.nodes, what,
                        numbers(count.code, count.best, count.asked));
    separator = ", ";
  }
  return text + ".";
}

std::string sentence(const Refusal& refusal) {
  std::string text = render(refusal);
  const std::string nearest = nearest_fit(refusal);
  if (!nearest.empty()) text += " The pod " + nearest + ".";
  return text;
}

std::string nearest_fit(const Refusal& refusal) {
  for (const auto& count : refusal.counts) {
    if (count.best_only < 0) continue;
    const std::int64_t best = count.best_only;
    switch (count.code) {
      case ReasonCode::card_memory:
        if (best > 0) return fmt::format("fits with memory <= {} MiB", best);
        break;
      case ReasonCode::card_milli:
        if (best > 0) return fmt::format("fits with compute <= {} milli of a card", best);
        break;
      case ReasonCode::cards:
        return fmt::format("needs {} free card{} on one node; the best node has {}", count.asked,
                           count.asked == 1 ? "" : "s", best);
      case ReasonCode::cpu:
        if (best > 0) return fmt::format("fits with cpu <= {} milli", best);
        break;
      case ReasonCode::memory:
        if (best >= kMiB) return fmt::format("fits with memory <= {} MiB of the node", best / kMiB);
        break;
      case ReasonCode::link: return "fits without the strict link wish";
      case ReasonCode::numa: return "fits without the strict NUMA wish";
      default: break;
    }
  }
  return {};
}

std::string render(const Reason& reason) {
  return phrase(reason.code) + numbers(reason.code, reason.found, reason.asked);
}

}  // namespace stowage::core
