// The Responder of one request. For src/net only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "net/body_budget.h"
#include "net/http_server.h"

namespace stowage::net {

class ServerConnection;

// Refers to its connection until the answer has been sent completely or the peer has gone; each
// side notifies the other when it goes.
class ServerAnswer final : public Responder, public std::enable_shared_from_this<ServerAnswer> {
 public:
  ServerAnswer(EventLoop& loop, ServerConnection& connection, BodyCharge charge)
      : loop_(loop), connection_(&connection), charge_(std::move(charge)) {}
  ~ServerAnswer() override;
  ServerAnswer(const ServerAnswer&) = delete;
  ServerAnswer& operator=(const ServerAnswer&) = delete;

  void send(HttpResponse response) override;
  void begin(HttpResponse head) override;
  void upgrade(std::string protocol, std::function<void(std::string_view)> data) override;
  void write(std::shared_ptr<const std::string> chunk) override;
  void end() override;
  [[nodiscard]] std::size_t backlog() const override;
  void abort() override;
  void on_closed(std::function<void()> closed) override;

  // Called by the connection, which must not be used any more: everything has been sent, or it ends
  // without a callback. May destroy the answer.
  void forget();
  // Called by the connection: runs the callback. May destroy the answer.
  void connection_lost();

 private:
  enum class Step { fresh, begun, complete };

  EventLoop& loop_;
  ServerConnection* connection_;
  BodyCharge charge_;  // of the request's body, which the handler may still hold
  Step step_ = Step::fresh;
  bool lost_ = false;
  std::function<void()> closed_;
};

}  // namespace stowage::net
