// Forwards requests to the replica that leads, and returns its answers unchanged. For a replica
// that does not lead: its ledger is up to date, but only the leader has the reservations.
//
// A request is forwarded once: a request that was already forwarded is answered with 503. So is
// every request while no leader is known or reachable.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/event_loop.h"
#include "net/http_client.h"
#include "net/http_server.h"

namespace stowage::extender {

struct ForwarderOptions {
  net::Duration deadline = std::chrono::seconds{5};  // the default of kube-scheduler is 5 s
  std::size_t in_flight_max = 256;
};

class Forwarder {
 public:
  Forwarder(net::EventLoop& loop, ForwarderOptions options);
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // The address of the leader's extender. Empty: not known, and `why` gives the reason. Requests
  // under way continue.
  struct Leader {
    std::string url;
    std::string why;
  };
  void set_leader(const Leader& leader);
  // For leaders that are reached by https.
  void set_tls(std::shared_ptr<net::TlsContext> tls);

  // Whether a leader is known.
  [[nodiscard]] bool has_way() const { return client_ != nullptr; }

  // If set, called instead of an answer with 503 when the leader has certainly not acted on the
  // request: it could not be reached, or no longer leads.
  using NotAsked = std::function<void(net::ServerRequest, std::shared_ptr<net::Responder>)>;
  void forward(net::ServerRequest request, std::shared_ptr<net::Responder> responder,
               NotAsked not_asked = {});

  struct Counters {
    std::uint64_t forwarded = 0;  // and answered, with any status
    std::uint64_t failed = 0;     // no answer, or the answer of a replica that does not lead
    std::uint64_t refused = 0;    // no leader known, too many at once, or forwarded before
    std::size_t under_way = 0;
  };
  [[nodiscard]] Counters counters() const { return counters_; }
  [[nodiscard]] const ForwarderOptions& options() const { return options_; }

 private:
  void refuse(const std::shared_ptr<net::Responder>& responder, const std::string& why);
  void connect();
  void answered(const std::shared_ptr<net::Responder>& responder, net::HttpResponse reply);

  net::EventLoop& loop_;
  const ForwarderOptions options_;
  Leader leader_;
  std::shared_ptr<net::TlsContext> tls_;
  std::shared_ptr<net::HttpClient> client_;  // null: no leader is known
  Counters counters_;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::extender
