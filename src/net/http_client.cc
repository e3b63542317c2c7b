#include "net/http_client.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "net/client_link.h"
#include "net/client_stream.h"
#include "net/error_text.h"
#include "net/message_writer.h"

namespace stowage::net {
namespace {

using CallPtr = std::shared_ptr<ClientCall>;
using LinkPtr = std::shared_ptr<ClientLink>;

// After a failed attempt, while other connections serve calls, no new one is tried for this long.
constexpr Duration kConnectPause = std::chrono::milliseconds{100};

bool is_idempotent(const std::string& method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE";
}

struct ByDeadline {
  bool operator()(const CallPtr& a, const CallPtr& b) const {
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->number < b->number;
  }
};

struct Failed {
  CallPtr call;
  CallError error;
};

}  // namespace

// Calls wait for any connection: the first free one takes the oldest call. Connections are opened
// while more calls wait than connections are being opened. Large because links and calls are
// matched here, and each of them needs its indexes and counts.
struct HttpClient::Impl final : public ClientLink::Pool,
                                public std::enable_shared_from_this<HttpClient::Impl> {
  Impl(EventLoop& event_loop, HttpClientOptions client_options)
      : loop(event_loop),
        options(std::move(client_options)),
        peer(authority(options.server)),
        deadline_timer(loop),
        connect_timer(loop) {
    if (!options.server.tls) options.tls.reset();
  }
  virtual ~Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void send(HttpRequest request, Duration deadline, Reply reply);
  void refuse(Reply reply, std::string why);
  void pump();
  void open_link(const CallPtr& reserved);
  void start(const LinkPtr& link, const CallPtr& call);
  void make_idle(const LinkPtr& link);
  LinkPtr drop(ClientLink& link);
  void drop_idle();
  void arm_deadline();
  void expire();
  void fail_all(std::vector<Failed> failed);
  void connect_failed(const LinkPtr& link, const ClientLink::Failure& failure);
  void destroy();

  void link_opened(ClientLink& link) override;
  void link_answered(ClientLink& link, HttpResponse response, bool reusable) override;
  void link_failed(ClientLink& link, const ClientLink::Failure& failure) override;

  EventLoop& loop;
  HttpClientOptions options;
  std::string peer;
  Timer deadline_timer;
  Timer connect_timer;

  std::unordered_map<ClientLink*, LinkPtr> links;
  std::vector<LinkPtr> idle;            // the last used is used first
  std::set<CallPtr, ByDeadline> calls;  // all without a reply yet
  std::map<std::uint64_t, CallPtr> waiting;
  std::uint64_t next_number = 1;
  std::uint64_t tls_generation = 0;
  std::size_t connecting = 0;  // links that are not open yet and not reserved for one call
  std::size_t opened = 0;      // links that are open
  std::size_t in_flight = 0;
  bool connects_paused = false;
  bool closed = false;
  bool destroyed = false;
};

void HttpClient::Impl::send(HttpRequest request, Duration deadline, Reply reply) {
  if (closed) {
    refuse(std::move(reply), fmt::format("the client of {} is closed", peer));
    return;
  }
  if (options.server.tls && !options.tls) {
    refuse(std::move(reply), fmt::format("no certificates are set for {}", peer));
    return;
  }
  if (waiting.size() >= options.waiting_max && idle.empty()) {
    refuse(std::move(reply), fmt::format("{} calls to {} wait already: the server is too slow",
                                         waiting.size(), peer));
    return;
  }
  Result<std::string> head = request_head(options.server, request);
  if (!head) return refuse(std::move(reply), std::move(head).error().message);
  auto call = std::make_shared<ClientCall>();
  call->head = std::make_shared<const std::string>(std::move(*head));
  if (!request.body.empty()) {
    call->body = std::make_shared<const std::string>(std::move(request.body));
  }
  call->mode = request.method == "HEAD" ? ResponseParser::Mode::head : ResponseParser::Mode::whole;
  call->idempotent = is_idempotent(request.method);
  call->reply = std::move(reply);
  call->number = next_number++;
  call->allowed = deadline;
  call->deadline = after(loop, deadline);
  calls.insert(call);
  if (*calls.begin() == call) arm_deadline();
  waiting.emplace(call->number, std::move(call));
  pump();
}

// Posted, so that the callback does not run inside send().
void HttpClient::Impl::refuse(Reply reply, std::string why) {
  loop.post([weak = weak_from_this(), reply = std::move(reply), why = std::move(why)] {
    const auto body = weak.lock();
    if (body && !body->destroyed) reply(tl::unexpected(CallError{.message = why}));
  });
}

void HttpClient::Impl::pump() {
  // After the machine was suspended, connections and deadlines become due together.
  if (!calls.empty() && (*calls.begin())->deadline <= loop.now()) return;  // expire() is due
  while (!waiting.empty() && !idle.empty()) {
    const LinkPtr link = std::move(idle.back());
    idle.pop_back();
    const CallPtr call = std::move(waiting.begin()->second);
    waiting.erase(waiting.begin());
    start(link, call);
  }
  while (connecting < waiting.size() && links.size() < options.connections_max &&
         !connects_paused) {
    open_link(nullptr);
  }
  if (closed) drop_idle();
}

void HttpClient::Impl::open_link(const CallPtr& reserved) {
  auto link = std::make_shared<ClientLink>(loop, *this, options);
  link->born = next_number;
  link->tls_generation = tls_generation;
  link->call = reserved;
  if (reserved) {
    reserved->link = link.get();
  } else {
    ++connecting;
  }
  links.emplace(link.get(), link);
  link->connect(options, options.tls);
}

void HttpClient::Impl::start(const LinkPtr& link, const CallPtr& call) {
  ++in_flight;
  link->start(call);
}

void HttpClient::Impl::make_idle(const LinkPtr& link) {
  idle.push_back(link);
  link->become_idle(options.idle_timeout);
}

LinkPtr HttpClient::Impl::drop(ClientLink& link) {
  const auto at = links.find(&link);
  if (at == links.end()) return nullptr;
  LinkPtr dropped = std::move(at->second);
  links.erase(at);
  std::erase(idle, dropped);
  if (link.is_open()) {
    --opened;
    if (link.call) --in_flight;
  } else if (!link.call) {
    --connecting;
  }
  if (link.call) link.call->sent = link.call->sent || (link.is_open() && link.sent());
  link.close();
  return dropped;
}

void HttpClient::Impl::drop_idle() {
  for (const LinkPtr& link : std::vector<LinkPtr>(idle)) drop(*link);
}

void HttpClient::Impl::arm_deadline() {
  if (calls.empty()) return;
  deadline_timer.start((*calls.begin())->deadline - loop.now(), [this] { expire(); });
}

void HttpClient::Impl::expire() {
  std::vector<Failed> failed;
  const Moment now = loop.now();
  while (!calls.empty() && (*calls.begin())->deadline <= now) {
    const CallPtr call = *calls.begin();
    const bool was_waiting = waiting.erase(call->number) != 0;
    const bool on_link = call->link != nullptr && call->link->is_open();
    if (call->link != nullptr) drop(*call->link);
    calls.erase(calls.begin());
    std::string why =
        on_link ? fmt::format("{} did not answer {} within {}", peer, call->title(),
                              duration_text(call->allowed))
                : fmt::format("{}: {} found no {} within {}", peer, call->title(),
                              was_waiting && opened != 0 ? "free connection" : "connection",
                              duration_text(call->allowed));
    failed.push_back({call, {.message = std::move(why), .sent = call->sent, .timed_out = true}});
  }
  arm_deadline();
  pump();
  fail_all(std::move(failed));
}

// Must be the last step of its caller: a reply may destroy the client.
void HttpClient::Impl::fail_all(std::vector<Failed> failed) {
  const auto self = shared_from_this();
  for (Failed& one : failed) {
    if (destroyed) return;
    const Reply reply = std::move(one.call->reply);
    reply(tl::unexpected(std::move(one.error)));
  }
}

void HttpClient::Impl::link_opened(ClientLink& link) {
  const LinkPtr held = links.at(&link);
  ++opened;
  if (link.call && link.call->deadline <= loop.now()) {
    ++in_flight;
    return;  // too late: expire() is due, and drops the link with the call
  }
  if (const CallPtr reserved = std::move(link.call)) return start(held, reserved);
  --connecting;
  make_idle(held);
  pump();
}

void HttpClient::Impl::link_answered(ClientLink& link, HttpResponse response, bool reusable) {
  const auto self = shared_from_this();
  const CallPtr call = std::move(link.call);
  link.call = nullptr;
  calls.erase(call);
  --in_flight;
  if (reusable && link.tls_generation == tls_generation) {
    make_idle(links.at(&link));
  } else {
    drop(link);
  }
  pump();
  const Reply reply = std::move(call->reply);
  reply(std::move(response));
}

void HttpClient::Impl::link_failed(ClientLink& link, const ClientLink::Failure& failure) {
  const auto self = shared_from_this();
  const LinkPtr held = drop(link);
  const CallPtr call = link.call;
  if (!failure.was_open) return connect_failed(held, failure);
  if (!call) return pump();
  call->link = nullptr;
  const bool stale = link.served() != 0 && !failure.answer_begun && !call->retried;
  if (stale && (call->idempotent || !call->sent)) {
    call->retried = true;
    open_link(call);
    return;
  }
  calls.erase(call);
  pump();
  fail_all(
      {{call, {.message = failure.message, .sent = call->sent, .timed_out = failure.timed_out}}});
}

// The server is unreachable. This fails all calls that waited when the attempt began, unless other
// connections serve them.
void HttpClient::Impl::connect_failed(const LinkPtr& link, const ClientLink::Failure& failure) {
  std::vector<Failed> failed;
  const auto give_up = [&](const CallPtr& call) {
    calls.erase(call);
    failed.push_back(
        {call, {.message = failure.message, .sent = call->sent, .timed_out = failure.timed_out}});
  };
  if (link->call) {
    link->call->link = nullptr;
    give_up(link->call);
  } else if (opened != 0) {
    connects_paused = true;
    connect_timer.start(kConnectPause, [this] {
      connects_paused = false;
      pump();
    });
  } else {
    while (!waiting.empty() && waiting.begin()->first < link->born) {
      give_up(waiting.begin()->second);
      waiting.erase(waiting.begin());
    }
  }
  pump();
  fail_all(std::move(failed));
}

void HttpClient::Impl::destroy() {
  destroyed = true;
  closed = true;
  deadline_timer.cancel();
  connect_timer.cancel();
  for (const auto& [link, held] : std::exchange(links, {})) held->close();
  idle.clear();
  const auto unanswered = std::exchange(calls, {});
  waiting.clear();
}

HttpClient::HttpClient(EventLoop& loop, HttpClientOptions options)
    : impl_(std::make_shared<Impl>(loop, std::move(options))) {}

HttpClient::~HttpClient() { impl_->destroy(); }

void HttpClient::send(HttpRequest request, Duration deadline, Reply reply) {
  impl_->send(std::move(request), deadline, std::move(reply));
}

std::unique_ptr<HttpClient::Stream> HttpClient::open(HttpRequest request,
                                                     const StreamOptions& options,
                                                     StreamHandler handler) {
  return open_stream(impl_->loop, impl_->options,
                     {.request = std::move(request),
                      .options = options,
                      .handler = std::move(handler),
                      .refused = impl_->closed});
}

void HttpClient::set_tls(std::shared_ptr<TlsContext> tls) {
  if (!impl_->options.server.tls) return;
  impl_->options.tls = std::move(tls);
  ++impl_->tls_generation;
  impl_->drop_idle();
}

void HttpClient::close() {
  impl_->closed = true;
  impl_->drop_idle();
}

std::size_t HttpClient::in_flight() const { return impl_->in_flight; }
std::size_t HttpClient::waiting() const { return impl_->waiting.size(); }

}  // namespace stowage::net
