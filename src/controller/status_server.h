// The small server of the controller: health, metrics, and under /debug/ what only those may see
// and do whom the API server trusts with it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "controller/profiler.h"
#include "kube/gatekeeper.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "scheduler/scheduler.h"

namespace stowage::controller {

class StatusServer {
 public:
  struct Ends {
    kube::ApiClient& client;
    base::Log& log;
    std::function<std::string()> trouble;              // why it is not ready; empty if it is
    std::function<std::string()> metrics;              // in the text format of Prometheus
    std::function<scheduler::Scheduler&()> scheduler;  // the one at work
  };
  struct Options {
    std::string listen;            // "127.0.0.1:10360"
    bool loopback_trusted = true;  // who comes from this machine needs no token for /debug/
  };
  [[nodiscard]] static Result<std::unique_ptr<StatusServer>> listen(const Options& options,
                                                                    Ends ends);
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;
  ~StatusServer();

  [[nodiscard]] std::string address() const;  // "127.0.0.1:10360"
  [[nodiscard]] kube::Gatekeeper::Counters gate() const { return gatekeeper_.counters(); }
  void shutdown(net::Duration grace, std::function<void()> done);

 private:
  StatusServer(const Options& options, Ends ends);
  using Answer = std::shared_ptr<net::Responder>;
  void serve(const net::ServerRequest& request, const Answer& answer);
  void admit(const net::ServerRequest& request, const std::string& path, const Answer& answer);
  void serve_debug(const net::ServerRequest& request, const std::string& path,
                   const Answer& answer);
  void send_health(const Answer& answer) const;
  void send_record(const net::Target& target, const Answer& answer);
  void send_cpu_profile(const net::Target& target, const Answer& answer);
  void set_log_level(std::string word, const Answer& answer);

  const Options options_;
  Ends ends_;
  kube::Gatekeeper gatekeeper_;
  Profiler profiler_;
  std::string host_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace stowage::controller
