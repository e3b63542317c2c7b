// Requests that no replica can answer at the moment wait here: leadership changes, all pods are
// listed again, or a new configuration takes effect. kube-scheduler would count an error as a
// failed attempt and delay the pod much longer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "extender/options.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace stowage::extender {

struct PendingRequestsOptions {
  // Less than kube-scheduler's time limit for an extender, which is 5 seconds by default.
  net::Duration patience = std::chrono::seconds{3};
  net::Duration look = std::chrono::milliseconds{20};  // interval between attempts
  std::size_t waiting_max = 256;                       // further ones are answered as things are
};

struct PendingRequest {
  Verb verb = Verb::filter;
  net::ServerRequest request;
  std::shared_ptr<net::Responder> responder;
  net::Moment until{};  // end of the wait
};

class PendingRequests {
 public:
  struct Deps {
    std::function<bool()> open;                  // whether a request could be answered now
    std::function<void(PendingRequest)> answer;  // with a result, or with the reason why not
  };
  PendingRequests(net::EventLoop& loop, PendingRequestsOptions options, Deps deps);

  // Answers at once if that succeeds or waiting is over; otherwise later.
  void enter(PendingRequest question);
  // For a request that just could not be answered: tries again a little later.
  void wait(PendingRequest question);
  // The waiting requests, for another server to answer.
  [[nodiscard]] std::vector<PendingRequest> take() { return std::exchange(waiting_, {}); }
  // Whether there is time for another attempt.
  [[nodiscard]] bool patient(const PendingRequest& question) const;

  [[nodiscard]] const PendingRequestsOptions& options() const { return options_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::uint64_t waited() const { return waited_; }  // total of requests that waited

 private:
  void look();

  net::EventLoop& loop_;
  const PendingRequestsOptions options_;
  const Deps deps_;
  std::vector<PendingRequest> waiting_;
  net::Timer timer_;
  std::uint64_t waited_ = 0;
};

}  // namespace stowage::extender
