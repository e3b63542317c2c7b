// Forwards requests to the replica that leads, and returns its answers, including streams. For a
// replica that does not lead: agents report only to the leader.
//
// The leader authenticates the replica by its token and authorizes it. The user of the request is
// checked here before, and logged. A request is forwarded once: a request that was already
// forwarded is refused with 503, and so is every one while no leader is reachable.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "metricsapi/request.h"
#include "net/event_loop.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "reports/agent_server.h"

namespace stowage::metricsapi {

struct RelayOptions {
  net::Duration deadline = std::chrono::seconds{15};  // for an answer that is not a stream
  std::size_t calls_max = 32;
  std::size_t streams_max = 512;
  std::size_t backlog_max = std::size_t{4} << 20U;    // unread bytes of a stream until it is closed
  std::size_t answers_max = std::size_t{256} << 20U;  // unread bytes of all answers
};

class Relay {
 public:
  Relay(RelayOptions options, net::EventLoop& loop, base::Log& log);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // `known`: we present a client certificate, so no token is needed.
  void set_tls(std::shared_ptr<net::TlsContext> tls, bool known = false);

  struct Passing {
    Ask ask;
    net::ServerRequest request;
    std::shared_ptr<net::Responder> responder;
    std::string user;           // of the original request
    std::string authorization;  // our own, "Bearer <token>"
  };
  // Requires: another replica leads.
  void pass_on(Passing passing, const reports::LeaderLocation& leader);
  // Ends forwarded streams: their clients reconnect.
  void send_away();

  struct Counters {
    std::uint64_t passed = 0;
    std::uint64_t refused = 0;  // no leader known, too many at once, or forwarded before
    std::uint64_t failed = 0;   // no answer came
    std::uint64_t cut_off = 0;  // streams that were closed because of slow clients
    std::size_t calls = 0;      // under way
    std::size_t streams = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Passed;
  struct State;
  [[nodiscard]] std::shared_ptr<net::HttpClient> client_for(const std::string& url,
                                                            std::string& why);
  [[nodiscard]] static net::HttpRequest onward(Passing& passing);
  void call(const std::shared_ptr<net::HttpClient>& client, Passing passing);
  void stream(const std::shared_ptr<net::HttpClient>& client, Passing passing);

  const RelayOptions options_;
  net::EventLoop& loop_;
  base::Log& log_;
  std::shared_ptr<net::TlsContext> tls_;
  bool known_ = false;
  std::string url_;                          // of the client
  std::shared_ptr<net::HttpClient> client_;  // calls under way keep it alive
  std::shared_ptr<State> state_;             // what callbacks may use, as long as it exists
};

}  // namespace stowage::metricsapi
