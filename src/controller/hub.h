// Where agents report and the metrics API is served, on a thread and a loop of its own: thousands
// of streams are not to hold up the binds. What of it the ledger has to know comes to the
// controller's loop in parcels.
//
//   agents -> Door -> Book -> Digest --parcels--> Witness (the controller's loop)
//                       '---> metricsapi::Server <-- API server; schedule/... --> extender (there)
#pragma once

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
#include "controller/config.h"
#include "core/model/node.h"
#include "extender/asked.h"
#include "extender/options.h"
#include "kube/kubeconfig.h"
#include "metricsapi/server.h"
#include "net/event_loop.h"
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
  // The ledger at work is another one: everything is told anew.
  void tell_all();
  // The cards of a node as the cluster tells; null: the cluster has the node no more.
  using Cards = std::vector<core::Card>;
  void see_cards(const std::string& node, const Cards* cards);
  // Of all nodes that there are.
  void see_all(const std::map<std::string, Cards>& nodes);

  [[nodiscard]] std::string host() const;
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
  struct Body;
  explicit Hub(std::shared_ptr<Body> body);
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::controller
