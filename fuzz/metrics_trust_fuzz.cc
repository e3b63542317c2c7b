// The ConfigMap extension-apiserver-authentication, with the input for each of its values.
#include "fuzz/fuzz.h"
#include "metricsapi/trust.h"

namespace stowage::fuzz {

void one(std::string_view input) {
  for (const char* key :
       {"client-ca-file", "requestheader-client-ca-file", "requestheader-allowed-names",
        "requestheader-username-headers", "requestheader-extra-headers-prefix"}) {
    const auto trust = metricsapi::read_trust({{key, std::string(input)}});
    STOWAGE_CHECK(same(trust, metricsapi::read_trust({{key, std::string(input)}})));
    if (good(trust)) (void)metricsapi::authorities(*trust);
  }
}

}  // namespace stowage::fuzz
