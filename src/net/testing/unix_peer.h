// Blocking peers on Unix sockets, for tests that talk to a client or a server byte by byte.
#pragma once

#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "base/check.h"
#include "net/testing/raw_socket.h"

namespace stowage::net::testing {

[[nodiscard]] inline sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  STOWAGE_CHECK(path.size() < sizeof(address.sun_path));
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

inline void set_patience(int fd) {
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

[[nodiscard]] inline RawSocket connect_unix(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = unix_address(path);
  STOWAGE_CHECK(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  set_patience(fd);
  return RawSocket(fd);
}

// Listens; connections wait until they are accepted.
class UnixPeer {
 public:
  explicit UnixPeer(std::string path) : path_(std::move(path)) {
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = unix_address(path_);
    STOWAGE_CHECK(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
    STOWAGE_CHECK(::listen(fd_, 16) == 0);
    set_patience(fd_);
  }
  ~UnixPeer() {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  UnixPeer(const UnixPeer&) = delete;
  UnixPeer& operator=(const UnixPeer&) = delete;

  [[nodiscard]] RawSocket accept() const {
    const int fd = ::accept(fd_, nullptr, nullptr);
    STOWAGE_CHECK(fd >= 0);
    set_patience(fd);
    return RawSocket(fd);
  }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace stowage::net::testing
