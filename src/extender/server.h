// One listener of an extender: its routes, health, and certificates that are reloaded.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "extender/callback_responder.h"
#include "extender/extender.h"
#include "extender/forwarder.h"
#include "extender/pending_requests.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "net/status_paths.h"

namespace stowage::extender {

// What every extender serves besides its routes and own_routes().
inline constexpr std::array kStatusPaths{net::kHealthzPath, net::kLivezPath, net::kReadyzPath,
                                         net::kVersionPath};

class Server {
 public:
  // Listens at once. An error names the address and the reason, or what is wrong with a
  // certificate.
  struct Start {
    const Server* beside = nullptr;  // has the same address: the socket is shared
    bool accepts = true;             // false: accepts nothing until accept() is called
  };
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(ExtenderOptions options,
                                                              Extender::Deps deps, Start start);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] const Extender& extender() const { return extender_; }
  [[nodiscard]] std::string address() const;  // "0.0.0.0:39999"
  // Its URL with this host name.
  [[nodiscard]] std::string url(const std::string& host) const;
  [[nodiscard]] const std::string& host() const { return host_; }  // that it listens on
  // Forwards requests while Deps::leads returns false.
  [[nodiscard]] Forwarder& forwarder() { return forwarder_; }
  [[nodiscard]] const Forwarder& forwarder() const { return forwarder_; }
  [[nodiscard]] const PendingRequests& pending_requests() const { return pending_requests_; }
  [[nodiscard]] std::vector<scheduler::QueueFill> queues() const;
  void accept();
  // A request that did not come over our listener. `answer` is called once.
  void ask(Verb verb, std::string body, Answer answer);
  // Makes no more pre-allocations: requests for placement wait until another server answers, here
  // or elsewhere. Requests about existing pre-allocations are answered.
  void pause() { paused_ = true; }
  // Passes all requests to `next` from now on, also those that wait. `next` must outlive this
  // server. Null: they are not answered.
  void succeed(Server* next);
  // Accepts no more connections; requests under way may end.
  void shutdown(net::Duration grace, std::function<void()> done);

 private:
  Server(ExtenderOptions options, Extender::Deps deps);
  void serve(net::ServerRequest request, std::shared_ptr<net::Responder> responder);
  void take(PendingRequest question);
  [[nodiscard]] bool leads() const { return !deps_.leads || deps_.leads(); }
  void answer(PendingRequest question);
  void watch_certificates();
  Status forward_with(const net::ServerTls& own);

  Extender::Deps deps_;
  Extender extender_;
  Forwarder forwarder_;
  PendingRequests pending_requests_;
  std::string host_;
  std::unique_ptr<net::HttpServer> server_;
  bool accepts_ = true;
  bool paused_ = false;
  bool succeeded_ = false;
  Server* successor_ = nullptr;
  net::Timer timer_;
  net::ServerTls certificates_;  // in use
  std::string complaint_;        // last reported error about the files
};

}  // namespace stowage::extender
