// Where agents report, on a thread and a loop of its own: thousands of streams are not to hold up
// the binds. What of it the ledger has to know comes to the controller's loop in parcels.
//
//   agents -> Door -> Book -> Digest --parcels--> Witness (the controller's loop)
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "controller/config.h"
#include "kube/kubeconfig.h"
#include "net/event_loop.h"
#include "reports/book.h"
#include "reports/digest.h"
#include "reports/door.h"

namespace stowage::controller {

class Hub {
 public:
  struct Ends {
    net::EventLoop& loop;  // the controller's
    base::Log& log;
    std::function<void(const std::vector<reports::NodeNews>&)> take;  // called there
  };
  // Listens; accepts nothing before start().
  [[nodiscard]] static Result<std::unique_ptr<Hub>> create(const Config::Agents& config,
                                                           const kube::ClientConfig& cluster,
                                                           Ends ends);
  ~Hub();  // waits for its thread
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  void start();
  // Who leads. Agents that report here are sent away if it is another.
  void set_place(reports::Place place);
  // The ledger at work is another one: everything is told anew.
  void tell_all();
  // The cluster has the node no more.
  void forget(const std::string& node);

  [[nodiscard]] std::string host() const;
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url(const std::string& host) const;

  struct Picture {  // as of the last second
    reports::Book::Counters book;
    reports::Door::Counters door;
    std::size_t digest_waiting = 0;
  };
  [[nodiscard]] Picture picture() const;

 private:
  struct Body;
  explicit Hub(std::shared_ptr<Body> body);
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::controller
