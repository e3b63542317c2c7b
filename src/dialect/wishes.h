// A pod's wishes besides amounts, in our own annotations, for all dialects: which cards, how they
// are connected, and the placement policy; docs/dialects.md lists them. Errors name the annotation
// and say what to write instead.
#pragma once

#include <string_view>

#include "base/result.h"
#include "dialect/dialect.h"

namespace stowage::dialect {

// Adds the accepted cards and their topology to each card request. The accepted cards may be given
// only once, in our annotations or in the dialect's. If there are two topologies, ours counts.
[[nodiscard]] Status read_card_wishes(const PodObject& pod, Reading& reading);

// Adds the pod's own policy for nodes and cards; our annotations take precedence over the
// dialect's.
[[nodiscard]] Status read_policy_wish(const PodObject& pod, core::PolicyWish& wish);

// The value of this annotation: none, numa, numa-strict, link or link-strict.
[[nodiscard]] Result<core::Topology> parse_topology(const PodObject& pod, std::string_view key,
                                                    std::string_view text);

// pod ml/train: annotation <key> is "<text>"; <words>
[[nodiscard]] tl::unexpected<Error> bad_annotation(const PodObject& pod, std::string_view key,
                                                   std::string_view text, std::string_view words);

}  // namespace stowage::dialect
