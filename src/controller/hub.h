// Serves agents and the metrics API, on its own thread and loop: thousands of streams must not
// delay binds. Data for the ledger reaches the controller's loop in batches.
//
//   agents -> AgentServer -> ReportCache -> ReportBatcher --batches--> apply_reports
//                               '---> metricsapi::Server <-- API server; schedule/... --> extender
//
// apply_reports and the extender run on the controller's loop.
//
// Its many members are the parts of this one server, which it creates and connects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "controller/config.h"
#include "core/model/node.h"
#include "extender/callback_responder.h"
#include "extender/options.h"
#include "kube/api_client.h"
#include "kube/delegated_auth.h"
#include "kube/kubeconfig.h"
#include "metricsapi/server.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "reports/agent_server.h"
#include "reports/report_batcher.h"
#include "reports/report_cache.h"
#include "webhook/answer.h"

namespace stowage::controller {

class Hub {
 public:
  using Ask = std::function<void(extender::Verb verb, std::string body, extender::Answer answer)>;
  struct Deps {
    net::EventLoop& loop;  // the controller's; the callbacks below run there
    base::Log& log;
    std::function<void(const std::vector<reports::NodeUpdate>&)> take;
    Ask ask;  // asks the extender, or reports that there is none
  };
  struct Options {
    Config::Agents agents;
    Config::MetricsApi api;
    Config::Webhook webhook;
    std::vector<std::string> webhook_dialects;  // whose containers get carriers
    std::string ns;                             // of the Service of this listener
    kube::ClientConfig cluster;
  };
  // Listens; accepts nothing before start().
  [[nodiscard]] static Result<std::unique_ptr<Hub>> create(const Options& options, Deps deps);
  ~Hub();  // joins its thread
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  void start();
  // Sets the leader. If it is another replica, agents that report here are disconnected.
  void set_leader(reports::LeaderLocation place);
  // The cards of a node in the cluster. Reports that a new node's agent has already sent are passed
  // on.
  using Cards = std::vector<core::Card>;
  void set_cards(const std::string& node, const Cards& cards);
  // The cluster no longer has the node. If it returns, its agent reports everything again.
  void forget(const std::string& node);
  // Another ledger is active, with these nodes: everything is sent again.
  void set_all_cards(const std::map<std::string, Cards>& nodes);

  [[nodiscard]] const std::string& host() const { return host_; }
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url(const std::string& host) const;

  struct Snapshot {  // up to one second old
    reports::ReportCache::Counters report_cache;
    reports::AgentServer::Counters agent_server;
    std::size_t batcher_waiting = 0;
    std::optional<metricsapi::Server::Counters> api;
    std::array<std::uint64_t, webhook::kVerdicts> reviews{};  // of the webhook, by verdict
    std::string trouble;                                      // of the API
  };
  [[nodiscard]] Snapshot snapshot() const;

 private:
  explicit Hub(Deps deps) : deps_(std::move(deps)), snapshot_timer_(loop_) {}
  Status open(const Options& options);
  Status listen_plainly(const Config::Agents& config);
  Status serve_api(const Options& options);
  // Everything below runs on its own thread.
  void serve(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder);
  // False if the request is not for the webhook.
  bool serve_webhook(const net::ServerRequest& request,
                     const std::shared_ptr<net::Responder>& responder);
  void ask(metricsapi::ScheduleVerb verb, std::string question, extender::Answer answer);
  void drop(const std::string& node);
  void publish();

  Deps deps_;
  net::EventLoop loop_;  // the members below live on it
  std::unique_ptr<kube::ApiClient> client_;
  std::unique_ptr<kube::DelegatedAuth> agents_auth_;
  std::unique_ptr<kube::DelegatedAuth> api_auth_;
  std::unique_ptr<reports::ReportCache> report_cache_;
  std::unique_ptr<reports::ReportBatcher> batcher_;
  std::unique_ptr<reports::AgentServer> agent_server_;
  std::unique_ptr<net::HttpServer> server_;  // one of these two is set
  std::unique_ptr<metricsapi::Server> api_;
  std::optional<webhook::Options> webhook_;  // unset: not served
  webhook::PodReviewReader review_reader_;
  std::array<std::uint64_t, webhook::kVerdicts> reviews_{};
  reports::LeaderLocation place_{.here = false};
  std::map<std::string, metricsapi::OtherNode> nodes_;  // of the cluster, by name
  bool nodes_changed_ = false;
  // Requests under way to the extender: the callbacks stay on this thread.
  std::map<std::uint64_t, extender::Answer> asked_;
  std::uint64_t questions_ = 0;
  net::Timer snapshot_timer_;

  std::string host_;
  bool tls_ = false;
  std::thread thread_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // on the controller's loop
  mutable std::mutex mutex_;
  Snapshot snapshot_;
};

}  // namespace stowage::controller
