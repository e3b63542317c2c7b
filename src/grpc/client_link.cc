#include "grpc/client_link.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stowage::grpc {
namespace {

// Passed to the system at a time: these bytes can no longer be cancelled.
constexpr std::size_t kAhead = std::size_t{64} << 10U;
constexpr net::Duration kLinger = std::chrono::seconds{1};

}  // namespace

ClientLink::ClientLink(net::EventLoop& loop, const ClientOptions& options, Host& host)
    : loop_(loop),
      name_("unix:" + options.socket),
      host_(&host),
      session_({.header_bytes_max = options.header_bytes_max,
                .buffered_bytes_max = options.buffered_bytes_max}),
      keepalive_(loop, {.ping_after = options.ping_after, .ping_timeout = options.ping_timeout},
                 {.ping =
                      [this] {
                        session_.ping();
                        work();
                      },
                  .lost = [this] { end(fmt::format("{} does not answer a ping", name_)); }}),
      stream_(net::ByteStream::connect(loop, options.socket,
                                       {.open_timeout = options.connect_timeout})) {}

void ClientLink::start() {
  stream_->start({.bytes = [this](std::string_view bytes) { take(bytes); },
                  .drained = [this] { work(); },
                  .end = [this](const std::string& why) { end(reason(why)); }});
}

void ClientLink::begin(CallNumber number, CallRequest ask) {
  numbers_.emplace(session_.begin(std::move(ask)), number);
  work_soon();
}

void ClientLink::cancel(CallNumber number) {
  const auto found = std::find_if(numbers_.begin(), numbers_.end(),
                                  [&](const auto& each) { return each.second == number; });
  if (found == numbers_.end()) return;
  session_.cancel(found->first);
  numbers_.erase(found);
  work_soon();
}

void ClientLink::take(std::string_view bytes) {
  const auto self = shared_from_this();
  session_.receive(bytes);
  keepalive_.heard(session_.progress());
  if (!std::exchange(alive_, true)) host_->on_alive();
  work();
}

void ClientLink::work_soon() {
  if (std::exchange(work_posted_, true)) return;
  loop_.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->work_posted_ = false;
    self->work();
  });
}

// Writes output, then reports events to the host.
void ClientLink::work() {
  const auto self = shared_from_this();
  while (host_ != nullptr && stream_->backlog() < kAhead) {
    std::string bytes = session_.output(kAhead);
    if (bytes.empty()) break;
    stream_->write(std::move(bytes));
  }
  for (CallEvent& event : session_.take_events()) hand_on(std::move(event));
  if (host_ == nullptr) return;
  if (session_.over()) {
    stream_->finish(kLinger);
    end(fmt::format("{}: {}", name_, session_.why()));
    return;
  }
  keepalive_.set_busy(!numbers_.empty());
}

void ClientLink::hand_on(CallEvent event) {
  const auto found = numbers_.find(event.call);
  if (host_ == nullptr || found == numbers_.end()) return;
  const CallNumber number = found->second;
  if (event.end) {
    numbers_.erase(found);
    useful_ = useful_ || event.end->by_peer;
  }
  host_->on_call_event(*this, number, std::move(event));
}

// The server's own message before it closed says more than the close.
std::string ClientLink::reason(const std::string& why) const {
  const std::string said = session_.why();
  return said.empty() ? why : fmt::format("{}; {}", why, said);
}

void ClientLink::end(const std::string& why) {
  const auto self = shared_from_this();
  Host* const host = host_;
  close();
  if (host != nullptr) host->on_link_end(*this, why);
}

void ClientLink::close() {
  host_ = nullptr;
  keepalive_.set_busy(false);
  stream_.reset();
}

}  // namespace stowage::grpc
