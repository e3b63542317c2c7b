// The values of our own annotations, written and read; docs/contract.md describes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/dialect.h"
#include "dialect/table.h"

namespace stowage::dialect {

// kGpusAnnotation: the cards of each container. Followers name the cards of the container that asks
// with amounts of 0.
[[nodiscard]] std::string gpus_text(const AnswerAsk& ask,
                                    const std::vector<std::size_t>& followers);

// Every container that asks must be given exactly what it asks for, on cards that the node has.
[[nodiscard]] Result<core::Assignment> parse_gpus(std::string_view text, const core::PodSpec& pod,
                                                  const core::NodeSpec& node);

// kInventoryAnnotation. The name is that of the node.
[[nodiscard]] Result<CardSource> parse_inventory(std::string_view text, const std::string& name);

}  // namespace stowage::dialect
