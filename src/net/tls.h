// Certificates and keys as PEM text, checked when they are taken in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace stowage::net {

struct ClientTls {
  std::string ca_pem;           // certificates to trust; empty: those of the system
  std::string certificate_pem;  // our own, with its chain; empty: none
  std::string key_pem;
  std::string server_name;  // to expect in the peer's certificate; empty: the host of the URL
  bool insecure = false;    // do not verify the peer
};

struct ServerTls {
  std::string certificate_pem;  // with its chain
  std::string key_pem;
  std::string client_ca_pem;  // verify client certificates against these; empty: ask for none
  bool client_required = false;
};

// A checked set of certificates, shared by connections. New connections use the newest one.
struct TlsContext;  // the library's context, for src/net alone
[[nodiscard]] Result<std::shared_ptr<TlsContext>> make_client_tls(const ClientTls& tls);
[[nodiscard]] Result<std::shared_ptr<TlsContext>> make_server_tls(const ServerTls& tls);

// The first name or address that the (first) certificate is for. An error if there is none.
[[nodiscard]] Result<std::string> first_host(const std::string& certificate_pem);

// A key and a certificate for `hosts` (names or addresses) signed by itself, valid for `days`.
struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;
};
struct CertificateAsk {
  std::string common_name;
  std::vector<std::string> hosts;
  int days = 365;  // not positive: one that has expired, for tests
  std::vector<std::string> organisations;
};
[[nodiscard]] Result<KeyPair> make_self_signed(const CertificateAsk& ask);

}  // namespace stowage::net
