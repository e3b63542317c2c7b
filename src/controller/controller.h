// The controller: one ledger, its doors, and a small server for health, metrics and debugging.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "controller/config.h"
#include "kube/api_client.h"
#include "kube/kubeconfig.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "scheduler/scheduler.h"

namespace stowage::controller {

struct ControllerOptions {
  Config config;
  kube::ClientConfig cluster;
};

class Controller {
 public:
  // Listens, and is ready to start. `log` outlives the controller.
  [[nodiscard]] static Result<std::unique_ptr<Controller>> create(net::EventLoop& loop,
                                                                  ControllerOptions options,
                                                                  base::Log& log);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  void start();
  [[nodiscard]] bool ready() const;
  // Why it is not ready; empty if it is.
  [[nodiscard]] std::string trouble() const;
  [[nodiscard]] std::string address() const;  // of the small server: "127.0.0.1:10360"
  // Stops deciding, lets binds in flight end (5 seconds at most), then calls `done`.
  void stop(std::function<void()> done);

  [[nodiscard]] const scheduler::Scheduler& scheduler() const { return *scheduler_; }

 private:
  Controller(net::EventLoop& loop, ControllerOptions options, base::Log& log);
  Status listen();
  void serve(const net::ServerRequest& request, const std::shared_ptr<net::Responder>& responder);
  void serve_debug(const net::ServerRequest& request, const std::string& path,
                   const std::shared_ptr<net::Responder>& responder);
  void summarise();

  net::EventLoop& loop_;
  ControllerOptions options_;
  base::Log& log_;
  std::unique_ptr<kube::ApiClient> client_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<net::HttpServer> server_;
  net::Timer summary_timer_;
  std::uint64_t summarised_bound_ = 0;
  std::uint64_t summarised_refused_ = 0;
};

// "127.0.0.1:10360" or "[::1]:10360" or ":10360" taken apart.
struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;
};
[[nodiscard]] Result<ListenAddress> parse_listen(const std::string& text);

}  // namespace stowage::controller
