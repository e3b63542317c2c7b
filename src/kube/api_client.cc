#include "kube/api_client.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/rng.h"
#include "kube/call_lanes.h"
#include "kube/event_gate.h"
#include "kube/pacing.h"
#include "kube/session.h"

namespace stowage::kube {
namespace {

// The part of the bucket's burst that events leave to other calls.
constexpr double kEventsReserve = 0.5;
// The minimum interval between checks of the deadlines of waiting calls.
constexpr auto kSweepEvery = std::chrono::milliseconds{10};

CallError from_net(net::CallError error) {
  return {.message = std::move(error.message), .sent = error.sent, .timed_out = error.timed_out};
}

// A stream that may have to wait for a credential, or to be opened again with a new one.
struct OpenStream {
  std::string target;
  std::string accept;
  ApiClient::StreamOptions options;
  ApiClient::StreamHandler handler;
  std::uint64_t generation = 0;
  bool refreshed = false;
  bool reopening = false;  // the first attempt was refused; its end is not reported to the user
  bool answered = false;
  std::unique_ptr<net::HttpClient::Stream> stream;
};

class StreamHandle : public ApiClient::Stream {
 public:
  explicit StreamHandle(std::shared_ptr<OpenStream> open) : open_(std::move(open)) {}

 private:
  std::shared_ptr<OpenStream> open_;  // the only owner; callbacks hold it weakly
};

}  // namespace

struct ApiClient::Impl : std::enable_shared_from_this<ApiClient::Impl> {
  struct Pause {
    CallPtr call;
    net::Timer timer;
  };

  Impl(net::EventLoop& event_loop, ApiClientOptions given, std::unique_ptr<Session> way)
      : loop(event_loop),
        options(std::move(given)),
        session(std::move(way)),
        event_gate(options),
        bucket(options.calls_per_second, options.burst),
        rng(options.seed),
        rate_timer(loop),
        events_timer(loop),
        sweep_timer(loop) {}

  void call(ApiCall what, net::Duration deadline, Done done) {
    auto call = std::make_shared<WaitingCall>();
    call->call = std::move(what);
    call->deadline = loop.now() + deadline;
    call->done = std::move(done);
    const Lane lane = call->call.lane;
    if (lane == Lane::events && lanes.size(lane) >= options.events_waiting_max) {
      ++counters.shed;
      const CallError error{.message = "dropped: too many events wait for the API server",
                            .shed = true};
      CallPtr oldest = lanes.empty(lane) ? nullptr : lanes.pop(lane);
      post_error(oldest ? std::move(oldest) : call, error);
      if (options.events_waiting_max == 0) return;
    } else if (lanes.size(lane) >= options.waiting_max) {
      ++counters.refused;
      post_error(std::move(call),
                 {.message = fmt::format("{} calls wait for the API server already",
                                         options.waiting_max)});
      return;
    }
    const SteadyTime until = call->deadline;
    lanes.push_back(std::move(call));
    pump();
    sweep_before(until);
  }

  // Sends the calls that may be sent now.
  void pump() {
    while (!fetching && session && in_flight < options.in_flight_max && !lanes.empty()) {
      const Credential* credential = session->credentials().current();
      if (credential == nullptr) return fetch();
      const SteadyTime now = loop.now();
      const std::optional<Lane> lane = next_lane(now);
      if (!lane) return;
      CallPtr call = lanes.pop(*lane);
      if (call->deadline <= now) {
        expire(std::move(call));
      } else {
        send(std::move(call), *credential, now);
      }
    }
  }

  std::optional<Lane> next_lane(SteadyTime now) {
    if (!lanes.empty(Lane::lease)) return Lane::lease;
    for (const Lane lane : {Lane::bind, Lane::normal}) {
      if (lanes.empty(lane)) continue;
      if (bucket.take(now)) return lane;
      pump_after(rate_timer, bucket.wait(now));
      return std::nullopt;
    }
    if (lanes.empty(Lane::events)) return std::nullopt;
    if (const EventGate::Answer answer = event_gate.ask(now); !answer.may_go) {
      if (answer.again) pump_after(events_timer, *answer.again);  // a reply pumps as well
      return std::nullopt;
    }
    const double reserve = options.burst * kEventsReserve;
    if (bucket.take(now, reserve)) return Lane::events;
    pump_after(rate_timer, bucket.wait(now, reserve));
    return std::nullopt;
  }

  void pump_after(net::Timer& timer, net::Duration pause) {
    timer.start(pause, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->pump();
    });
  }

  void send(CallPtr call, const Credential& credential, SteadyTime now) {
    call->generation = credential.generation;
    ++in_flight;
    event_gate.sent(call->call.lane, now);
    const net::Duration left = call->deadline - now;
    net::HttpRequest request = session->request_for(call->call, credential);
    session->http().send(std::move(request), left,
                         [weak = weak_from_this(), call = std::move(call)](auto result) {
                           if (const auto self = weak.lock())
                             self->replied(call, std::move(result));
                         });
  }

  void replied(const CallPtr& call, tl::expected<net::HttpResponse, net::CallError> result) {
    --in_flight;
    event_gate.replied(call->call.lane, loop.now());
    count(call->call.method, result ? result->status : 0);
    if (!result) {
      call->done(tl::unexpected(from_net(std::move(result).error())));
    } else if (!try_again(call, *result)) {
      call->done(std::move(*result));
    }
    pump();
  }

  // Returns true if the call will be sent again; its caller does not get this reply.
  bool try_again(const CallPtr& call, const ApiReply& reply) {
    if (reply.status == 429) ++counters.throttled;
    if (reply.status == 401 && !call->refreshed && session &&
        session->credentials().rejected(call->generation)) {
      call->refreshed = true;
      ++counters.retries;
      lanes.push_front(call);
      sweep_before(call->deadline);
      return true;
    }
    if (reply.status != 429 && reply.status != 503) return false;
    const std::optional<net::Duration> asked = retry_after(reply);
    if (reply.status == 503 && !asked) return false;
    const net::Duration pause =
        std::min(asked.value_or(options.retry_pause_default), options.retry_pause_max);
    const SteadyTime now = loop.now();
    event_gate.pause_until(now + pause);
    // Adds up to half of the pause, so that calls do not all return at once.
    const net::Duration spread = pause + net::Duration{static_cast<net::Duration::rep>(
                                             rng.unit() * static_cast<double>(pause.count()) / 2)};
    if (now + spread >= call->deadline) return false;
    pause_call(call, spread);
    return true;
  }

  void pause_call(const CallPtr& call, net::Duration pause) {
    ++counters.retries;
    auto [entry, added] = paused.try_emplace(call.get(), Pause{call, net::Timer(loop)});
    entry->second.timer.start(pause, [weak = weak_from_this(), key = call.get()] {
      const auto self = weak.lock();
      if (!self) return;
      auto node = self->paused.extract(key);
      if (node.empty()) return;
      const SteadyTime until = node.mapped().call->deadline;
      self->lanes.push_front(std::move(node.mapped().call));
      self->pump();
      self->sweep_before(until);
    });
  }

  void fetch() {
    fetching = true;
    session->fetch([weak = weak_from_this()](const Status& status) {
      const auto self = weak.lock();
      if (!self) return;
      self->fetching = false;
      if (!status) self->fail_waiting(status.error().message);
      self->pump();
    });
  }

  void fail_waiting(const std::string& message) {
    for (const CallPtr& call : lanes.take_all()) {
      call->done(tl::unexpected(CallError{.message = message}));
    }
  }

  // Makes sure that waiting calls are checked at the deadline.
  void sweep_before(SteadyTime deadline) {
    if (lanes.empty() || deadline >= sweep_at) return;
    sweep_at = std::max(deadline, loop.now() + kSweepEvery);
    sweep_timer.start(sweep_at - loop.now(), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->sweep();
    });
  }

  void sweep() {
    sweep_at = SteadyTime::max();
    for (const CallPtr& call : lanes.take_expired(loop.now())) end_expired(*call);
    if (const auto next = lanes.earliest()) sweep_before(*next);
  }

  void end_expired(const WaitingCall& call) {
    ++counters.expired;
    call.done(tl::unexpected(CallError{
        .message = fmt::format("{} {}: the deadline passed before it could be sent; the API server "
                               "is slow or the rate limit too low",
                               call.call.method, call.call.target),
        .timed_out = true}));
  }

  // Later, because this may be inside call().
  void expire(CallPtr call) {
    loop.post([weak = weak_from_this(), call = std::move(call)] {
      if (const auto self = weak.lock()) self->end_expired(*call);
    });
  }

  void post_error(CallPtr call, CallError error) {
    loop.post([weak = weak_from_this(), call = std::move(call), error = std::move(error)] {
      if (weak.lock()) call->done(tl::unexpected(error));
    });
  }

  void count(const std::string& method, int code) {
    for (CallCount& each : counters.calls) {
      if (each.code == code && each.method == method) {
        ++each.calls;
        return;
      }
    }
    counters.calls.push_back({.method = method, .code = code, .calls = 1});
  }

  void connect(const std::shared_ptr<OpenStream>& open) {
    if (!session) return;
    const std::weak_ptr<OpenStream> weak_open = open;
    const Credential* credential = session->credentials().current();
    if (credential == nullptr) {
      session->fetch([weak = weak_from_this(), weak_open](const Status& status) {
        const auto self = weak.lock();
        const auto stream = weak_open.lock();
        if (!self || !stream) return;
        if (status) {
          self->connect(stream);
        } else {
          stream->handler.end(net::CallError{.message = status.error().message});
        }
      });
      return;
    }
    open->generation = credential->generation;
    open->reopening = false;
    const ApiCall call{.target = open->target, .accept = open->accept};
    open->stream = session->http().open(session->request_for(call, *credential), open->options,
                                        wrap(weak_open));
  }

  StreamHandler wrap(const std::weak_ptr<OpenStream>& weak_open) {
    const auto with = [weak = weak_from_this(), weak_open](auto&& act) {
      const auto self = weak.lock();
      const auto open = weak_open.lock();
      if (self && open) act(*self, open);
    };
    StreamHandler handler;
    handler.head = [with](net::HttpResponse head) {
      with([&](Impl& self, const std::shared_ptr<OpenStream>& open) {
        self.count("GET", head.status);
        open->answered = true;
        open->reopening = head.status == 401 && !open->refreshed && self.session &&
                          self.session->credentials().rejected(open->generation);
        if (!open->reopening) open->handler.head(std::move(head));
      });
    };
    handler.data = [weak_open](std::string_view bytes) {
      if (const auto open = weak_open.lock()) open->handler.data(bytes);
    };
    handler.end = [with](std::optional<net::CallError> error) {
      with([&](Impl& self, const std::shared_ptr<OpenStream>& open) {
        if (!open->answered) self.count("GET", 0);
        if (open->reopening) {
          open->refreshed = true;
          ++self.counters.retries;
          self.post_connect(open);
        } else {
          open->handler.end(std::move(error));
        }
      });
    };
    return handler;
  }

  // Later, because the stream that has ended is still in its last callback.
  void post_connect(const std::shared_ptr<OpenStream>& open) {
    loop.post([weak = weak_from_this(), weak_open = std::weak_ptr<OpenStream>(open)] {
      const auto self = weak.lock();
      const auto stream = weak_open.lock();
      if (self && stream) self->connect(stream);
    });
  }

  [[nodiscard]] ApiCounters snapshot() const {
    ApiCounters result = counters;
    result.in_flight = in_flight;
    for (std::size_t i = 0; i < kLaneCount; ++i)
      result.waiting[i] = lanes.size(static_cast<Lane>(i));
    for (const auto& [key, pause] : paused) {
      ++result.waiting[static_cast<std::size_t>(pause.call->call.lane)];
    }
    if (session) {
      result.credential_refreshes = session->credentials().counters().refreshes;
      result.credential_failures = session->credentials().counters().failures + session->failures();
    }
    return result;
  }

  net::EventLoop& loop;
  const ApiClientOptions options;
  std::unique_ptr<Session> session;  // null once the client is destroyed
  CallLanes lanes;
  EventGate event_gate;
  std::unordered_map<const WaitingCall*, Pause> paused;  // until the server's Retry-After has
                                                         // passed
  TokenBucket bucket;
  base::Rng rng;
  net::Timer rate_timer;
  net::Timer events_timer;
  net::Timer sweep_timer;
  SteadyTime sweep_at = SteadyTime::max();  // when sweep_timer fires
  bool fetching = false;
  std::size_t in_flight = 0;
  ApiCounters counters;
};

Result<std::unique_ptr<ApiClient>> ApiClient::create(net::EventLoop& loop, ClientConfig config,
                                                     ApiClientOptions options) {
  options.in_flight_max = std::max<std::size_t>(options.in_flight_max, 1);
  STOWAGE_TRY(session, Session::create(loop, std::move(config), options));
  auto body = std::make_shared<Impl>(loop, std::move(options), std::move(session));
  return std::unique_ptr<ApiClient>(new ApiClient(std::move(body)));  // the constructor is private
}

ApiClient::ApiClient(std::shared_ptr<Impl> body) : impl_(std::move(body)) {}
ApiClient::~ApiClient() { impl_->session.reset(); }

void ApiClient::call(ApiCall call, net::Duration deadline, Done done) {
  impl_->call(std::move(call), deadline, std::move(done));
}

std::unique_ptr<ApiClient::Stream> ApiClient::open(std::string target, const StreamOptions& options,
                                                   StreamHandler handler, std::string accept) {
  auto open = std::make_shared<OpenStream>();
  open->target = std::move(target);
  open->accept = std::move(accept);
  open->options = options;
  open->handler = std::move(handler);
  impl_->connect(open);
  return std::make_unique<StreamHandle>(std::move(open));
}

std::string ApiClient::authorization() {
  const Credential* credential = impl_->session->credentials().current();
  return credential == nullptr ? "" : credential->authorization;
}

net::EventLoop& ApiClient::loop() { return impl_->loop; }
const WallClock& ApiClient::wall_clock() const { return impl_->options.wall_clock; }
const ClientConfig& ApiClient::config() const { return impl_->session->config(); }
ApiCounters ApiClient::counters() const { return impl_->snapshot(); }

}  // namespace stowage::kube
