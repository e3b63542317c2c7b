// A gRPC server on a Unix socket, with limits on everything a peer may send or withhold. Lives on
// the loop's thread. Methods have one request and one answer, or many.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "grpc/status.h"
#include "net/event_loop.h"

namespace stowage::grpc {

struct ServerOptions {
  std::string socket;    // the path; a socket that is there already is replaced
  unsigned mode = 0600;  // of the socket
  // Beyond, the one that has been without a call for longest gives way to a new one, and only if
  // all have calls the new one is closed.
  std::size_t connections_max = 8;
  std::uint32_t calls_max = 100;  // at once on one connection
  std::size_t header_bytes_max = std::size_t{64} << 10U;
  std::size_t request_bytes_max = std::size_t{4} << 20U;
  std::size_t buffered_bytes_max = std::size_t{8} << 20U;    // of requests, per connection
  net::Duration request_timeout = std::chrono::seconds{30};  // from its first byte to its last
  net::Duration write_timeout = std::chrono::seconds{30};    // without progress
  // Not a byte for ping_after: the peer is asked whether it lives; not a byte for ping_timeout
  // after that ends the connection.
  net::Duration ping_after = std::chrono::seconds{60};
  net::Duration ping_timeout = std::chrono::seconds{20};
};

struct ServerRequest {
  std::string method;
  std::string message;
  std::optional<net::Moment> due;  // when the peer will have stopped waiting
};

// The way to answer one call: once with send(), or with write()... and end(). Kept as long as
// wanted; after the peer has gone its functions do nothing, and none of them calls back. Destroyed
// without an end it ends the call with INTERNAL.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void send(std::string message) = 0;  // the one answer, and the end
  virtual void write(std::string message) = 0;
  virtual void end(CallStatus status) = 0;
  // Bytes of write() that the peer has not taken yet. The writer decides what is too much.
  [[nodiscard]] virtual std::size_t backlog() const = 0;
  // Called once if the call ends before the answer is complete: the peer has cancelled it, has
  // gone, or its time is up.
  virtual void on_closed(std::function<void()> closed) = 0;
};

class Server {
 public:
  using Handler = std::function<void(ServerRequest, std::shared_ptr<Responder>)>;
  using Methods = std::map<std::string, Handler, std::less<>>;  // by "/package.Service/Method"

  // Listens at once. An error says which path and why. Other methods are UNIMPLEMENTED.
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(net::EventLoop& loop,
                                                              ServerOptions options,
                                                              Methods methods);
  virtual ~Server() = default;  // cuts all calls, without a callback, and removes the socket
  [[nodiscard]] virtual std::size_t connections() const = 0;
};

}  // namespace stowage::grpc
