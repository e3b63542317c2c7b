#include "core/explain/condition.h"

#include <algorithm>

namespace stowage::core {

const char* to_string(Condition condition) {
  switch (condition) {
    case Condition::unschedulable: return "Unschedulable";
    case Condition::quota_exceeded: return "QuotaExceeded";
    case Condition::named_card_unavailable: return "NamedCardUnavailable";
    case Condition::volume_claim_unusable: return "VolumeClaimUnusable";
    case Condition::invalid_request: return "InvalidRequest";
    case Condition::unsupported_rule: return "UnsupportedRule";
  }
  return "SchedulerError";
}

const char* to_string(Remedy remedy) {
  switch (remedy) {
    case Remedy::same_kind: return "same kind";
    case Remedy::other_kind: return "other kind";
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
    case ReasonCode::volume_in_use: return Remedy::same_kind;
    case ReasonCode::none:
    case ReasonCode::not_schedulable:  // nothing else was checked on the node
    case ReasonCode::taint:
    case ReasonCode::node_affinity:
    case ReasonCode::no_cards:
    case ReasonCode::not_offered:
    case ReasonCode::model_mismatch:
    case ReasonCode::id_mismatch:
    case ReasonCode::numa:
    case ReasonCode::link:
    case ReasonCode::pod_affinity:
    case ReasonCode::spread_label:
    case ReasonCode::volume_node:
    case ReasonCode::volume_none: return Remedy::other_kind;
    case ReasonCode::quota:
    case ReasonCode::claim: return Remedy::none;
  }
  return Remedy::none;
}

namespace {

// The condition of a pod that no new node helps, for this reason.
Condition without_remedy(ReasonCode code) {
  switch (code) {
    case ReasonCode::quota: return Condition::quota_exceeded;
    case ReasonCode::claim:
    case ReasonCode::volume_in_use: return Condition::volume_claim_unusable;
    case ReasonCode::id_mismatch: return Condition::named_card_unavailable;
    default: return Condition::unschedulable;
  }
}

}  // namespace

Condition condition(ReasonCode code) {
  return remedy(code) == Remedy::none ? without_remedy(code) : Condition::unschedulable;
}

Condition condition(const Refusal& refusal) {
  if (refusal.on_any_node != ReasonCode::none) return without_remedy(refusal.on_any_node);
  const auto& counts = refusal.counts;
  const auto helped = [](const ReasonCount& count) {
    return remedy(count.code) == Remedy::same_kind;
  };
  if (std::any_of(counts.begin(), counts.end(), helped)) return Condition::unschedulable;
  const auto hopeless = std::find_if(counts.begin(), counts.end(), [](const ReasonCount& count) {
    return remedy(count.code) == Remedy::none;
  });
  return hopeless == counts.end() ? Condition::unschedulable : condition(hopeless->code);
}

}  // namespace stowage::core
