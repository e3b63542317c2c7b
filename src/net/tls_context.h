// The library's context behind TlsContext. For src/net only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/tls.h"

struct ssl_ctx_st;
struct x509_store_st;

namespace stowage::net {

struct FreeSslContext {
  void operator()(ssl_ctx_st* context) const;
};

struct FreeCertificateStore {
  void operator()(x509_store_st* store) const;
};

struct TlsContext {
  struct Authority {
    std::string name;
    std::unique_ptr<x509_store_st, FreeCertificateStore> store;
  };
  std::unique_ptr<ssl_ctx_st, FreeSslContext> context;
  std::string server_name;  // of ClientTls
  bool insecure = false;
  std::vector<Authority> client_authorities;  // of ServerTls
};

// The reason of the oldest queued error of the library; clears the queue.
[[nodiscard]] std::string take_tls_error();

}  // namespace stowage::net
