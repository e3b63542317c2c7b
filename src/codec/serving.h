// The Secret that stores the certificates of a server, and the APIService and the
// MutatingWebhookConfiguration that tell the API server which authorities to trust.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stowage::codec {

struct Secret {
  std::string resource_version;
  std::map<std::string, std::string> data;  // base64, as written
  friend bool operator==(const Secret&, const Secret&) = default;
};
[[nodiscard]] Result<Secret> read_secret(std::string_view json);

struct SecretRequest {
  std::string ns;
  std::string name;
  std::string type = "Opaque";  // of a new secret
  // The server rejects the patch if the secret has changed since this version.
  std::string resource_version;
  std::map<std::string, std::string> data;  // base64; an empty text removes the key
};
// A complete secret to create.
[[nodiscard]] std::string secret(const SecretRequest& ask);
// Merge patch of an existing secret. Other keys are unchanged.
[[nodiscard]] std::string secret_patch(const SecretRequest& ask);

struct ApiService {
  std::string resource_version;
  std::string service;  // target of the requests; empty: the API server answers them itself
  std::string service_ns;
  std::string ca_bundle;  // base64, as written
  bool insecure = false;
  friend bool operator==(const ApiService&, const ApiService&) = default;
};
[[nodiscard]] Result<ApiService> read_api_service(std::string_view json);
// Merge patch: trust only certificates of these authorities (base64). The server rejects it if the
// object has changed since that version.
struct ApiServicePatch {
  std::string resource_version;
  std::string ca_bundle;
};
[[nodiscard]] std::string api_service_patch(const ApiServicePatch& patch);

struct WebhookConfiguration {
  struct Hook {
    std::string name;
    std::string service;  // empty: it is called by a URL
    std::string service_ns;
    std::string ca_bundle;  // base64, as written
    friend bool operator==(const Hook&, const Hook&) = default;
  };
  std::string resource_version;
  std::vector<Hook> hooks;
  friend bool operator==(const WebhookConfiguration&, const WebhookConfiguration&) = default;
};
inline constexpr std::size_t kHooksMax = 256;
[[nodiscard]] Result<WebhookConfiguration> read_webhooks(std::string_view json);
// Strategic merge patch: the CA bundle of these hooks. The server rejects it if the object has
// changed since that version.
struct WebhooksPatch {
  std::string resource_version;
  std::vector<std::string> hooks;  // by name
  std::string ca_bundle;
};
[[nodiscard]] std::string webhooks_patch(const WebhooksPatch& patch);

}  // namespace stowage::codec
