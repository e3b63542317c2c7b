// Calls to one Kubernetes API server: credentials, priorities, rate limits, and retries that the
// server asks for. Lives on one event loop; never blocks, never throws.
//
// Every call() ends in exactly one callback, never before call() has returned, and in none after
// the client's destruction. Users of the client must be destroyed before it.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/clock.h"
#include "kube/kubeconfig.h"
#include "net/event_loop.h"
#include "net/http.h"
#include "net/http_client.h"

namespace stowage::kube {

// Priorities of waiting calls. The lane `lease` is for the few calls that keep us leader: the rate
// limit does not delay them. `events` uses only spare capacity: during a burst of binds very few
// events are sent, and during longer runs of binds events get a share, so that they do not pile up.
// If too many events wait, the oldest are dropped.
enum class Lane : std::uint8_t { lease, bind, normal, events };
inline constexpr std::size_t kLaneCount = 4;

struct ApiCall {
  std::string method = "GET";
  std::string target;  // path and query, encoded
  std::string body;
  std::string content_type = "application/json";  // of the body, if any
  std::string accept = "application/json";        // accepted types of the reply
  Lane lane = Lane::normal;
};

// Any answer of the server, including 4xx and 5xx; see explain() for a message.
using ApiReply = net::HttpResponse;

// Why there is no reply. If `sent` is false, the server certainly did not act.
struct CallError {
  std::string message;
  bool sent = false;
  bool timed_out = false;
  bool shed = false;  // dropped from a full lane without an attempt
  friend bool operator==(const CallError&, const CallError&) = default;
};

// One field for each limit and time.
struct ApiClientOptions {
  std::size_t in_flight_max = 128;
  // How many of those `events` may use, and only while no other call waits.
  std::size_t events_in_flight_max = 16;
  // How many beside binds: while a bind is in flight, and for this long after the last one.
  std::size_t events_beside_binds_max = 1;
  net::Duration events_quiet = std::chrono::milliseconds{100};
  net::Duration events_beside_binds_pause = std::chrono::milliseconds{50};  // between two of them
  // If binds continue for this long without a quiet period, they are no burst, and this many events
  // are sent.
  net::Duration events_patience = std::chrono::seconds{10};
  std::size_t events_beside_steady_binds_max = 4;
  std::size_t waiting_max = 100'000;  // per lane; further calls are refused at once
  std::size_t events_waiting_max = 1'000;
  double calls_per_second = 0;  // 0: no limit; the server's own flow control answers with 429
  double burst = 500;
  net::Duration retry_pause_default = std::chrono::seconds{1};  // after 429 or 503 without
                                                                // Retry-After
  net::Duration retry_pause_max = std::chrono::seconds{30};     // limit for Retry-After
  net::Duration reread_every = std::chrono::seconds{60};        // for token and CA files
  net::Duration exec_time_limit = std::chrono::seconds{60};     // for a credential plugin
  net::Duration connect_timeout = std::chrono::seconds{5};
  std::string user_agent;  // empty: stowage/<version>
  std::uint64_t seed = 1;  // for the jitter
  WallClock wall_clock = system_wall_clock();
  // Makes the transport instead of real connections: for simulations.
  std::function<std::unique_ptr<net::HttpCaller>()> caller;
};

struct CallCount {
  std::string method;
  int code = 0;  // 0: no reply
  std::uint64_t calls = 0;
  friend bool operator==(const CallCount&, const CallCount&) = default;
};

struct ApiCounters {
  std::vector<CallCount> calls;  // each attempt, in the order of first appearance; watches too
  std::uint64_t retries = 0;     // attempts after 429, 503 or 401
  std::uint64_t throttled = 0;   // replies 429
  std::uint64_t shed = 0;        // events dropped from the full lane
  std::uint64_t refused = 0;     // other calls that found their lane full
  std::uint64_t expired = 0;     // deadlines that passed while a call waited here
  std::uint64_t credential_refreshes = 0;
  std::uint64_t credential_failures = 0;
  std::size_t in_flight = 0;
  std::array<std::size_t, kLaneCount> waiting{};  // by lane, with those that pause
};

using CallResult = tl::expected<ApiReply, CallError>;

class ApiClient {
 public:
  // Fails on unusable certificates. Does not connect yet.
  [[nodiscard]] static Result<std::unique_ptr<ApiClient>> create(net::EventLoop& loop,
                                                                 ClientConfig config,
                                                                 ApiClientOptions options = {});
  ~ApiClient();  // calls in progress end without a callback
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  using Done = std::function<void(CallResult)>;
  // A reply of 429, or of 503 with Retry-After, is not passed on while the deadline leaves time for
  // another attempt after the pause. A 401 is followed by one attempt with fresh credentials.
  // Nothing else is repeated here.
  void call(ApiCall call, net::Duration deadline, Done done);

  using StreamHandler = net::HttpClient::StreamHandler;
  using StreamOptions = net::HttpClient::StreamOptions;
  class Stream {  // destroying it closes the connection; no callback follows
   public:
    virtual ~Stream() = default;
  };
  // A GET whose response continues, outside of the lanes and limits. Credentials as for call().
  [[nodiscard]] std::unique_ptr<Stream> open(std::string target, const StreamOptions& options,
                                             StreamHandler handler,
                                             std::string accept = "application/json");

  // The header that a call would send now, e.g. "Bearer <token>"; empty if none, or not known yet.
  [[nodiscard]] std::string authorization();
  [[nodiscard]] net::EventLoop& loop();
  [[nodiscard]] const WallClock& wall_clock() const;
  [[nodiscard]] const ClientConfig& config() const;
  [[nodiscard]] ApiCounters counters() const;

 private:
  struct Impl;
  explicit ApiClient(std::shared_ptr<Impl> body);
  std::shared_ptr<Impl> impl_;
};

// An error message for an unsuccessful reply: the code, the server's message, and for 401 and 403
// what to do. `what` is the attempted action: "bind pod a/b".
[[nodiscard]] std::string explain(const std::string& what, const ApiReply& reply);
[[nodiscard]] std::string explain(const std::string& what, const CallResult& result);
// Whether it is a reply with a status of 2xx.
[[nodiscard]] bool succeeded(const CallResult& result);

// Whether the API server itself reports that there is no such object: a Status with the reason
// NotFound that names it. Any other 404, e.g. of a proxy, tells nothing about the object.
[[nodiscard]] bool says_not_found(const ApiReply& reply, std::string_view resource,
                                  std::string_view name);

// Retry-After in seconds, from the header or else from the Status in the body; unset if neither.
[[nodiscard]] std::optional<net::Duration> retry_after(const ApiReply& reply);

}  // namespace stowage::kube
