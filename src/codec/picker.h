// The request to the external picker and its answer: JSON of the API picker.stowage.dev/v1, which
// docs/picker.md describes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/model/event.h"
#include "core/model/pod.h"
#include "dialect/objects.h"

namespace stowage::codec {

inline constexpr const char* kPickerApiVersion = "picker.stowage.dev/v1";

struct PickerQuestion {
  const dialect::PodObject& object;  // names and annotations
  const core::PodSpec& pod;          // its requests
  const core::AskPicker& ask;
};
// Annotations with long values are omitted.
[[nodiscard]] std::string picker_question(const PickerQuestion& question);

// The picked node; empty: no choice. Requires an answer of at most 64 KiB.
[[nodiscard]] Result<std::string> picker_answer(std::string_view json);

}  // namespace stowage::codec
