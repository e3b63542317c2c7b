// The library's context behind TlsContext. For src/net alone.
#pragma once

#include <memory>
#include <string>

#include "net/tls.h"

struct ssl_ctx_st;

namespace stowage::net {

struct FreeSslContext {
  void operator()(ssl_ctx_st* context) const;
};

struct TlsContext {
  std::unique_ptr<ssl_ctx_st, FreeSslContext> context;
  std::string server_name;  // of ClientTls
  bool insecure = false;
};

// The reason of the library's oldest error that waits, in words; its list is empty afterwards.
[[nodiscard]] std::string take_tls_error();

}  // namespace stowage::net
