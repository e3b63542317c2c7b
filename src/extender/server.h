// One listener of an extender: its routes, health, and certificates that may change under it.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "extender/extender.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace stowage::extender {

class Server {
 public:
  // Listens at once. An error says on which address and why, or what is wrong with a certificate.
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(ExtenderOptions options,
                                                              Extender::Ends ends);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] const Extender& extender() const { return extender_; }
  [[nodiscard]] std::string address() const;  // "0.0.0.0:39999"
  void shutdown(net::Duration grace, std::function<void()> done);

 private:
  Server(ExtenderOptions options, Extender::Ends ends);
  void serve(net::ServerRequest request, std::shared_ptr<net::Responder> responder);
  void watch_certificates();

  Extender::Ends ends_;
  Extender extender_;
  std::string host_;
  std::unique_ptr<net::HttpServer> server_;
  net::Timer timer_;
  net::ServerTls certificates_;  // in force
  std::string complaint_;        // about the files, told already
};

}  // namespace stowage::extender
