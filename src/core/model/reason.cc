#include "core/model/reason.h"

namespace stowage::core {

const char* to_string(ReasonCode code) {
  switch (code) {
    case ReasonCode::none: return "none";
    case ReasonCode::not_schedulable: return "not_schedulable";
    case ReasonCode::taint: return "taint";
    case ReasonCode::node_affinity: return "node_affinity";
    case ReasonCode::no_cards: return "no_cards";
    case ReasonCode::not_offered: return "not_offered";
    case ReasonCode::plugin: return "plugin";
    case ReasonCode::model_mismatch: return "model_mismatch";
    case ReasonCode::quota: return "quota";
    case ReasonCode::id_mismatch: return "id_mismatch";
    case ReasonCode::unhealthy: return "unhealthy";
    case ReasonCode::cards: return "cards";
    case ReasonCode::card_milli: return "card_milli";
    case ReasonCode::card_memory: return "card_memory";
    case ReasonCode::card_slots: return "card_slots";
    case ReasonCode::numa: return "numa";
    case ReasonCode::link: return "link";
    case ReasonCode::search: return "search";
    case ReasonCode::held_back: return "held_back";
    case ReasonCode::cpu: return "cpu";
    case ReasonCode::memory: return "memory";
    case ReasonCode::ephemeral: return "ephemeral";
    case ReasonCode::pods: return "pods";
    case ReasonCode::extended: return "extended";
    case ReasonCode::host_port: return "host_port";
    case ReasonCode::pod_affinity: return "pod_affinity";
    case ReasonCode::pod_anti_affinity: return "pod_anti_affinity";
    case ReasonCode::others_anti_affinity: return "others_anti_affinity";
    case ReasonCode::spread: return "spread";
    case ReasonCode::spread_label: return "spread_label";
    case ReasonCode::claim: return "claim";
    case ReasonCode::volume_node: return "volume_node";
    case ReasonCode::volume_none: return "volume_none";
    case ReasonCode::volume_limit: return "volume_limit";
    case ReasonCode::volume_in_use: return "volume_in_use";
  }
  return "unknown";
}

}  // namespace stowage::core
