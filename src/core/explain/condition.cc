#include "core/explain/condition.h"

#include <algorithm>

namespace stowage::core {

const char* to_string(ConditionReason reason) {
  switch (reason) {
    case ConditionReason::unschedulable: return "Unschedulable";
    case ConditionReason::quota_exceeded: return "QuotaExceeded";
    case ConditionReason::named_card_unavailable: return "NamedCardUnavailable";
    case ConditionReason::volume_claim_unusable: return "VolumeClaimUnusable";
    case ConditionReason::invalid_request: return "InvalidRequest";
    case ConditionReason::unsupported_rule: return "UnsupportedRule";
  }
  return "SchedulerError";
}

const char* to_string(Remedy remedy) {
  switch (remedy) {
    case Remedy::same_class: return "same kind";
    case Remedy::other_class: return "other kind";
    case Remedy::none: return "none";
  }
  return "none";
}

// No default case: a new code does not compile until it is handled here.
Remedy remedy(ReasonCode code) {
  switch (code) {
    case ReasonCode::unhealthy:
    case ReasonCode::cards:
    case ReasonCode::card_milli:
    case ReasonCode::card_memory:
    case ReasonCode::card_slots:
    case ReasonCode::search:
    case ReasonCode::held_back:
    case ReasonCode::cpu:
    case ReasonCode::memory:
    case ReasonCode::ephemeral:
    case ReasonCode::pods:
    case ReasonCode::extended:
    case ReasonCode::host_port:
    case ReasonCode::pod_anti_affinity:
    case ReasonCode::others_anti_affinity:
    case ReasonCode::spread:
    case ReasonCode::volume_limit:
    case ReasonCode::volume_in_use: return Remedy::same_class;
    case ReasonCode::none:
    case ReasonCode::not_schedulable:  // nothing else was checked on the node
    case ReasonCode::taint:
    case ReasonCode::node_affinity:
    case ReasonCode::no_cards:
    case ReasonCode::not_offered:
    case ReasonCode::plugin:  // models were not checked on the node
    case ReasonCode::model_mismatch:
    case ReasonCode::id_mismatch:
    case ReasonCode::numa:
    case ReasonCode::link:
    case ReasonCode::pod_affinity:
    case ReasonCode::spread_label:
    case ReasonCode::volume_node:
    case ReasonCode::volume_none: return Remedy::other_class;
    case ReasonCode::quota:
    case ReasonCode::claim: return Remedy::none;
  }
  return Remedy::none;
}

namespace {

// The condition of a pod that no new node helps, for this reason.
ConditionReason without_remedy(ReasonCode code) {
  switch (code) {
    case ReasonCode::quota: return ConditionReason::quota_exceeded;
    case ReasonCode::claim:
    case ReasonCode::volume_in_use: return ConditionReason::volume_claim_unusable;
    case ReasonCode::id_mismatch: return ConditionReason::named_card_unavailable;
    default: return ConditionReason::unschedulable;
  }
}

}  // namespace

ConditionReason condition_reason(ReasonCode code) {
  return remedy(code) == Remedy::none ? without_remedy(code) : ConditionReason::unschedulable;
}

ConditionReason condition_reason(const Refusal& refusal) {
  if (refusal.on_any_node != ReasonCode::none) return without_remedy(refusal.on_any_node);
  const auto& counts = refusal.counts;
  const auto helped = [](const ReasonCount& count) {
    return remedy(count.code) == Remedy::same_class;
  };
  if (std::any_of(counts.begin(), counts.end(), helped)) return ConditionReason::unschedulable;
  const auto hopeless = std::find_if(counts.begin(), counts.end(), [](const ReasonCount& count) {
    return remedy(count.code) == Remedy::none;
  });
  return hopeless == counts.end() ? ConditionReason::unschedulable
                                  : condition_reason(hopeless->code);
}

}  // namespace stowage::core
