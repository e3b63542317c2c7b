// Parses certificates and keys from PEM text. For src/net only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct x509_st;
struct evp_pkey_st;

namespace stowage::net {

struct FreeCertificate {
  void operator()(x509_st* certificate) const;
};
struct FreeKey {
  void operator()(evp_pkey_st* key) const;
};
using CertificatePtr = std::unique_ptr<x509_st, FreeCertificate>;
using KeyPtr = std::unique_ptr<evp_pkey_st, FreeKey>;

// At least one; errors begin with `what`.
[[nodiscard]] Result<std::vector<CertificatePtr>> parse_certificates(const std::string& pem,
                                                                     std::string_view what);
// A key without a passphrase.
[[nodiscard]] Result<KeyPtr> parse_key(const std::string& pem, std::string_view what);

// The names and addresses that a certificate is for, in its order.
[[nodiscard]] std::vector<std::string> hosts_of(x509_st* certificate);

}  // namespace stowage::net
