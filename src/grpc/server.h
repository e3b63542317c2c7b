// A gRPC server on a Unix socket, with limits on everything that a peer may send or withhold. Lives
// on the loop's thread. Methods have one request, and one answer or many.
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
  std::string socket;    // the path; an existing socket is replaced
  unsigned mode = 0600;  // file mode of the socket
  // Beyond that, the connection that has been without a call for longest is closed for a new one.
  // If all have calls, the new one is closed.
  std::size_t connections_max = 8;
  std::uint32_t calls_max = 100;  // at once on one connection
  std::size_t header_bytes_max = std::size_t{64} << 10U;
  std::size_t request_bytes_max = std::size_t{4} << 20U;
  std::size_t buffered_bytes_max = std::size_t{8} << 20U;    // of requests, per connection
  net::Duration request_timeout = std::chrono::seconds{30};  // from its first byte to its last
  net::Duration write_timeout = std::chrono::seconds{30};    // without progress
  // If no byte arrives for ping_after, the peer is pinged. If then no byte arrives for
  // ping_timeout, the connection is closed.
  net::Duration ping_after = std::chrono::seconds{60};
  net::Duration ping_timeout = std::chrono::seconds{20};
};

struct ServerRequest {
  std::string method;
  std::string message;
  std::optional<net::Moment> due;  // when the peer stops waiting
};

// Answers one call: once with send(), or with write()... and end(). May be kept for any time; after
// the peer has disconnected its functions do nothing, and none of them calls back. If it is
// destroyed without an end, the call ends with INTERNAL.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void send(std::string message) = 0;  // the only answer, and the end
  virtual void write(std::string message) = 0;
  virtual void end(CallStatus status) = 0;
  // Bytes of write() that the peer has not taken yet. The writer decides how much is too much.
  [[nodiscard]] virtual std::size_t backlog() const = 0;
  // Called once if the call ends before the answer is complete: the peer has cancelled it or
  // disconnected, or its deadline has passed.
  virtual void on_closed(std::function<void()> closed) = 0;
};

class Server {
 public:
  using Handler = std::function<void(ServerRequest, std::shared_ptr<Responder>)>;
  using Methods = std::map<std::string, Handler, std::less<>>;  // by "/package.Service/Method"

  // Listens at once. An error names the path and the reason. Other methods are UNIMPLEMENTED.
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(net::EventLoop& loop,
                                                              ServerOptions options,
                                                              Methods methods);
  virtual ~Server() = default;  // ends all calls without callbacks, and removes the socket
  [[nodiscard]] virtual std::size_t connections() const = 0;
};

}  // namespace stowage::grpc
