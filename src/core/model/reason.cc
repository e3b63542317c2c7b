#include "core/model/reason.h"

namespace stowage::core {

const char* to_word(ReasonCode code) {
  switch (code) {
    case ReasonCode::none: return "none";
    case ReasonCode::not_schedulable: return "not_schedulable";
    case ReasonCode::taint: return "taint";
    case ReasonCode::node_affinity: return "node_affinity";
    case ReasonCode::no_cards: return "no_cards";
    case ReasonCode::not_offered: return "not_offered";
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
    case ReasonCode::held_back: return "held_back";
    case ReasonCode::cpu: return "cpu";
    case ReasonCode::memory: return "memory";
    case ReasonCode::ephemeral: return "ephemeral";
    case ReasonCode::pods: return "pods";
    case ReasonCode::extended: return "extended";
  }
  return "unknown";
}

}  // namespace stowage::core
