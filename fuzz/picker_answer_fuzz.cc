// picker_answer: a node that was read, then written, is read as the same.
#include "base/json_writer.h"
#include "codec/picker.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto node = codec::picker_answer(input);
  if (!good(node)) return;
  base::JsonWriter out(base::JsonWriter::Style::compact);
  out.begin_object().key("node").value(*node).end_object();
  const auto again = codec::picker_answer(out.take());
  STOWAGE_CHECK(again && *again == *node);
}

}  // namespace stowage::fuzz
