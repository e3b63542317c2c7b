// Renders refusals as text. The event, the condition, the command line, the API and the web page
// all show these sentences. Only the extender also has the phrases of the systems that it replaces
// (extender/reason_texts.h).
#pragma once

#include <string>

#include "core/model/reason.h"

namespace stowage::core {

// "0/20 nodes are available: 12 insufficient GPU memory (largest free share 4096 MiB, asked 8192),
// 8 GPU model mismatch."
[[nodiscard]] std::string render(const Refusal& refusal);

// The nearest request that would fit, e.g. "fits with memory <= 11264 MiB" or "needs 2 free cards
// on one node; the best node has 1". Empty if no smaller request of the failing kind would fit.
[[nodiscard]] std::string nearest_fit(const Refusal& refusal);

// Both: the reason and the nearest fit, as shown in events and conditions.
[[nodiscard]] std::string sentence(const Refusal& refusal);

// The reason only, without numbers: "insufficient GPU memory".
[[nodiscard]] const char* phrase(ReasonCode code);

// One node's reason, e.g. "insufficient GPU memory (largest free share 4096 MiB, asked 8192)".
[[nodiscard]] std::string render(const Reason& reason);

}  // namespace stowage::core
