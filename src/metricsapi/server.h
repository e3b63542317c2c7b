// The server of metrics.nvidia.com/v1alpha1, behind the API server, and of the agents.
//
//   request -> read_ask -> health, discovery: answered at once
//                       -> /agent/...: reports::AgentServer
//                       -> the rest: authenticate, authorize -> here, or forwarded to the leader
//
// It serves the content of a reports::ReportCache (through a WatchCache) by list, get and watch.
// identity.h describes authentication. The API server authorizes by a review: list, watch or get of
// `podresources` and `gpuinfos`, and create of `schedule` with the verb as its name, which is also
// how the API server itself maps that path. Members of system:masters need no review.
//
// Everything lives on one loop. TLS is always on: until the certificates are known, with an
// untrusted one, so that health checks work.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "codec/reviews.h"
#include "kube/api_client.h"
#include "kube/delegated_auth.h"
#include "metricsapi/certificate_manager.h"
#include "metricsapi/relay.h"
#include "metricsapi/request.h"
#include "metricsapi/schedule.h"
#include "metricsapi/trust.h"
#include "metricsapi/watch.h"
#include "metricsapi/watch_cache.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "reports/agent_server.h"
#include "reports/report_cache.h"

namespace stowage::metricsapi {

struct ServerOptions {
  std::string listen = "0.0.0.0:10362";
  bool accepts = true;                    // false: connections wait until accept() is called
  std::optional<CertificatePaths> files;  // unset: certificates are created and kept (keeper)
  CertificateManagerOptions keeper;       // always names the service and its namespace
  TrustSource::Options trust;
  WatchCacheOptions watch_cache;
  WatchLimits watch;
  RelayOptions relay;
  std::size_t connections_max = 24'576;                  // an agent of each node, and others
  std::size_t list_bytes_max = std::size_t{256} << 20U;  // unread by clients
  net::Duration look = std::chrono::milliseconds{500};   // interval of checks which replica leads
};

// Large because it creates and connects the parts of this server; each step of a request is a
// method.
class Server {
 public:
  using Handler = std::function<void(net::ServerRequest, std::shared_ptr<net::Responder>)>;
  struct Deps {
    net::EventLoop& loop;
    kube::ApiClient& client;
    kube::DelegatedAuth& auth;
    reports::ReportCache& report_cache;
    base::Log& log;
    Handler agents;  // of /agent/...; unset: not served
    // Requests for which it returns true are not for this API. Unset: none.
    std::function<bool(const net::ServerRequest&, const std::shared_ptr<net::Responder>&)> other;
    ScheduleServer schedule;
    std::function<reports::LeaderLocation()> place;  // of the leader; unset: always here
    std::function<std::string()> authorization;      // ours, "Bearer <token>", for the leader
    std::function<std::string()> not_ready;          // the reason; empty or unset: ready
  };
  // Listens at once. An error names the address and the reason, or what is wrong with a
  // certificate.
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(ServerOptions options, Deps deps);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void accept();                              // once, if the options said that it does not accept
                                              // yet
  [[nodiscard]] std::string address() const;  // "0.0.0.0:10362"
  [[nodiscard]] const std::string& host() const { return host_; }
  // Its URL with this host name.
  [[nodiscard]] std::string url(const std::string& host) const;
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  // Nodes that have cards according to other sources than agents.
  void set_other_nodes(std::vector<OtherNode> nodes) { watch_cache_.set_others(std::move(nodes)); }
  // Accepts no more connections, ends watches, lets requests end.
  void shutdown(net::Duration grace, std::function<void()> done);

  struct Counters {
    std::map<std::string, std::uint64_t> requests;  // by what they ask for
    std::map<int, std::uint64_t> refused;           // by code
    Watchers::Counters watchers;
    Relay::Counters relay;
    std::size_t connections = 0;
  };
  [[nodiscard]] Counters counters() const;
  // What is wrong; empty if nothing is.
  [[nodiscard]] std::string trouble() const;

 private:
  struct Call {
    Ask ask;
    net::ServerRequest request;
    std::shared_ptr<net::Responder> responder;
    codec::UserInfo who;
  };
  using CallPtr = std::shared_ptr<Call>;

  Server(ServerOptions options, Deps deps);
  Status open();
  void serve(net::ServerRequest request, std::shared_ptr<net::Responder> responder);
  bool answer_document(const Ask& ask, const std::shared_ptr<net::Responder>& responder);
  void identify(const CallPtr& call);
  void authorise(const CallPtr& call);
  void answer(const CallPtr& call);
  void answer_here(const CallPtr& call);
  void send_list(const CallPtr& call);
  void refuse(const std::shared_ptr<net::Responder>& responder, const ApiError& error);
  [[nodiscard]] reports::LeaderLocation place() const {
    return deps_.place ? deps_.place() : reports::LeaderLocation{};
  }
  void use_certificates(const ServingCertificates& fresh);
  void renew_tls();
  void look();
  [[nodiscard]] std::size_t list_bytes();

  const ServerOptions options_;
  Deps deps_;
  WatchCache watch_cache_;
  Watchers watchers_;
  Relay relay_;
  Schedule schedule_;
  TrustSource trust_;
  ServingCertificates certificates_;
  Trust asked_for_;                             // the CAs whose certificates peers are asked for
  std::unique_ptr<CertificateManager> keeper_;  // one of the two
  std::unique_ptr<CertificateFiles> files_;
  std::string host_;
  std::unique_ptr<net::HttpServer> server_;
  std::vector<std::shared_ptr<net::Responder>> lists_;  // not completely read yet
  bool led_ = true;
  std::map<std::string, std::uint64_t> requests_;
  std::map<int, std::uint64_t> refused_;
  net::Timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stowage::metricsapi
