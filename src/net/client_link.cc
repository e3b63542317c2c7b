#include "net/client_link.h"

#include <utility>

#include <fmt/format.h>

#include "net/message_writer.h"

namespace stowage::net {
namespace {

constexpr std::size_t kInputSlack = std::size_t{1} << 20U;
constexpr std::size_t kTitleMax = 200;

}  // namespace

std::string ClientCall::title() const {
  const std::string_view text = *head;
  const std::size_t method_end = text.find(' ');
  const std::size_t target_end = text.find_first_of(" ?", method_end + 1);
  return std::string(text.substr(0, std::min(target_end, kTitleMax)));
}

ClientLink::ClientLink(EventLoop& loop, Pool& pool, const HttpClientOptions& options)
    : loop_(loop),
      pool_(&pool),
      peer_(authority(options.server)),
      parser_(
          {.header_bytes_max = options.header_bytes_max, .body_bytes_max = options.body_bytes_max}),
      idle_timer_(loop) {}

void ClientLink::connect(const HttpClientOptions& options, std::shared_ptr<TlsContext> tls) {
  channel_ =
      std::make_shared<Channel>(loop_, *this,
                                ChannelOptions{.peer = peer_,
                                               .input_max = options.header_bytes_max + kInputSlack,
                                               .open_timeout = options.connect_timeout,
                                               .write_timeout = Duration{},
                                               .tls = std::move(tls)});
  channel_->connect(options.server.host, options.server.port);
}

void ClientLink::start(const std::shared_ptr<ClientCall>& next) {
  idle_timer_.cancel();
  call = next;
  call->link = this;
  answer_begun_ = false;
  parser_.reset(call->mode);
  channel_->clear_sent();
  channel_->limit_delivery(call->deadline - loop_.now());
  channel_->output().push_payload(call->head);
  channel_->output().push_payload(call->body);
  channel_->flush();
}

void ClientLink::become_idle(Duration limit) {
  channel_->release_memory();
  idle_timer_.start(limit, [this] {
    const std::shared_ptr<ClientLink> self = shared_from_this();
    fail({.message = {}, .was_open = true});
  });
}

void ClientLink::close() {
  pool_ = nullptr;
  idle_timer_.cancel();
  if (channel_) channel_->close();
}

void ClientLink::fail(Failure failure) {
  failure.answer_begun = answer_begun_;
  channel_->close();
  if (Pool* pool = std::exchange(pool_, nullptr)) pool->link_failed(*this, failure);
}

void ClientLink::answer(bool reusable) {
  ++served_;
  HttpResponse response = std::move(parser_.response());
  pool_->link_answered(*this, std::move(response), reusable);
}

void ClientLink::on_open() {
  open_ = true;
  const std::shared_ptr<ClientLink> self = shared_from_this();
  pool_->link_opened(*this);
}

void ClientLink::on_input() {
  const std::shared_ptr<ClientLink> self = shared_from_this();
  if (!call) {
    fail({.message = fmt::format("{} sent data that was not requested", peer_), .was_open = true});
    return;
  }
  answer_begun_ = true;
  for (;;) {
    channel_->consume(parser_.put(channel_->input()));
    if (parser_.fault().kind != ParseFault::Kind::none) {
      fail({.message = fmt::format("{}: {}: {}", peer_, call->title(), parser_.fault().message),
            .was_open = true});
      return;
    }
    if (!parser_.done()) return;
    const int status = parser_.response().status;
    if (status >= 200) break;
    if (status == 101) {
      fail({.message = fmt::format("{}: {}: the server wants to change the protocol", peer_,
                                   call->title()),
            .was_open = true});
      return;
    }
    parser_.reset(call->mode);
  }
  answer(parser_.keep_alive() && channel_->input().empty() && channel_->drained());
}

void ClientLink::on_end(const ChannelEnd& end) {
  const std::shared_ptr<ClientLink> self = shared_from_this();
  Failure failure{.message = end.message, .was_open = open_};
  if (end.kind == ChannelEnd::Kind::eof) {
    if (call && parser_.put_eof()) return answer(false);
    failure.message =
        fmt::format("{} closed the connection {}", peer_,
                    answer_begun_ ? "in the middle of the answer" : "before it answered");
  }
  failure.timed_out = end.kind == ChannelEnd::Kind::timed_out;
  if (call && open_) failure.message += fmt::format(" ({})", call->title());
  fail(std::move(failure));
}

}  // namespace stowage::net
