// Passes questions on to the replica that leads, and its answers back, as they are. For a replica
// that does not lead: its ledger is up to date, but what is reserved is known to the leader alone.
//
// A question is passed on once: one that was passed on already is answered with 503. So is every
// question while no leader is known, or it cannot be reached.
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
  net::Duration deadline =
      std::chrono::seconds{5};  // kube-scheduler's own is 5 s, unless it is set
  std::size_t in_flight_max = 256;
};

class Forwarder {
 public:
  Forwarder(net::EventLoop& loop, ForwarderOptions options);
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // Where the leader's extender is. Empty: not known, and `why` says so. What is under way goes on.
  struct Leader {
    std::string url;
    std::string why;
  };
  void set_leader(const Leader& leader);
  // For leaders that are reached by https.
  void set_tls(std::shared_ptr<net::TlsContext> tls);

  // Is there a leader to ask?
  [[nodiscard]] bool has_way() const { return client_ != nullptr; }

  // Called instead of an answer with 503, if it is given, when the leader surely has not acted on
  // the question: it could not be reached, or leads no more.
  using NotAsked = std::function<void(net::ServerRequest, std::shared_ptr<net::Responder>)>;
  void forward(net::ServerRequest request, std::shared_ptr<net::Responder> responder,
               NotAsked not_asked = {});

  struct Counters {
    std::uint64_t forwarded = 0;  // and answered, whatever the answer is
    std::uint64_t failed = 0;     // no answer came, or that of one who does not lead
    std::uint64_t refused = 0;    // no leader known, too many at once, or passed on before
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
  std::shared_ptr<net::HttpClient> client_;  // null: there is no way
  Counters counters_;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::extender
