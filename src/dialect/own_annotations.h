// Every annotation under our own name, and who writes it. deploy/admission.yaml forbids others to;
// a test holds the two together. Whoever adds an annotation adds a row.
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
// The node that an unbound pod is held on where no cards are named: written before the extender
// answers, so that the next leader knows of the hold.
inline constexpr std::string_view kPreAllocatedNodeAnnotation = "stowage.dev/pre-allocated-node";
inline constexpr std::string_view kRetryAnnotation = "stowage.dev/retry-since";
inline constexpr std::string_view kInventoryAnnotation = "stowage.dev/gpu-inventory";

enum class Writer : std::uint8_t {
  scheduler,  // we alone, on pods
  agent,      // the node itself, on its own Node object
  author,     // whoever makes the pod: wishes
};

struct OwnAnnotation {
  std::string_view key;
  Writer writer;
};
[[nodiscard]] std::span<const OwnAnnotation> own_annotations();

// The annotations of the pod under our name that mean nothing, in a sentence with what may have
// been meant; empty if there is none.
[[nodiscard]] std::string unknown_keys(const PodObject& pod);

// The annotations of the pod that only the scheduler writes.
[[nodiscard]] std::vector<std::string> scheduler_annotations(const PodObject& pod);

}  // namespace stowage::dialect
