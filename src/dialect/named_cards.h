// Cards in one annotation per container, keyed by container name: "0,1".
#pragma once

#include <string_view>

#include "dialect/table.h"

namespace stowage::dialect {

struct NamedCards {
  std::string_view assumed;           // annotation and label that mark the others as complete
  std::string_view container_prefix;  // start of the annotation keys, before the container name
};

void write_named_cards(const NamedCards& keys, const AnswerRequest& ask, Answer& out);

[[nodiscard]] Result<std::optional<core::Assignment>> read_named_cards(const NamedCards& keys,
                                                                       const PodObject& object,
                                                                       const core::PodSpec& pod,
                                                                       const core::NodeSpec& node);

}  // namespace stowage::dialect
