// Serves an Api over HTTP on loopback: what stock kubectl and the clients of schedulers need of a
// Kubernetes API server. No authentication: every client that can connect may do everything.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "base/result.h"
#include "local/api.h"
#include "local/rest.h"
#include "local/watch_stream.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace stowage::local {

struct ApiServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  ServerVersion version;
  WatchLimits watches;
};

class ApiServer {
 public:
  // Takes over the delivery of the store's events: they are delivered on `loop`.
  ApiServer(net::EventLoop& loop, Api& api, ApiServerOptions options);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  [[nodiscard]] Status listen();
  [[nodiscard]] std::uint16_t port() const;  // 0 before listen()
  [[nodiscard]] std::string url() const;     // "http://127.0.0.1:8001"
  [[nodiscard]] std::size_t watches() const { return streams_.size(); }

 private:
  void handle(const net::HttpRequest& request, const std::shared_ptr<net::Responder>& responder);
  void start_watch(const Call& call, const std::shared_ptr<net::Responder>& responder);
  void arm_tick();
  void tick();

  net::EventLoop& loop_;
  Api& api_;
  ApiServerOptions options_;
  Rest rest_;
  std::list<std::shared_ptr<WatchStream>> streams_;
  net::Timer timer_;
  bool fast_ = false;  // the timer runs fast: a stream is behind
  bool armed_ = false;
  std::shared_ptr<bool> alive_;  // for work that is posted to the loop
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace stowage::local
