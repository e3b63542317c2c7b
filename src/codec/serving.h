// Where the certificates of a server are kept (a Secret), and by what the API server learns whom to
// trust (an APIService).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stowage::codec {

struct Secret {
  std::string resource_version;
  std::map<std::string, std::string> data;  // in base64, as it is written
  friend bool operator==(const Secret&, const Secret&) = default;
};
[[nodiscard]] Result<Secret> read_secret(std::string_view json);

struct SecretAsk {
  std::string ns;
  std::string name;
  std::string type = "Opaque";  // of one to be created
  // The patch is refused by the server if the secret has changed since this version.
  std::string resource_version;
  std::map<std::string, std::string> data;  // in base64; an empty text removes the key
};
// A whole secret, to be created.
[[nodiscard]] std::string secret(const SecretAsk& ask);
// Merge patch of one that is there. Keys that are not named stay.
[[nodiscard]] std::string secret_patch(const SecretAsk& ask);

struct ApiService {
  std::string resource_version;
  std::string service;  // that requests go to; empty: the API server answers them itself
  std::string service_ns;
  std::string ca_bundle;  // in base64, as it is written
  bool insecure = false;
  friend bool operator==(const ApiService&, const ApiService&) = default;
};
[[nodiscard]] Result<ApiService> read_api_service(std::string_view json);
// Merge patch: certificates of these authorities (in base64) are trusted, and no others. Refused by
// the server if the object has changed since that version.
struct ApiServicePatch {
  std::string resource_version;
  std::string ca_bundle;
};
[[nodiscard]] std::string api_service_patch(const ApiServicePatch& patch);

}  // namespace stowage::codec
