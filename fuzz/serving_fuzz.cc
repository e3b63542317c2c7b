// A Secret, an APIService and a configuration of webhooks: reading them twice gives the same, and
// what is written can be read.
#include "codec/serving.h"
#include "fuzz/fuzz.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  const auto service = codec::read_api_service(input);
  (void)good(service);
  STOWAGE_CHECK(same(service, codec::read_api_service(input)));
  const auto hooks = codec::read_webhooks(input);
  (void)good(hooks);
  STOWAGE_CHECK(same(hooks, codec::read_webhooks(input)));
  const auto secret = codec::read_secret(input);
  STOWAGE_CHECK(same(secret, codec::read_secret(input)));
  if (!good(secret)) return;
  codec::SecretRequest ask;
  ask.resource_version = secret->resource_version;
  for (const auto& [key, text] : secret->data) {
    if (!text.empty()) ask.data.emplace(key, text);
  }
  const auto patched = codec::read_secret(codec::secret_patch(ask));
  STOWAGE_CHECK(patched && patched->data == ask.data);
}

}  // namespace stowage::fuzz
