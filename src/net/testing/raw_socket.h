// Blocking sockets for tests that talk to a client or a server byte by byte. All calls give up
// after some seconds, so that a broken test ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace stowage::net::testing {

class RawSocket {
 public:
  explicit RawSocket(int fd) : fd_(fd) {}
  static RawSocket connect(std::uint16_t port);  // to 127.0.0.1
  ~RawSocket() { close(); }
  RawSocket(RawSocket&& other) noexcept;
  RawSocket& operator=(RawSocket&& other) = delete;

  void send(std::string_view bytes) const;  // no error if the peer is gone
  // Reads until `end` has arrived, or the peer has ended.
  [[nodiscard]] std::string read_until(std::string_view end);
  [[nodiscard]] std::string read_all();                     // until the peer ends
  [[nodiscard]] std::string read_bytes(std::size_t count);  // or fewer, if the peer ends
  [[nodiscard]] bool at_end();                              // waits for the peer to end
  void set_receive_buffer(int bytes) const;
  void end_output() const;
  void reset();  // closes so that the peer sees an error
  void close();

 private:
  [[nodiscard]] bool receive();

  int fd_ = -1;
  std::string held_;  // received and not read yet
};

// Listens on a port of 127.0.0.1 and serves each connection with `serve`, one after the other, on
// its own thread.
class RawServer {
 public:
  // `serve` gets the number of the connection, from 0. `receive_buffer`: size of the socket's
  // receive buffer in bytes.
  explicit RawServer(std::function<void(RawSocket, int)> serve, int receive_buffer = 0);
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// Listens but accepts nothing, and its queue is full: connecting to it never finishes.
class FullListener {
 public:
  FullListener();
  ~FullListener();
  FullListener(const FullListener&) = delete;
  FullListener& operator=(const FullListener&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  std::vector<int> fds_;
  std::uint16_t port_ = 0;
};

// A port of 127.0.0.1 that had no listener just now.
[[nodiscard]] std::uint16_t unused_port();

}  // namespace stowage::net::testing
