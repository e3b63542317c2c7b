// What the controller decided for one container: the cards in the signed annotation of its pod.
// Pure, apart from the signature's arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"
#include "dialect/objects.h"
#include "kube/seal.h"
#include "mps/client_limits.h"

namespace stowage::plugin {

struct ContainerDecision {
  std::vector<std::string> cards;  // ids, in the order of the annotation
  // Of each card. For the card of another container of the pod: what that one has of it.
  std::vector<mps::Share> shares;
  std::int64_t decided_nanos = 0;
};

struct DecisionAnswer {
  enum class Kind : std::uint8_t {
    decided,
    wrong,        // and it stays wrong: `why` is a sentence for the pod's author or operator
    unknown_key,  // signed by a key that we may get soon
  };
  Kind kind = Kind::wrong;
  ContainerDecision decision;
  std::string why;
};

struct DecisionQuestion {
  const dialect::PodObject& pod;
  std::string_view container;
  std::string_view node;  // ours
};
[[nodiscard]] DecisionAnswer decision_for(const DecisionQuestion& ask, const kube::Keyring& keys);

// Unset if this node has all these cards and they are healthy; else a sentence about one that it
// lacks.
[[nodiscard]] std::optional<std::string> card_trouble(const std::vector<std::string>& ids,
                                                      const std::vector<core::Card>& cards,
                                                      std::string_view node);

}  // namespace stowage::plugin
