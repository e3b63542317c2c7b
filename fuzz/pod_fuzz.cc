// Decoder::pod: a used decoder gives the same result as a fresh one, and a pod inside an extender's
// body is the same pod.
#include <string>

#include "base/testing/json_check.h"
#include "codec/extender.h"
#include "codec/kubernetes.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  codec::Decoder used;
  const auto pod = used.pod(input);
  STOWAGE_CHECK(same(pod, used.pod(input)));
  if (!good(pod)) return;
  const auto args = codec::ExtenderDecoder().args(R"({"Pod":)" + std::string(input) + "}");
  if (good(args)) STOWAGE_CHECK(args->pod == *pod);
  STOWAGE_CHECK(args || !base::JsonCheck::valid(input));  // skipped parts may be anything
}

}  // namespace stowage::fuzz
