#include "grpc/server_link.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "grpc/header_text.h"

namespace stowage::grpc {
namespace {

// Passed to the system at a time; the rest waits where backlog() counts it.
constexpr std::size_t kAhead = std::size_t{64} << 10U;
constexpr net::Duration kLinger = std::chrono::seconds{1};

}  // namespace

class Answer final : public Responder {
 public:
  Answer(const std::shared_ptr<ServerLink>& link, StreamId call) : link_(link), call_(call) {}
  ~Answer() override { end({Code::internal, "the call was not answered"}); }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  void send(std::string message) override {
    write(std::move(message));
    end({});
  }
  void write(std::string message) override {
    if (const auto link = link_.lock()) link->write(call_, std::move(message));
  }
  void end(CallStatus status) override {
    if (const auto link = std::exchange(link_, {}).lock()) link->end(call_, status);
  }
  [[nodiscard]] std::size_t backlog() const override {
    const auto link = link_.lock();
    return link ? link->backlog(call_) : 0;
  }
  void on_closed(std::function<void()> closed) override { closed_ = std::move(closed); }

  void lose() {
    link_.reset();
    const auto closed = std::exchange(closed_, nullptr);
    if (closed) closed();
  }

 private:
  std::weak_ptr<ServerLink> link_;  // expired or empty: the call has ended
  StreamId call_;
  std::function<void()> closed_;
};

ServerLink::ServerLink(net::EventLoop& loop, const ServerOptions& options, Host& host)
    : loop_(loop),
      options_(options),
      host_(&host),
      session_({.header_bytes_max = options.header_bytes_max,
                .request_bytes_max = options.request_bytes_max,
                .buffered_bytes_max = options.buffered_bytes_max,
                .streams_max = options.calls_max}),
      // Clients accept any number of pings.
      keepalive_(loop,
                 {.ping_after = options.ping_after,
                  .ping_timeout = options.ping_timeout,
                  .ping_again = net::Duration{}},
                 {.ping =
                      [this] {
                        session_.ping();
                        work();
                      },
                  .lost = [this] { lost(); }}),
      idle_since_(loop.now()) {}

void ServerLink::start(std::unique_ptr<net::ByteStream> stream) {
  stream_ = std::move(stream);
  keepalive_.set_busy(true);
  stream_->start({.open = [this] { work(); },
                  .bytes =
                      [this](std::string_view bytes) {
                        const auto self = shared_from_this();
                        keepalive_.heard(0);
                        session_.receive(bytes);
                        work();
                      },
                  .drained = [this] { work(); },
                  .end = [this](const std::string&) { lost(); }});
}

std::optional<net::Moment> ServerLink::idle_since() const {
  return session_.streams() == 0 ? std::optional(idle_since_) : std::nullopt;
}

void ServerLink::write(StreamId call, std::string message) {
  session_.write(call, std::move(message));
  work_soon();
}

void ServerLink::end(StreamId call, const CallStatus& status) {
  session_.end(call, status);
  calls_.erase(call);
  work_soon();
}

void ServerLink::work_soon() {
  if (std::exchange(work_posted_, true)) return;
  loop_.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->work_posted_ = false;
    self->work();
  });
}

void ServerLink::send_output() {
  while (stream_->backlog() < kAhead) {
    std::string bytes = session_.output(kAhead);
    if (bytes.empty()) return;
    stream_->write(std::move(bytes));
  }
}

// Writes output, then passes requests to the handlers.
void ServerLink::work() {
  const auto self = shared_from_this();
  if (host_ == nullptr) return;
  send_output();
  for (ServerEvent& event : session_.take_events()) hand_on(std::move(event));
  if (host_ == nullptr) return;
  if (session_.streams() != 0) idle_since_ = loop_.now();
  if (!session_.over()) return;
  stream_->finish(kLinger);
  lost();
}

void ServerLink::hand_on(ServerEvent event) {
  if (host_ == nullptr) return;
  switch (event.kind) {
    case ServerEvent::Kind::begun: return begin(event);
    case ServerEvent::Kind::request: return pass_request(event.call, std::move(event.message));
    case ServerEvent::Kind::closed: return lose(event.call);
  }
}

void ServerLink::begin(const ServerEvent& event) {
  if (!host_->knows(event.method)) {
    session_.end(event.call,
                 {Code::unimplemented, fmt::format("unknown method {}", shown(event.method))});
    return work_soon();
  }
  Call& call = calls_.try_emplace(event.call, loop_).first->second;
  call.method = event.method;
  net::Duration limit = options_.request_timeout;
  if (event.timeout) {
    call.due = after(loop_, *event.timeout);
    limit = std::min(limit, *event.timeout);
  }
  call.timer.start(limit, [this, id = event.call] { expire(id); });
}

void ServerLink::pass_request(StreamId id, std::string message) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  Call& call = found->second;
  call.timer.cancel();
  if (call.due) call.timer.start(*call.due - loop_.now(), [this, id] { expire(id); });
  auto answer = std::make_shared<Answer>(shared_from_this(), id);
  call.answer = answer;
  ServerRequest request{.method = call.method, .message = std::move(message), .due = call.due};
  host_->handle(std::move(request), std::move(answer));
}

void ServerLink::expire(StreamId id) {
  const auto self = shared_from_this();
  session_.end(id, {Code::deadline_exceeded, "the deadline of the call has passed"});
  work_soon();
  lose(id);
}

// The answer is no longer wanted.
void ServerLink::lose(StreamId id) {
  const auto ended = calls_.extract(id);
  if (ended.empty()) return;
  if (const auto answer = ended.mapped().answer.lock()) answer->lose();
}

void ServerLink::lost() {
  const auto self = shared_from_this();
  Host* const host = host_;
  const auto calls = std::exchange(calls_, {});
  close();
  if (host != nullptr) host->on_link_end(*this);
  for (const auto& [id, call] : calls) {
    if (const auto answer = call.answer.lock()) answer->lose();
  }
}

void ServerLink::give_way() {
  session_.send_goaway();
  send_output();
  stream_->finish(kLinger);
  close();
}

void ServerLink::close() {
  host_ = nullptr;
  keepalive_.set_busy(false);
  stream_.reset();
  const auto calls = std::exchange(calls_, {});
}

}  // namespace stowage::grpc
