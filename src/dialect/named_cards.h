// Cards written as one annotation for each container, by the container's name: "0,1".
#pragma once

#include <string_view>

#include "dialect/table.h"

namespace stowage::dialect {

struct NamedCards {
  std::string_view assumed;           // the annotation and label that say that the rest is there
  std::string_view container_prefix;  // of the annotations, before the name of the container
};

void write_named_cards(const NamedCards& keys, const AnswerAsk& ask, Answer& out);

[[nodiscard]] Result<std::optional<core::Assignment>> read_named_cards(const NamedCards& keys,
                                                                       const PodObject& object,
                                                                       const core::PodSpec& pod,
                                                                       const core::NodeSpec& node);

}  // namespace stowage::dialect
