#include "extender/reason_texts.h"

#include <fmt/format.h>

#include "core/explain/condition.h"
#include "core/explain/render.h"

namespace stowage::extender {
namespace {

using core::ReasonCode;

bool is_vcuda(std::string_view dialect) { return dialect.starts_with("vcuda"); }
bool is_elastic(std::string_view dialect) { return dialect.starts_with("elastic"); }

// The phrase of vgpu-manager, if it has one; otherwise empty.
std::string_view vgpu_phrase(ReasonCode code) {
  switch (code) {
    case ReasonCode::no_cards: return "node has no vGPU registered";
    case ReasonCode::not_offered: return "node not vGPU-enabled";
    case ReasonCode::model_mismatch: return "GPU type mismatch";
    case ReasonCode::id_mismatch: return "GPU UUID mismatch";
    case ReasonCode::unhealthy: return "GPU unhealthy";
    case ReasonCode::cards: return "Insufficient GPU cards";
    case ReasonCode::card_milli: return "Insufficient vGPU cores";
    case ReasonCode::card_memory: return "Insufficient vGPU memory";
    case ReasonCode::card_slots: return "Insufficient vGPU slots";
    case ReasonCode::numa: return "NUMA topology unsatisfied";
    case ReasonCode::link: return "Link topology unsatisfied";
    default: return {};
  }
}

}  // namespace

std::string short_phrase(std::string_view dialect, ReasonCode code, const std::string& uid) {
  std::string ours = core::phrase(code);
  if (dialect == "vgpu") {
    const std::string_view theirs = vgpu_phrase(code);
    return theirs.empty() ? ours : std::string(theirs);
  }
  const bool no_device = code == ReasonCode::no_cards || code == ReasonCode::not_offered;
  if (is_vcuda(dialect)) {
    if (code == ReasonCode::quota) return "ExceedsGPUQuota";
    if (no_device) return "no GPU device";
    return fmt::format("pod {} does not match with this node: {}", uid, ours);
  }
  if (is_elastic(dialect) && !no_device) {
    return fmt::format("no enough resource to allocate: {}", ours);
  }
  return ours;
}

std::string no_node_helps(std::string_view dialect, const core::Refusal& refusal) {
  const bool quota = core::condition_reason(refusal) == core::ConditionReason::quota_exceeded;
  const std::string word = quota && is_vcuda(dialect)
                               ? "ExceedsGPUQuota"
                               : core::to_string(core::condition_reason(refusal));
  return fmt::format("{}: {}", word, core::sentence(refusal));
}

std::string unknown_node_phrase(std::string_view dialect) {
  return dialect == "vgpu" ? "node missing from cache" : "node is not known to Stowage yet";
}

std::string other_node_phrase(std::string_view dialect, const std::string& uid) {
  if (dialect == "vgpu") return "pod already scheduled to another node";
  return fmt::format("pod {} has already been matched to another node", uid);
}

std::string uids_differ(const UidsDiffer& pod) {
  if (pod.elastic_messages) {
    return fmt::format("pod {} in ns {}'s uid is {}, and it's not equal with expected {}", pod.name,
                       pod.ns, pod.real, pod.given);
  }
  return fmt::format("different uid \"{}\" from the target pod", pod.given);
}

}  // namespace stowage::extender
