#include "net/channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <fmt/format.h>

#include "net/error_text.h"
#include "net/io.h"

namespace stowage::net {
namespace {

constexpr std::size_t kReadSizeMin = std::size_t{16} << 10U;
constexpr std::size_t kRecordMax = std::size_t{16} << 10U;  // of TLS
constexpr std::size_t kEncryptMax = std::size_t{64} << 10U;
constexpr std::size_t kPiecesMax = 64;
constexpr int kWritesPerTurn = 16;  // then other work runs
constexpr Duration kBrokenWriteWait = std::chrono::seconds{1};

}  // namespace

Channel::Channel(EventLoop& loop, Owner& owner, ChannelOptions options)
    : loop_(loop),
      owner_(&owner),
      options_(std::move(options)),
      socket_(loop.io().context),
      timer_(loop),
      read_size_(kReadSizeMin) {}

void Channel::consume(std::size_t count) {
  input_.consume(count);
  if (!delivering_) read();
}

void Channel::read() {
  const bool able =
      state_ == State::handshake || state_ == State::open || state_ == State::finishing;
  if (!able || reading_ || input_ended_) return;
  if (state_ == State::finishing) input_.consume(input_.size());
  if (input_.size() >= options_.input_max && state_ == State::open) return;
  const std::span<char> room = (tls_ ? ciphertext_ : input_).prepare(read_size_);
  reading_ = true;
  socket_.async_read_some(
      boost::asio::buffer(room.data(), room.size()),
      [self = shared_from_this(), size = room.size()](const ErrorCode& error, std::size_t count) {
        self->reading_ = false;
        if (count == size)
          self->read_size_ = std::min(2 * self->read_size_, self->options_.read_max);
        if (self->state_ != State::closed) self->on_read(error, count);
      });
}

void Channel::on_read(const ErrorCode& error, std::size_t count) {
  if (error) return on_read_error(error);
  if (tls_) {
    take_ciphertext(count);
  } else {
    input_.commit(count);
    deliver();
  }
  read();
}

void Channel::on_read_error(const ErrorCode& error) {
  const bool eof = error == boost::asio::error::eof;
  if (state_ == State::finishing) {
    end(ChannelEnd::Kind::eof, {});
  } else if (state_ == State::handshake) {
    refuse(eof ? "the connection was closed during the TLS handshake" : error_text(error));
  } else if (eof && !tls_) {
    end_input();
  } else {
    end(ChannelEnd::Kind::broken,
        eof ? fmt::format("{} ended the TLS connection without notice", options_.peer)
            : fmt::format("connection to {} broke: {}", options_.peer, error_text(error)));
  }
}

void Channel::deliver() {
  if (state_ != State::open || input_.size() == 0) return;
  delivering_ = true;
  owner_->on_input();
  delivering_ = false;
}

void Channel::take_ciphertext(std::size_t count) {
  ciphertext_.commit(count);
  const bool fed = tls_->feed(ciphertext_.view());
  ciphertext_.consume(ciphertext_.size());
  if (!fed) {
    end(ChannelEnd::Kind::broken, fmt::format("{}: {}", options_.peer, tls_->error()));
  } else if (state_ == State::handshake) {
    handshake();
  } else {
    take_plain_text();
  }
}

void Channel::take_plain_text() {
  TlsSession::Step step = TlsSession::Step::done;
  while (step == TlsSession::Step::done) {
    std::size_t count = 0;
    step = tls_->read(input_.prepare(kRecordMax), count);
    input_.commit(count);
  }
  flush();  // replies of the TLS protocol itself
  deliver();
  if (step == TlsSession::Step::more || state_ == State::closed) return;
  if (state_ == State::finishing) {
    end(ChannelEnd::Kind::eof, {});
  } else if (step == TlsSession::Step::closed) {
    end_input();
  } else {
    end(ChannelEnd::Kind::broken,
        fmt::format("connection to {} broke: {}", options_.peer, tls_->error()));
  }
}

void Channel::end_input() {
  input_ended_ = true;
  owner_->on_end({ChannelEnd::Kind::eof, {}});
}

bool Channel::drained() const { return output_.empty() && (!tls_ || tls_->output().empty()); }

// Moves output into the TLS session, in records of up to the maximum size.
bool Channel::encrypt() {
  std::array<std::string_view, kPiecesMax> pieces;
  std::array<char, kRecordMax> joined;       // NOLINT(cppcoreguidelines-pro-type-member-init)
  if (!tls_->output().empty()) return true;  // so that payload_left() is exact
  while (!output_.empty() && tls_->output().size() < kEncryptMax) {
    const std::size_t count = output_.gather(pieces);
    std::string_view record = pieces[0].substr(0, kRecordMax);
    if (record.size() < kRecordMax && count > 1) {
      std::size_t size = 0;
      for (std::size_t i = 0; i < count && size < kRecordMax; ++i) {
        size += pieces[i].copy(joined.data() + size, kRecordMax - size);
      }
      record = {joined.data(), size};
    }
    if (!tls_->write(record)) return false;
    const std::size_t payload = output_.payload();
    output_.consume(record.size());
    payload_encrypted_ += payload - output_.payload();
  }
  return true;
}

Channel::Wrote Channel::write_once() {
  std::array<std::string_view, kPiecesMax> pieces;
  std::array<iovec, kPiecesMax> vectors;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t count = 1;
  if (tls_) {
    pieces[0] = tls_->output();
  } else {
    count = output_.gather(pieces);
  }
  for (std::size_t i = 0; i < count; ++i) {
    vectors[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  ssize_t taken = -1;
  do {
    taken = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (taken < 0 && errno == EINTR);
  if (taken < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Wrote::blocked;
    write_failed(error_text(ErrorCode(errno, boost::system::system_category())));
    return Wrote::failed;
  }
  if (state_ == State::open) sent_ = true;
  if (!tls_) {
    output_.consume(static_cast<std::size_t>(taken));
    return Wrote::some;
  }
  tls_->consume_output(static_cast<std::size_t>(taken));
  if (tls_->output().empty()) payload_encrypted_ = 0;
  return Wrote::some;
}

void Channel::flush() {
  const bool able =
      state_ == State::handshake || state_ == State::open || state_ == State::finishing;
  if (!able || writing_ || write_broken_) return;
  for (int writes = 0; !drained(); ++writes) {
    if (writes == kWritesPerTurn) return await_writable();
    if (tls_ && state_ != State::handshake && !encrypt()) return write_failed(tls_->error());
    const Wrote wrote = write_once();
    if (wrote == Wrote::failed) return;
    if (wrote == Wrote::blocked) return await_writable();
  }
  if (state_ == State::finishing) end_output();
}

void Channel::flush_soon() {
  if (flush_posted_) return;
  flush_posted_ = true;
  loop_.post([self = shared_from_this()] {
    self->flush_posted_ = false;
    if (self->writing_) return;
    self->flush();
    self->after_flush();
  });
}

void Channel::await_writable() {
  writing_ = true;
  const bool finishing = state_ == State::finishing && options_.write_timeout == Duration{};
  const Duration limit = finishing ? linger_ : options_.write_timeout;
  if (limit != Duration{} && state_ != State::handshake) {
    timer_.start(limit, [this, limit] {
      end(ChannelEnd::Kind::timed_out,
          fmt::format("{} took no data for {}", options_.peer, duration_text(limit)));
    });
  }
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const ErrorCode&) {
    self->writing_ = false;
    self->flush();
    self->after_flush();
  });
}

void Channel::after_flush() {
  if (state_ != State::open || writing_ || write_broken_) return;
  timer_.cancel();
  if (drained()) owner_->on_drained();
}

// The peer takes no more bytes, but it may have answered before: its bytes are read first.
void Channel::write_failed(const std::string& why) {
  write_broken_ = true;
  output_.clear();
  payload_encrypted_ = 0;
  timer_.start(state_ == State::finishing ? Duration{} : kBrokenWriteWait, [this, why] {
    end(ChannelEnd::Kind::broken, fmt::format("connection to {} broke: {}", options_.peer, why));
  });
}

void Channel::limit_delivery(Duration limit) {
  constexpr auto kLongest = std::chrono::milliseconds{std::numeric_limits<int>::max()};
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(limit);
  const auto millis =
      static_cast<unsigned>(std::clamp(rounded, std::chrono::milliseconds{1}, kLongest).count());
  const int fd = socket_.native_handle();
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &millis, sizeof(millis));
  if (std::exchange(resets_, true)) return;
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void Channel::finish(Duration linger) {
  if (state_ == State::closed || state_ == State::finishing) return;
  const bool able = state_ == State::open && !write_broken_;
  state_ = State::finishing;
  linger_ = linger;
  if (!able) {
    end_soon(Duration{});
    return;
  }
  flush();
  if (!delivering_) read();
}

void Channel::finish_alone(Duration linger) {
  owner_ = nullptr;
  finish(linger);
}

void Channel::end_soon(Duration delay) {
  timer_.start(delay, [this] { end(ChannelEnd::Kind::eof, {}); });
}

// Everything has been sent: ends the output, and waits for the peer to end too. If we closed at
// once, the peer could lose bytes that it has not read yet.
void Channel::end_output() {
  if (!output_ended_) {
    output_ended_ = true;
    if (tls_) {
      tls_->close();
      flush();
      return;
    }
  }
  ErrorCode ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  end_soon(input_ended_ ? Duration{} : linger_);
}

void Channel::close() {
  owner_ = nullptr;
  if (state_ == State::closed) return;
  state_ = State::closed;
  timer_.cancel();
  output_.clear();
  ErrorCode ignored;
  socket_.close(ignored);
}

void Channel::end(ChannelEnd::Kind kind, const std::string& message) {
  Owner* owner = owner_;
  const std::shared_ptr<Channel> self = shared_from_this();
  close();
  if (owner != nullptr) owner->on_end({kind, message});
}

void Channel::release_memory() {
  if (reading_) return;
  input_.trim(kReadSizeMin * 4);
  ciphertext_.trim(kReadSizeMin * 4);
  read_size_ = kReadSizeMin;
}

PeerIdentity Channel::identity() const { return tls_ ? tls_->peer() : PeerIdentity{}; }

}  // namespace stowage::net
