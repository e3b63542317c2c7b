#include "wire.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace stowage::faults {
namespace {

using Result = tl::expected<net::HttpResponse, net::CallError>;
using StreamHandler = net::HttpCaller::StreamHandler;

// Of a scheduler: pods, nodes, quotas (2), budgets, namespaces, claims and volumes (7).
constexpr std::ptrdiff_t kWatches = 13;

constexpr std::chrono::seconds kServerLimit{60};  // of a request that names no timeout

net::CallError broken(bool sent) {
  return {.message = sent ? "the connection broke" : "connection refused", .sent = sent};
}

net::HttpResponse status_reply(int code, std::string_view reason) {
  std::string body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":")";
  body += reason;
  body += R"(","message":"simulated","code":)" + std::to_string(code) + "}";
  net::HttpResponse response{.status = code, .headers = {}, .body = std::move(body)};
  response.headers.emplace_back("Content-Type", "application/json");
  return response;
}

// The value of "?timeout=1234ms".
Duration server_limit(const std::string& target) {
  const std::size_t at = target.find("timeout=");
  if (at == std::string::npos || target.find("timeoutSeconds=") != std::string::npos) {
    return kServerLimit;
  }
  std::int64_t millis = 0;
  const char* begin = target.data() + at + 8;
  const auto read = std::from_chars(begin, target.data() + target.size(), millis);
  if (read.ec != std::errc{} || millis <= 0) return kServerLimit;
  return std::min<Duration>(std::chrono::milliseconds{millis}, kServerLimit);
}

std::string path_of(const std::string& target) { return target.substr(0, target.find('?')); }

// A watch in transit; lives as long as one of the two sides holds it.
struct Flow {
  StreamHandler handler;
  std::string path;
  std::shared_ptr<bool> open = std::make_shared<bool>(true);  // at the server
  Moment last_arrival{};
  Moment last_byte{};
  std::string partial;  // of a line, for defects
  bool closed = false;  // no callback any more
  bool hung = false;    // nothing arrives
  bool live = false;    // its head was successful
};

class StreamHandle final : public net::HttpCaller::Stream {
 public:
  explicit StreamHandle(std::shared_ptr<Flow> flow) : flow_(std::move(flow)) {}
  ~StreamHandle() override {
    flow_->closed = true;
    *flow_->open = false;
  }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;
  void write(std::string /*bytes*/) override {}
  [[nodiscard]] std::size_t backlog() const override { return 0; }

 private:
  std::shared_ptr<Flow> flow_;
};

}  // namespace

struct Wire::Impl : std::enable_shared_from_this<Wire::Impl> {
  Impl(ApiSide& to, Options given)
      : side(to), world(to.world()), options(std::move(given)), rng(options.seed) {}

  // Most requests take a moment, some a while.
  [[nodiscard]] Duration travel(bool late) {
    const double most = late ? 400 : rng.below(20) == 0 ? 60 : 3;
    return std::min<Duration>(draw_millis(rng, 0.1, most), kTravelMax - Duration{1});
  }

  struct Call {
    net::HttpRequest request;
    net::HttpCaller::Reply reply;
    Fault fault = Fault::none;
    bool sent = false;
    bool done = false;
  };
  using CallPtr = std::shared_ptr<Call>;

  void send(net::HttpRequest request, Duration deadline, net::HttpCaller::Reply reply) {
    auto call = std::make_shared<Call>();
    if (options.defects.on_request) options.defects.on_request(request);
    call->request = std::move(request);
    call->reply = std::move(reply);
    call->fault = side.draw_fault(options.replica, call->request, rng);
    ++in_flight;
    world.after(options.client, deadline, [weak = weak_from_this(), call] {
      net::CallError error{.message = "no reply in time", .sent = call->sent, .timed_out = true};
      if (const auto self = weak.lock()) self->finish(call, tl::unexpected(std::move(error)));
    });
    if (call->fault == Fault::refused || side.down()) {
      return reply_at(call, tl::unexpected(broken(false)), draw_millis(rng, 0.1, 5));
    }
    call->sent = true;
    world.after(side.process(), travel(call->fault == Fault::late),
                [self = shared_from_this(), call] { self->arrive(call); });
  }

  // On the server's side; continues even if the replica has died meanwhile.
  void arrive(const CallPtr& call) {
    if (side.down() || call->fault == Fault::cut || call->fault == Fault::lease_only) {
      // Either the client gets an error, or only its deadline ends the call.
      if (rng.below(2) == 0) reply_at(call, tl::unexpected(broken(true)), travel(false));
      return;
    }
    Duration work = draw_millis(rng, 0.1, 2);
    if (call->fault == Fault::slow) work = draw_millis(rng, 100, rng.below(2) == 0 ? 3000 : 20'000);
    if (call->fault == Fault::slow_write) work = draw_millis(rng, 100, 2500);
    const Duration limit = server_limit(call->request.target);
    if (work >= limit) {
      world.after(side.process(), limit, [self = shared_from_this(), call] {
        self->reply_at(call, status_reply(504, "Timeout"), self->travel(false));
      });
      return;
    }
    world.after(side.process(), work, [self = shared_from_this(), call] { self->act(call); });
  }

  void act(const CallPtr& call) {
    std::optional<net::HttpResponse> wrong;
    switch (call->fault) {
      case Fault::conflict: wrong = status_reply(409, "Conflict"); break;
      case Fault::throttled:
        wrong = status_reply(429, "TooManyRequests");
        wrong->headers.emplace_back("Retry-After", "1");
        break;
      case Fault::internal: wrong = status_reply(500, "InternalError"); break;
      case Fault::not_found:  // not from the API server: it has no Status
        wrong = net::HttpResponse{.status = 404, .headers = {}, .body = "404 page not found"};
        wrong->headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
        break;
      case Fault::write_fails:
      case Fault::unavailable:
        wrong = status_reply(503, "ServiceUnavailable");
        if (rng.below(2) == 0) wrong->headers.emplace_back("Retry-After", "1");
        break;
      default: break;
    }
    if (wrong) return reply_at(call, std::move(*wrong), travel(false));
    net::HttpResponse response = side.act(options.name, call->request);
    if (call->fault == Fault::reply_lost) {
      if (rng.below(2) == 0) reply_at(call, tl::unexpected(broken(true)), travel(false));
      return;
    }
    reply_at(call, std::move(response), travel(call->fault == Fault::late));
  }

  void reply_at(const CallPtr& call, Result result, Duration delay) {
    world.after(options.client, delay,
                [weak = weak_from_this(), call, result = std::move(result)]() mutable {
                  if (const auto self = weak.lock()) self->finish(call, std::move(result));
                });
  }

  void finish(const CallPtr& call, Result result) {
    if (std::exchange(call->done, true)) return;
    --in_flight;
    ++arrivals;
    if (!connected) return;
    if (options.defects.on_reply) options.defects.on_reply(call->request, result);
    const net::HttpCaller::Reply reply = std::exchange(call->reply, nullptr);
    reply(std::move(result));
  }

  // ---- watches

  class Responder;

  std::unique_ptr<net::HttpCaller::Stream> open(net::HttpRequest request,
                                                const net::HttpCaller::StreamOptions& how,
                                                StreamHandler handler) {
    auto flow = std::make_shared<Flow>();
    flow->handler = std::move(handler);
    flow->path = path_of(request.target);
    flow->last_byte = world.now();
    flows.push_back(flow);
    const Fault fault = side.draw_fault(options.replica, request, rng);
    watch_silence(flow, how);
    if (fault == Fault::refused || fault == Fault::cut || side.down()) {
      deliver(flow, [](Flow& each) { end(each, broken(false)); });
    } else if (fault == Fault::internal || fault == Fault::unavailable ||
               fault == Fault::throttled) {
      deliver(flow, [](Flow& each) {
        each.handler.head(status_reply(500, "InternalError"));
        if (!each.closed) end(each, std::nullopt);
      });
    } else {
      world.after(side.process(), travel(fault == Fault::late),
                  [self = shared_from_this(), flow, request = std::move(request)] {
                    self->serve(flow, request);
                  });
    }
    return std::make_unique<StreamHandle>(flow);
  }

  void serve(const std::shared_ptr<Flow>& flow, const net::HttpRequest& request);

  static void end(Flow& flow, std::optional<net::CallError> error) {
    flow.closed = true;
    flow.live = false;
    *flow.open = false;
    const StreamHandler handler = std::move(flow.handler);
    handler.end(std::move(error));
  }

  // In order, however much each is delayed.
  void deliver(const std::shared_ptr<Flow>& flow, std::function<void(Flow&)> what) {
    const Duration delay = travel(false) + side.watch_delay(options.replica, rng);
    flow->last_arrival = std::max(flow->last_arrival, world.now() + delay);
    ++undelivered;
    world.at(options.client, flow->last_arrival,
             [weak = weak_from_this(), flow, what = std::move(what)] {
               const auto self = weak.lock();
               if (!self) return;
               --self->undelivered;
               ++self->arrivals;
               if (flow->closed || flow->hung || !self->connected) return;
               flow->last_byte = self->world.now();
               what(*flow);
             });
  }

  void take_bytes(Flow& flow, std::string_view bytes) {
    if (!options.defects.on_line) return flow.handler.data(bytes);
    flow.partial += bytes;
    for (;;) {
      const std::size_t end_of_line = flow.partial.find('\n');
      if (end_of_line == std::string::npos || flow.closed) return;
      const std::string line = flow.partial.substr(0, end_of_line + 1);
      flow.partial.erase(0, end_of_line + 1);
      if (options.defects.on_line(flow.path, line)) flow.handler.data(line);
    }
  }

  void watch_silence(const std::shared_ptr<Flow>& flow, const net::HttpCaller::StreamOptions& how) {
    const Duration limit =
        flow->live || how.head_timeout == Duration::zero() ? how.silence_timeout : how.head_timeout;
    if (limit <= Duration::zero()) return;
    world.at(options.client, flow->last_byte + limit, [weak = weak_from_this(), flow, how, limit] {
      const auto self = weak.lock();
      if (!self || flow->closed || !self->connected) return;
      if (self->world.now() - flow->last_byte >= limit) {
        return end(*flow, net::CallError{.message = "silence", .sent = true, .timed_out = true});
      }
      self->watch_silence(flow, how);
    });
  }

  void trouble_watches(Trouble trouble) {
    tidy();
    const auto all = flows;  // without those that are opened meanwhile
    for (const auto& flow : all) {
      switch (trouble) {
        case Trouble::hang: flow->hung = true; break;
        case Trouble::cut: deliver(flow, [](Flow& each) { end(each, broken(true)); }); break;
        case Trouble::expire:
          deliver(flow, [this](Flow& each) {
            take_bytes(each,
                       R"({"type":"ERROR","object":)" + status_reply(410, "Expired").body + "}\n");
          });
          break;
      }
    }
  }

  void tidy() {
    std::erase_if(flows, [](const auto& flow) { return flow->closed; });
  }

  [[nodiscard]] bool quiet() {
    tidy();
    if (in_flight > 0 || undelivered > 0 || !side.delivered()) return false;
    const auto watched = [&](std::string_view path) {
      return std::any_of(flows.begin(), flows.end(), [&](const auto& flow) {
        return flow->path == path && flow->live && !flow->hung;
      });
    };
    return watched("/api/v1/pods") && watched("/api/v1/nodes");
  }

  [[nodiscard]] bool hears_all() {
    if (!quiet()) return false;
    const auto live = std::count_if(flows.begin(), flows.end(),
                                    [](const auto& flow) { return flow->live && !flow->hung; });
    return live >= kWatches;
  }

  ApiSide& side;
  World& world;
  Options options;
  base::Rng rng;
  bool connected = false;
  std::size_t in_flight = 0;
  std::size_t undelivered = 0;
  std::uint64_t arrivals = 0;
  std::vector<std::shared_ptr<Flow>> flows;
};

// The server's side of a watch.
class Wire::Impl::Responder final : public net::Responder {
 public:
  Responder(std::shared_ptr<Impl> body, std::shared_ptr<Flow> flow)
      : impl_(std::move(body)), flow_(std::move(flow)) {}

  void send(net::HttpResponse response) override {
    impl_->deliver(flow_, [response = std::move(response)](Flow& flow) {
      flow.handler.head(response);
      if (!flow.closed) Impl::end(flow, std::nullopt);
    });
  }
  void begin(net::HttpResponse head) override {
    impl_->deliver(flow_, [head = std::move(head)](Flow& flow) {
      flow.live = true;
      flow.handler.head(head);
    });
  }
  void upgrade(std::string /*protocol*/, std::function<void(std::string_view)> /*data*/) override {}
  // Sometimes in two pieces: a reader must not depend on how bytes are split.
  void write(std::shared_ptr<const std::string> chunk) override {
    const std::size_t cut =
        impl_->rng.below(8) == 0 ? impl_->rng.below(chunk->size() + 1) : chunk->size();
    pass(chunk, 0, cut);
    if (cut < chunk->size()) pass(chunk, cut, chunk->size());
  }
  void end() override {
    impl_->deliver(flow_, [](Flow& flow) { Impl::end(flow, std::nullopt); });
  }
  [[nodiscard]] std::size_t backlog() const override { return 0; }
  void abort() override {
    impl_->deliver(flow_, [](Flow& flow) { Impl::end(flow, broken(true)); });
  }
  void on_closed(std::function<void()> /*closed*/) override {}

 private:
  void pass(const std::shared_ptr<const std::string>& chunk, std::size_t from, std::size_t to) {
    impl_->deliver(flow_, [body = impl_.get(), chunk, from, to](Flow& flow) {
      body->take_bytes(flow, std::string_view(*chunk).substr(from, to - from));
    });
  }
  std::shared_ptr<Impl> impl_;
  std::shared_ptr<Flow> flow_;
};

void Wire::Impl::serve(const std::shared_ptr<Flow>& flow, const net::HttpRequest& request) {
  if (!*flow->open) return;
  auto responder = std::make_shared<Responder>(shared_from_this(), flow);
  if (side.down()) return responder->abort();
  side.serve(request, std::move(responder), flow->open);
}

namespace {

class Caller final : public net::HttpCaller {
 public:
  explicit Caller(std::shared_ptr<Wire::Impl> body) : impl_(std::move(body)) {
    impl_->connected = true;
  }
  ~Caller() override { impl_->connected = false; }
  void send(net::HttpRequest request, Duration deadline, Reply reply) override {
    impl_->send(std::move(request), deadline, std::move(reply));
  }
  std::unique_ptr<Stream> open(net::HttpRequest request, const StreamOptions& options,
                               StreamHandler handler) override {
    return impl_->open(std::move(request), options, std::move(handler));
  }
  void set_tls(std::shared_ptr<net::TlsContext> /*tls*/) override {}

 private:
  std::shared_ptr<Wire::Impl> impl_;
};

}  // namespace

Wire::Wire(ApiSide& side, Options options)
    : impl_(std::make_shared<Impl>(side, std::move(options))) {}

Wire::~Wire() {
  for (const auto& flow : impl_->flows) {
    flow->closed = true;
    *flow->open = false;
  }
}

std::unique_ptr<net::HttpCaller> Wire::caller() { return std::make_unique<Caller>(impl_); }
void Wire::trouble_watches(Trouble trouble) { impl_->trouble_watches(trouble); }
bool Wire::quiet() const { return impl_->quiet(); }
bool Wire::hears_all() const { return impl_->hears_all(); }
std::uint64_t Wire::arrivals() const { return impl_->arrivals; }

}  // namespace stowage::faults
