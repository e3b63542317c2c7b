// Writes and reads the values of our own annotations; docs/contract.md describes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/dialect.h"
#include "dialect/table.h"

namespace stowage::dialect {

// kGpusAnnotation: the cards of each container. Followers list the cards of the requesting
// container with amounts of 0.
[[nodiscard]] std::string gpus_text(const AnswerRequest& ask,
                                    const std::vector<std::size_t>& followers);

// Every requesting container must have exactly what it requests, on cards of the node.
[[nodiscard]] Result<core::Assignment> parse_gpus(std::string_view text, const core::PodSpec& pod,
                                                  const core::NodeSpec& node);

// kInventoryAnnotation. `name` is the name of the node.
[[nodiscard]] Result<CardSource> parse_inventory(std::string_view text, const std::string& name);

}  // namespace stowage::dialect
