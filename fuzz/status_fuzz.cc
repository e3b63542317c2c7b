// Decoder::status: a status that was read, then written, is read as the same.
#include "base/json_writer.h"
#include "codec/kubernetes.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {
namespace {

std::string written(const codec::StatusObject& status) {
  base::JsonWriter out(base::JsonWriter::Style::compact);
  out.begin_object().key("kind").value(status.own_kind).key("code").value(status.code);
  out.key("status").value(status.status);
  out.key("reason").value(status.reason).key("message").value(status.message);
  out.key("metadata").begin_object().key("continue").value(status.continue_token).end_object();
  out.key("details").begin_object().key("kind").value(status.kind).key("name").value(status.name);
  out.key("retryAfterSeconds").value(status.retry_after_seconds).key("causes").begin_array();
  for (const codec::StatusCause& cause : status.causes) {
    out.begin_object().key("reason").value(cause.reason).key("message").value(cause.message);
    out.key("field").value(cause.field).end_object();
  }
  out.end_array().end_object().end_object();
  return out.take();
}

}  // namespace

void one(std::string_view input) {
  codec::Decoder decoder;
  const auto status = decoder.status(input);
  if (!good(status)) return;
  const auto again = decoder.status(written(*status));
  STOWAGE_CHECK(again && *again == *status);
}

}  // namespace stowage::fuzz
