// Opens a channel: name, addresses, connection, TLS handshake.
#include <algorithm>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>

#include "net/address.h"
#include "net/channel.h"
#include "net/error_text.h"
#include "net/io.h"

namespace stowage::net {
namespace {

using boost::asio::ip::tcp;

// A peer that has vanished silently is noticed after a minute, even if nothing is written.
constexpr int kKeepIdleSeconds = 30;
constexpr int kKeepIntervalSeconds = 10;
constexpr int kKeepCount = 3;

using Stream = boost::asio::generic::stream_protocol;

void set_options(Stream::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const int on = 1;
  const int fd = socket.native_handle();
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepIdleSeconds, sizeof(kKeepIdleSeconds));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepIntervalSeconds, sizeof(kKeepIntervalSeconds));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepCount, sizeof(kKeepCount));
}

// A connection from an ephemeral port to itself: possible if the port has no listener.
bool is_own_echo(const Stream::socket& socket) {
  boost::system::error_code error;
  const auto local = socket.local_endpoint(error);
  if (!error && local.protocol().family() == AF_UNIX) return false;
  return !error && local == socket.remote_endpoint(error) && !error;
}

}  // namespace

void Channel::connect(const std::string& host, std::uint16_t port) {
  state_ = State::connecting;
  host_ = host;
  open_by_ = after(loop_, options_.open_timeout);
  if (is_socket_path(host)) {
    endpoints_ = {Endpoint(boost::asio::local::stream_protocol::endpoint(host))};
    connect_next();
    return;
  }
  ErrorCode not_an_address;
  const auto address = boost::asio::ip::make_address(host, not_an_address);
  if (not_an_address) return resolve(host, port);
  endpoints_ = {Endpoint(tcp::endpoint(address, port))};
  connect_next();
}

void Channel::start_open_timer(Duration limit) {
  timer_.start(limit, [this] {
    if (state_ == State::connecting && endpoint_ + 1 < endpoints_.size()) {
      ++endpoint_;
      connect_next();
      return;
    }
    const char* what = state_ == State::handshake ? "the TLS handshake did not end"
                       : endpoints_.empty()       ? "no answer from the name server"
                                                  : "no answer";
    end(ChannelEnd::Kind::timed_out,
        fmt::format("cannot connect to {}: {} within {}", options_.peer, what,
                    duration_text(options_.open_timeout)));
  });
}

void Channel::resolve(const std::string& host, std::uint16_t port) {
  start_open_timer(options_.open_timeout);
  auto resolver = std::make_shared<tcp::resolver>(loop_.io().context);
  resolver->async_resolve(
      host, std::to_string(port), tcp::resolver::numeric_service,
      [self = shared_from_this(), resolver](const ErrorCode& error,
                                            const tcp::resolver::results_type& results) {
        if (self->state_ != State::connecting) return;
        if (error || results.empty()) {
          self->refuse(fmt::format("no address found for this name: {}", error_text(error)));
          return;
        }
        for (const auto& result : results) self->endpoints_.emplace_back(result.endpoint());
        self->connect_next();
      });
}

void Channel::connect_next() {
  const auto left = static_cast<std::int64_t>(endpoints_.size() - endpoint_);
  start_open_timer(std::max(open_by_ - loop_.now(), Duration{}) / left);
  const std::uint64_t attempt = ++attempt_;
  ErrorCode error;
  socket_.close(error);
  socket_.open(endpoints_[endpoint_].protocol(), error);
  if (error) {
    loop_.post([self = shared_from_this(), attempt, error] {
      if (self->attempt_ == attempt) self->connected(error);
    });
    return;
  }
  socket_.async_connect(endpoints_[endpoint_],
                        [self = shared_from_this(), attempt](const ErrorCode& failed) {
                          if (self->attempt_ == attempt) self->connected(failed);
                        });
}

void Channel::connected(const ErrorCode& error) {
  if (state_ != State::connecting) return;
  const bool echo = !error && is_own_echo(socket_);
  if (error || echo) {
    if (endpoint_ + 1 < endpoints_.size()) {
      ++endpoint_;
      connect_next();
    } else {
      refuse(echo ? "connection refused" : error_text(error));
    }
    return;
  }
  start_open_timer(std::max(open_by_ - loop_.now(), Duration{}));
  begin_session();
}

void Channel::accept(boost::asio::generic::stream_protocol::socket socket) {
  socket_ = std::move(socket);
  start_open_timer(options_.open_timeout);
  loop_.post([self = shared_from_this()] {
    if (self->state_ == State::fresh) self->begin_session();
  });
}

void Channel::begin_session() {
  ErrorCode ignored;
  socket_.non_blocking(true, ignored);
  set_options(socket_);
  if (!options_.tls) return become_open();
  auto session = state_ == State::connecting ? TlsSession::connect(options_.tls, host_)
                                             : TlsSession::accept(options_.tls);
  state_ = State::handshake;
  if (!session) return refuse(session.error().message);
  tls_ = std::move(*session);
  handshake();
  read();
}

void Channel::handshake() {
  const TlsSession::Step step = tls_->handshake();
  flush();  // includes the alert that says why it failed
  if (step == TlsSession::Step::more) return;
  if (step == TlsSession::Step::done) {
    become_open();
    if (state_ == State::open) take_plain_text();
  } else {
    refuse(step == TlsSession::Step::failed ? tls_->error() : "the peer closed the TLS session");
  }
}

void Channel::become_open() {
  state_ = State::open;
  timer_.cancel();
  owner_->on_open();
  read();
}

void Channel::refuse(const std::string& why) {
  end(ChannelEnd::Kind::refused, fmt::format("cannot connect to {}: {}", options_.peer, why));
}

}  // namespace stowage::net
