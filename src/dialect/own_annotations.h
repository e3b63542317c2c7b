// Every annotation in our own domain, and its writer. deploy/admission.yaml forbids other writers
// of what the scheduler and agents write, and a test compares both. Add a row for every new
// annotation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/objects.h"

namespace stowage::dialect {

// Our own annotations; docs/contract.md describes their values.
inline constexpr std::string_view kGpusAnnotation = "stowage.dev/gpus";
inline constexpr std::string_view kSignatureAnnotation = "stowage.dev/signature";
// The node on which an unbound pod is held without named cards. Written before the extender
// answers, so that the next leader can restore the hold.
inline constexpr std::string_view kPreAllocatedNodeAnnotation = "stowage.dev/pre-allocated-node";
inline constexpr std::string_view kRetryAnnotation = "stowage.dev/retry-since";
inline constexpr std::string_view kInventoryAnnotation = "stowage.dev/gpu-inventory";
inline constexpr std::string_view kCordonedCardsAnnotation = "stowage.dev/cordoned-cards";

enum class Writer : std::uint8_t {
  scheduler,  // only we, on pods
  agent,      // the node, on its own Node object
  admin,      // an administrator, on a node
  author,     // the author of the pod: wishes
};

struct OwnAnnotation {
  std::string_view key;
  Writer writer;
};
[[nodiscard]] std::span<const OwnAnnotation> own_annotations();

// A message about unknown annotations of the pod in our domain, with suggestions; empty if there
// are none.
[[nodiscard]] std::string unknown_keys(const PodObject& pod);

// The annotations of the pod that only the scheduler writes.
[[nodiscard]] std::vector<std::string> scheduler_annotations(const PodObject& pod);

}  // namespace stowage::dialect
