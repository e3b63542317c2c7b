// The status server of the controller: health, metrics, and debugging under /debug/ for clients
// that the API server authorizes.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "controller/profiler.h"
#include "kube/delegated_auth.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "net/status_paths.h"
#include "scheduler/scheduler.h"

namespace stowage::controller {

inline constexpr std::string_view kDebugPrefix = "/debug/";
inline constexpr std::string_view kStatePath = "/debug/state";
inline constexpr std::string_view kLogLevelPath = "/debug/log-level";
inline constexpr std::string_view kCpuProfilePath = "/debug/profile/cpu";
inline constexpr std::string_view kHeapProfilePath = "/debug/profile/heap";

// All paths, with their query options. PUT only for the log level, GET for all.
struct StatusPath {
  std::string_view path;
  std::string_view query = {};
};
inline constexpr std::array<StatusPath, 9> kStatusPaths{{{net::kHealthzPath},
                                                         {net::kLivezPath},
                                                         {net::kReadyzPath},
                                                         {net::kMetricsPath},
                                                         {net::kVersionPath},
                                                         {kStatePath, "?pod=namespace/name"},
                                                         {kLogLevelPath},
                                                         {kCpuProfilePath, "?seconds=10"},
                                                         {kHeapProfilePath}}};

class StatusServer {
 public:
  struct Deps {
    kube::ApiClient& client;
    base::Log& log;
    std::function<std::string()> trouble;              // why it is not ready; empty if it is
    std::function<std::string()> metrics;              // in the text format of Prometheus
    std::function<scheduler::Scheduler&()> scheduler;  // the active one
  };
  struct Options {
    std::string listen;            // "127.0.0.1:10360"
    bool loopback_trusted = true;  // clients on this machine need no token for /debug/
  };
  [[nodiscard]] static Result<std::unique_ptr<StatusServer>> listen(const Options& options,
                                                                    Deps deps);
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;
  ~StatusServer();

  [[nodiscard]] std::string address() const;  // "127.0.0.1:10360"
  [[nodiscard]] kube::DelegatedAuth::Counters auth() const { return auth_.counters(); }
  void shutdown(net::Duration grace, std::function<void()> done);

 private:
  StatusServer(const Options& options, Deps deps);
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
  Deps deps_;
  kube::DelegatedAuth auth_;
  Profiler profiler_;
  std::string host_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace stowage::controller
