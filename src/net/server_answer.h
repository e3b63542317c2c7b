// The Responder of one request. For src/net alone.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "net/body_budget.h"
#include "net/http_server.h"

namespace stowage::net {

class ServerConnection;

// Knows its connection as long as the answer is not sent completely and the peer is there; both
// sides are told when the other goes.
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

  // By the connection, which is not to be used any more: everything has been sent, or it ends
  // without a word. May destroy the answer.
  void forget();
  // By the connection: calls back. May destroy the answer.
  void connection_lost();

 private:
  enum class Step { fresh, begun, complete };

  EventLoop& loop_;
  ServerConnection* connection_;
  BodyCharge charge_;  // for the request's body, which whoever answers may still hold
  Step step_ = Step::fresh;
  bool lost_ = false;
  std::function<void()> closed_;
};

}  // namespace stowage::net
