// The controller: one ledger, its doors, and a small server for health, metrics and debugging.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "controller/config.h"
#include "extender/server.h"
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
  // Where the extenders listen, by their names.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> extender_addresses() const;
  [[nodiscard]] std::string address() const;  // of the small server: "127.0.0.1:10360"
  // Stops deciding, lets binds in flight end (5 seconds at most), then calls `done`.
  void stop(std::function<void()> done);

  [[nodiscard]] const scheduler::Scheduler& scheduler() const { return *scheduler_; }

 private:
  Controller(net::EventLoop& loop, ControllerOptions options, base::Log& log);
  Status listen();
  Status listen_extenders();
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
  std::vector<std::unique_ptr<extender::Server>> extenders_;
  net::Timer summary_timer_;
  std::uint64_t summarised_bound_ = 0;
  std::uint64_t summarised_refused_ = 0;
};

}  // namespace stowage::controller
