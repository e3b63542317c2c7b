// Where agents report and the metrics API is served, on a thread and a loop of its own: thousands
// of streams are not to hold up the binds. What of it the ledger has to know comes to the
// controller's loop in parcels.
//
//   agents -> Door -> Book -> Digest --parcels--> apply_reports (the controller's loop)
//                       '---> metricsapi::Server <-- API server; schedule/... --> extender (there)
//
// Its many members are the parts of this one server, which it makes and connects.
#pragma once

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
#include "extender/asked.h"
#include "extender/options.h"
#include "kube/api_client.h"
#include "kube/gatekeeper.h"
#include "kube/kubeconfig.h"
#include "metricsapi/server.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "reports/book.h"
#include "reports/digest.h"
#include "reports/door.h"

namespace stowage::controller {

class Hub {
 public:
  using Ask = std::function<void(extender::Verb verb, std::string body, extender::Answer answer)>;
  struct Ends {
    net::EventLoop& loop;  // the controller's; what follows is called there
    base::Log& log;
    std::function<void(const std::vector<reports::NodeNews>&)> take;
    Ask ask;  // the extender, or say that there is none
  };
  struct Options {
    Config::Agents agents;
    Config::MetricsApi api;
    std::string ns;  // of the Service that leads here
    kube::ClientConfig cluster;
  };
  // Listens; accepts nothing before start().
  [[nodiscard]] static Result<std::unique_ptr<Hub>> create(const Options& options, Ends ends);
  ~Hub();  // waits for its thread
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  void start();
  // Who leads. Agents that report here are sent away if it is another.
  void set_place(reports::Place place);
  // The cards of a node as the cluster tells. What the agent of a new node has told is sent.
  using Cards = std::vector<core::Card>;
  void see_cards(const std::string& node, const Cards& cards);
  // The cluster has the node no more. Its agent tells everything anew, should the node come back.
  void forget(const std::string& node);
  // The ledger at work is another one, with these nodes: everything is told anew.
  void see_all(const std::map<std::string, Cards>& nodes);

  [[nodiscard]] const std::string& host() const { return host_; }
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url(const std::string& host) const;

  struct Picture {  // as of the last second
    reports::Book::Counters book;
    reports::Door::Counters door;
    std::size_t digest_waiting = 0;
    std::optional<metricsapi::Server::Counters> api;
    std::string trouble;  // of the API
  };
  [[nodiscard]] Picture picture() const;

 private:
  explicit Hub(Ends ends) : ends_(std::move(ends)), picture_timer_(loop_) {}
  Status open(const Options& options);
  Status listen_plainly(const Config::Agents& config);
  Status serve_api(const Options& options);
  // The rest runs on its own thread.
  void serve(const net::ServerRequest& request, std::shared_ptr<net::Responder> responder);
  void ask(metricsapi::ScheduleVerb verb, std::string question, extender::Answer answer);
  void drop(const std::string& node);
  void publish();

  Ends ends_;
  net::EventLoop loop_;  // what follows lives on it
  std::unique_ptr<kube::ApiClient> client_;
  std::unique_ptr<kube::Gatekeeper> agents_gate_;
  std::unique_ptr<kube::Gatekeeper> api_gate_;
  std::unique_ptr<reports::Book> book_;
  std::unique_ptr<reports::Digest> digest_;
  std::unique_ptr<reports::Door> door_;
  std::unique_ptr<net::HttpServer> server_;  // one of these two
  std::unique_ptr<metricsapi::Server> api_;
  reports::Place place_{.here = false};
  std::map<std::string, metricsapi::OtherNode> nodes_;  // of the cluster, by name
  bool nodes_changed_ = false;
  // Questions on their way to the extender: what waits for an answer stays on this thread.
  std::map<std::uint64_t, extender::Answer> asked_;
  std::uint64_t questions_ = 0;
  net::Timer picture_timer_;

  std::string host_;
  bool tls_ = false;
  std::thread thread_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // on the controller's loop
  mutable std::mutex mutex_;
  Picture picture_;
};

}  // namespace stowage::controller
