// What a pod of any dialect may want besides amounts, by our own annotations: which cards, how they
// are connected, and by which policy it is placed; docs/dialects.md lists them. Errors name the
// annotation and say what to write instead.
#pragma once

#include <string_view>

#include "base/result.h"
#include "dialect/dialect.h"

namespace stowage::dialect {

// Adds the cards that the pod accepts and their topology to each ask for cards. Which cards is said
// once, in our annotations or in those of the dialect; of two topologies ours counts.
[[nodiscard]] Status read_card_wishes(const PodObject& pod, Reading& reading);

// Adds the pod's own policy, for each half that it names; ours count before the dialect's own.
[[nodiscard]] Status read_policy_wish(const PodObject& pod, core::PolicyWish& wish);

// none, numa, numa-strict, link or link-strict, as the value of this annotation.
[[nodiscard]] Result<core::Topology> parse_topology(const PodObject& pod, std::string_view key,
                                                    std::string_view text);

// pod ml/train: annotation <key> is "<text>"; <words>
[[nodiscard]] tl::unexpected<Error> bad_annotation(const PodObject& pod, std::string_view key,
                                                   std::string_view text, std::string_view words);

}  // namespace stowage::dialect
