// Certificates and keys as PEM text, checked when they are loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace stowage::net {

struct ClientTls {
  std::string ca_pem;           // certificates to trust; empty: those of the system
  std::string certificate_pem;  // our own, with its chain; empty: none
  std::string key_pem;
  std::string server_name;  // expected in the peer's certificate; empty: the host of the URL
  bool insecure = false;    // do not verify the peer
};

// Authorities that sign client certificates of one group.
struct ClientAuthority {
  std::string name;  // as reported in ServerRequest::client_authorities
  std::string ca_pem;
};

// Client certificates are verified against client_ca_pem and client_authorities together. If both
// are empty, clients are not asked for certificates.
struct ServerTls {
  std::string certificate_pem;  // with its chain
  std::string key_pem;
  std::string client_ca_pem;
  bool client_required = false;
  std::vector<ClientAuthority> client_authorities = {};
};

// A checked set of certificates, shared by connections. New connections use the newest one.
struct TlsContext;  // the library's context, for src/net only
[[nodiscard]] Result<std::shared_ptr<TlsContext>> make_client_tls(const ClientTls& tls);
[[nodiscard]] Result<std::shared_ptr<TlsContext>> make_server_tls(const ServerTls& tls);

// The first name or address in the (first) certificate. An error if it has none.
[[nodiscard]] Result<std::string> first_host(const std::string& certificate_pem);

// A key and a certificate for `hosts` (names or addresses), valid for `days`.
struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;
  friend bool operator==(const KeyPair&, const KeyPair&) = default;
};
struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> hosts;
  int days = 365;  // not positive: an expired one, for tests
  std::vector<std::string> organisations;
  std::optional<std::int64_t> now_unix = std::nullopt;  // unset: by the system's clock
};
// Self-signed: for a server, a client, and to sign others.
[[nodiscard]] Result<KeyPair> make_self_signed(const CertificateRequest& ask);
// Self-signed, and only to sign others.
[[nodiscard]] Result<KeyPair> make_authority(const CertificateRequest& ask);
// For a server or a client, signed by that authority.
[[nodiscard]] Result<KeyPair> make_signed(const CertificateRequest& ask, const KeyPair& authority);

// The contents of a (first) certificate.
struct CertificateFacts {
  std::int64_t begins_unix = 0;
  std::int64_t ends_unix = 0;
  std::vector<std::string> hosts;
  friend bool operator==(const CertificateFacts&, const CertificateFacts&) = default;
};
[[nodiscard]] Result<CertificateFacts> read_certificate(const std::string& certificate_pem);
// An error unless the key belongs to the (first) certificate.
[[nodiscard]] Status check_pair(const KeyPair& pair);
// An error unless the (first) certificate was signed by that authority. Does not check times.
[[nodiscard]] Status check_signature(const std::string& certificate_pem,
                                     const std::string& authority_pem);

}  // namespace stowage::net
