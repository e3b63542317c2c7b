// A server on its own thread that a test can inspect. Requests for /echo... are answered at once
// with "METHOD target body"; those for /drop never; all others are held until the test answers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "net/http_server.h"
#include "net/testing/loops.h"
#include "net/testing/raw_socket.h"

namespace stowage::net::testing {

class HeldServer {
 public:
  explicit HeldServer(HttpServerOptions options) {
    on([&] {
      auto made = HttpServer::listen(
          thread_.loop(), std::move(options),
          [this](const ServerRequest& request, std::shared_ptr<Responder> responder) {
            handle(request, std::move(responder));
          });
      STOWAGE_CHECK(made);
      server = std::move(*made);
      port_ = server->port();
    });
  }
  ~HeldServer() {
    on([this] {
      held.clear();
      server.reset();
    });
  }
  HeldServer(const HeldServer&) = delete;
  HeldServer& operator=(const HeldServer&) = delete;

  void on(const std::function<void()>& work) { thread_.on(work); }
  [[nodiscard]] EventLoop& loop() { return thread_.loop(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] RawSocket connect() const { return RawSocket::connect(port_); }

  // Waits until `ready` is true on the loop's thread; false after a time limit.
  bool wait_for(const std::function<bool()>& ready) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    bool good = false;
    while (!good && std::chrono::steady_clock::now() < give_up) {
      on([&] { good = ready(); });
      if (!good) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return good;
  }

  // The responder of a request that the server has received, or will receive soon.
  std::shared_ptr<Responder> responder(const std::string& target) {
    std::shared_ptr<Responder> found;
    STOWAGE_CHECK(wait_for([&] {
      const auto at = held.find(target);
      if (at != held.end()) found = at->second;
      return found != nullptr;
    }));
    return found;
  }

  // Only used on the loop's thread.
  std::unique_ptr<HttpServer> server;
  std::map<std::string, std::shared_ptr<Responder>> held;
  ServerRequest last;
  int handled = 0;
  int closed = 0;  // calls of on_closed

 private:
  void handle(const ServerRequest& request, std::shared_ptr<Responder> responder) {
    ++handled;
    last = request;
    const std::string& target = request.http.target;
    if (target == "/drop") return;
    if (target.starts_with("/echo")) {
      responder->send(
          {.status = 200, .body = request.http.method + " " + target + " " + request.http.body});
      return;
    }
    responder->on_closed([this] { ++closed; });
    held[target] = std::move(responder);
  }

  LoopThread thread_;
  std::uint16_t port_ = 0;
};

}  // namespace stowage::net::testing
