#include "net/testing/raw_socket.h"

#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

#include "base/check.h"

namespace stowage::net::testing {
namespace {

constexpr timeval kPatience{.tv_sec = 30, .tv_usec = 0};

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int bound_socket(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  STOWAGE_CHECK(fd >= 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  STOWAGE_CHECK(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  STOWAGE_CHECK(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port = ntohs(address.sin_port);
  return fd;
}

void set_patience(int fd) {
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
}

}  // namespace

RawSocket RawSocket::connect(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  STOWAGE_CHECK(fd >= 0);
  set_patience(fd);
  sockaddr_in address = loopback(port);
  STOWAGE_CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  return RawSocket(fd);
}

RawSocket::RawSocket(RawSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), held_(std::move(other.held_)) {}

void RawSocket::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t taken = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (taken <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(taken));
  }
}

bool RawSocket::receive() {
  std::array<char, 65536> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  held_.append(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

std::string RawSocket::read_until(std::string_view end) {
  std::size_t from = 0;
  for (;;) {
    const std::size_t at = held_.find(end, from);
    if (at != std::string::npos) return read_bytes(at + end.size());
    from = held_.size() < end.size() ? 0 : held_.size() - end.size();
    if (!receive()) return std::exchange(held_, {});
  }
}

std::string RawSocket::read_all() {
  while (receive()) {
  }
  return std::exchange(held_, {});
}

std::string RawSocket::read_bytes(std::size_t count) {
  while (held_.size() < count && receive()) {
  }
  std::string bytes = held_.substr(0, count);
  held_.erase(0, bytes.size());
  return bytes;
}

bool RawSocket::at_end() { return held_.empty() && !receive(); }

void RawSocket::set_receive_buffer(int bytes) const {
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

void RawSocket::end_output() const { ::shutdown(fd_, SHUT_WR); }

void RawSocket::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close();
}

void RawSocket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

RawServer::RawServer(std::function<void(RawSocket, int)> serve, int receive_buffer) {
  fd_ = bound_socket(port_);
  if (receive_buffer > 0) {
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  }
  STOWAGE_CHECK(::listen(fd_, 64) == 0);
  thread_ = std::thread([fd = fd_, serve = std::move(serve)] {
    for (int number = 0;; ++number) {
      const int peer = ::accept(fd, nullptr, nullptr);
      if (peer < 0) return;
      set_patience(peer);
      serve(RawSocket(peer), number);
    }
  });
}

RawServer::~RawServer() {
  ::shutdown(fd_, SHUT_RDWR);  // ends accept()
  thread_.join();
  ::close(fd_);
}

FullListener::FullListener() {
  fds_.push_back(bound_socket(port_));
  STOWAGE_CHECK(::listen(fds_.front(), 0) == 0);
  sockaddr_in address = loopback(port_);
  for (int i = 0; i < 4; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    STOWAGE_CHECK(fd >= 0);
    static_cast<void>(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
    fds_.push_back(fd);
  }
}

FullListener::~FullListener() {
  for (const int fd : fds_) ::close(fd);
}

std::uint16_t unused_port() {
  std::uint16_t port = 0;
  ::close(bound_socket(port));
  return port;
}

}  // namespace stowage::net::testing
