// ExtenderDecoder::binding: a binding that was read, then written, is read as the same.
#include "base/json_writer.h"
#include "codec/extender.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  codec::ExtenderDecoder decoder;
  const auto args = decoder.binding(input);
  if (!good(args)) return;
  STOWAGE_CHECK(!args->pod_name.empty() && !args->pod_namespace.empty());
  base::JsonWriter out(base::JsonWriter::Style::compact);
  out.begin_object().key("podname").value(args->pod_name).key("NODE").value(args->node);
  out.key("PodUID").value(args->pod_uid).key("PodNamespace").value(args->pod_namespace);
  const auto again = decoder.binding(out.end_object().take());
  STOWAGE_CHECK(again && *again == *args);
  const auto result = decoder.binding(codec::encode_binding_result(input));
  STOWAGE_CHECK(!result && result.error().message == "PodName: missing or empty");
}

}  // namespace stowage::fuzz
