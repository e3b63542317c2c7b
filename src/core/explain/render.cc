#include "core/explain/render.h"

#include <fmt/format.h>

#include "core/explain/details.h"
#include "core/model/pod.h"

namespace stowage::core {
namespace {

constexpr std::int64_t kMiB = 1 << 20U;

// The numbers of a reason: how much the best node has, and how much the pod asks for.
std::string numbers(ReasonCode code, std::int64_t best, std::int64_t asked) {
  switch (code) {
    case ReasonCode::cards: return fmt::format(" (most free on a node {}, asked {})", best, asked);
    case ReasonCode::card_milli:
      return fmt::format(" (largest free share {} milli, asked {})", best, asked);
    case ReasonCode::card_memory:
      if (asked == kMemoryWithCore) {
        return fmt::format(
            " (largest free share {} MiB; the pod asks for no memory, so it takes memory in "
            "proportion to its compute)",
            best);
      }
      if (asked == kWholeMemory) {
        return fmt::format(" (largest free share {} MiB, asked for all of a card)", best);
      }
      return fmt::format(" (largest free share {} MiB, asked {})", best, asked);
    case ReasonCode::cpu: return fmt::format(" (most free {} milli, asked {})", best, asked);
    case ReasonCode::memory:
    case ReasonCode::ephemeral:
      return fmt::format(" (most free {} MiB, asked {})", best / kMiB, asked / kMiB);
    case ReasonCode::extended: return fmt::format(" (most free {}, asked {})", best, asked);
    default: return {};
  }
}

// The reason with its names.
std::string with_names(const ReasonCount& count, const std::vector<QuotaExcess>& quota) {
  std::string names = count.what;
  switch (count.code) {
    case ReasonCode::extended: return names.empty() ? phrase(count.code) : "insufficient " + names;
    case ReasonCode::claim: return names.empty() ? phrase(count.code) : names;
    case ReasonCode::quota:
      for (const QuotaExcess& excess : quota) {
        names += (names.empty() ? "" : "; ") + describe(excess);
      }
      break;
    default: break;
  }
  return names.empty() ? phrase(count.code) : fmt::format("{} ({})", phrase(count.code), names);
}

}  // namespace

const char* phrase(ReasonCode code) {
  switch (code) {
    case ReasonCode::none: return "fits";
    case ReasonCode::not_schedulable: return "node(s) were unschedulable";
    case ReasonCode::taint: return "node(s) had taints that the pod does not tolerate";
    case ReasonCode::node_affinity:
      return "node(s) didn't match the pod's node selector or affinity";
    case ReasonCode::no_cards: return "node(s) had no GPU";
    case ReasonCode::not_offered: return "node(s) didn't offer the GPU resource that the pod names";
    case ReasonCode::plugin:
      return "node(s) had a device plugin that is not registered with the kubelet";
    case ReasonCode::model_mismatch: return "GPU model mismatch";
    case ReasonCode::quota: return "GPU quota of the namespace exceeded";
    case ReasonCode::id_mismatch: return "GPU id mismatch";
    case ReasonCode::unhealthy: return "GPU unhealthy or cordoned";
    case ReasonCode::cards: return "insufficient GPU cards";
    case ReasonCode::card_milli: return "insufficient GPU compute";
    case ReasonCode::card_memory: return "insufficient GPU memory";
    case ReasonCode::card_slots: return "no free slot on a GPU";
    case ReasonCode::numa: return "GPUs not in one NUMA node";
    case ReasonCode::link: return "GPUs not connected by NVLink";
    case ReasonCode::search: return "not all assignments of GPUs tried yet";
    case ReasonCode::held_back: return "GPUs kept for pods that need several at once";
    case ReasonCode::cpu: return "insufficient cpu";
    case ReasonCode::memory: return "insufficient memory";
    case ReasonCode::ephemeral: return "insufficient ephemeral-storage";
    case ReasonCode::pods: return "too many pods";
    case ReasonCode::extended: return "insufficient extended resource";
    case ReasonCode::host_port: return "host port in use";
    case ReasonCode::pod_affinity: return "node(s) didn't match pod affinity rules";
    case ReasonCode::pod_anti_affinity: return "node(s) didn't match pod anti-affinity rules";
    case ReasonCode::others_anti_affinity:
      return "node(s) didn't satisfy existing pods anti-affinity rules";
    case ReasonCode::spread: return "node(s) didn't match pod topology spread constraints";
    case ReasonCode::spread_label:
      return "node(s) didn't match pod topology spread constraints (missing required label)";
    case ReasonCode::claim: return "volume claim cannot be used";
    case ReasonCode::volume_node: return "node(s) had volume node affinity conflict";
    case ReasonCode::volume_none: return "node(s) didn't find available persistent volumes to bind";
    case ReasonCode::volume_limit: return "node(s) exceed max volume count";
    case ReasonCode::volume_in_use: return "volume in use by another pod";
  }
  return "unknown";
}

std::string render(const Refusal& refusal) {
  if (refusal.counts.empty()) return fmt::format("0/{} nodes are available.", refusal.nodes);
  std::string text = fmt::format("0/{} nodes are available: ", refusal.nodes);
  const char* separator = "";
  for (const auto& count : refusal.counts) {
    text += fmt::format("{}{} {}{}", separator, count.nodes, with_names(count, refusal.quota),
                        numbers(count.code, count.best, count.asked));
    separator = ", ";
  }
  return text + ".";
}

std::string sentence(const Refusal& refusal) {
  std::string text = render(refusal);
  const std::string nearest = nearest_fit(refusal);
  if (!nearest.empty()) text += " The pod " + nearest + ".";
  if (refusal.kept_cards > 0) {
    const std::string who = refusal.kept_for.empty() ? "" : " (" + refusal.kept_for + ")";
    text += fmt::format(
        " {} free GPU card{} kept for pods that wait longer or have a higher priority{}.",
        refusal.kept_cards, refusal.kept_cards == 1 ? " is" : "s are", who);
  }
  if (refusal.making_room_on.empty()) return text;
  if (refusal.victims > 0) {
    return text + fmt::format(" Evicting {} pod{} of lower priority from {}.", refusal.victims,
                              refusal.victims == 1 ? "" : "s", refusal.making_room_on);
  }
  return text +
         fmt::format(" Capacity on {} is kept for it as it becomes free.", refusal.making_room_on);
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
