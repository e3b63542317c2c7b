// parse_decision: a decision that was read, then written, is read as the same.
#include "core/record/decision.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto record = core::parse_decision(input);
  if (!good(record)) return;
  const std::string text = core::to_text(*record);
  const auto again = core::parse_decision(text);
  STOWAGE_CHECK(again && core::to_text(*again) == text);
}

}  // namespace stowage::fuzz
