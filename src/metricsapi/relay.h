// Passes requests on to the replica that leads, and its answers back, streams too. For a replica
// that does not lead: agents report to the leader alone.
//
// The leader knows a replica by its token and asks what the replica may do; for whom the replica
// asks is checked here, before, and stands in the log. A request is passed on once: one that was
// passed on already is refused with 503, and so is every one while no leader can be reached.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "metricsapi/request.h"
#include "net/event_loop.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "reports/door.h"

namespace stowage::metricsapi {

struct RelayOptions {
  net::Duration deadline = std::chrono::seconds{15};  // of an answer that is not a stream
  std::size_t calls_max = 32;
  std::size_t streams_max = 512;
  std::size_t backlog_max = std::size_t{4} << 20U;    // of a stream whose reader is slow: cut off
  std::size_t answers_max = std::size_t{256} << 20U;  // bytes that readers have not taken yet
};

class Relay {
 public:
  Relay(RelayOptions options, net::EventLoop& loop, base::Log& log);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // `known`: we show a certificate of our own, so that no token is needed.
  void set_tls(std::shared_ptr<net::TlsContext> tls, bool known = false);

  struct Passing {
    Ask ask;
    net::ServerRequest request;
    std::shared_ptr<net::Responder> responder;
    std::string user;           // for whom
    std::string authorization;  // our own, "Bearer <token>"
  };
  // Requires: the leader is not here.
  void pass_on(Passing passing, const reports::Place& leader);
  // Streams that are passed on end: their readers come again.
  void send_away();

  struct Counters {
    std::uint64_t passed = 0;
    std::uint64_t refused = 0;  // no leader known, too many at once, or passed on before
    std::uint64_t failed = 0;   // no answer came
    std::uint64_t cut_off = 0;  // streams whose readers were too slow
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
  std::shared_ptr<net::HttpClient> client_;  // calls under way keep it
  std::shared_ptr<State> state_;             // what callbacks may touch, as long as it is there
};

}  // namespace stowage::metricsapi
