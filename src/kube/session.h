// The transport to the server: connections, certificates and credentials together. Used by
// ApiClient.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "kube/api_client.h"
#include "kube/credentials.h"
#include "net/event_loop.h"
#include "net/http_client.h"

namespace stowage::kube {

class Session {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Session>> create(net::EventLoop& loop,
                                                               ClientConfig config,
                                                               const ApiClientOptions& options);

  [[nodiscard]] net::HttpCaller& http() { return *http_; }
  [[nodiscard]] CredentialSource& credentials() { return credentials_; }
  [[nodiscard]] const ClientConfig& config() const { return config_; }

  // Makes sure that current() has a credential and that new connections use its certificate.
  void fetch(CredentialSource::Ready ready);

  // The request with all headers. Leaves the call unchanged, because it may be sent again.
  [[nodiscard]] net::HttpRequest request_for(const ApiCall& call,
                                             const Credential& credential) const;

  [[nodiscard]] std::uint64_t failures() const {
    return failures_;
  }  // failed renewals of
     // certificates

 private:
  Session(net::EventLoop& loop, ClientConfig config, const ApiClientOptions& options,
          std::shared_ptr<net::TlsContext> tls);
  void watch_ca_file();
  void reread_ca();
  [[nodiscard]] Status renew_tls(const Credential* credential);

  const ClientConfig config_;
  net::Headers headers_;  // of every request
  std::unique_ptr<net::HttpCaller> http_;
  CredentialSource credentials_;
  net::Timer ca_timer_;
  net::Duration reread_every_;
  std::string ca_pem_;
  std::string certificate_pem_;  // of the plugin, in use
  std::uint64_t failures_ = 0;
};

}  // namespace stowage::kube
