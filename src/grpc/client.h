// A gRPC client of one server on a Unix socket: calls with one answer or with many. Never throws,
// never blocks; every call ends in exactly one callback, unless its handle, or the client, is
// destroyed first: then in none.
//
// The connection is made when a call needs one. While it cannot be made, further calls wait for a
// pause that grows, and fail with the next attempt: UNAVAILABLE, with the reason. A call that the
// server has certainly not begun with (it was going away) is sent once more on a new connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "grpc/status.h"
#include "net/event_loop.h"

namespace stowage::grpc {

struct CallOptions {
  net::Duration deadline = std::chrono::seconds{10};        // counts from now; 0: none
  std::size_t response_bytes_max = std::size_t{16} << 20U;  // of one message
};

// What a client does for its users; tests have one of their own.
class Caller {
 public:
  class Call {  // destroying it cancels the call
   public:
    virtual ~Call() = default;
  };
  using Reply = std::function<void(tl::expected<std::string, CallStatus>)>;
  struct StreamHandler {
    std::function<void(std::string)> message;
    std::function<void(CallStatus)> end;  // last, also when the status is good
  };

  virtual ~Caller() = default;
  // `method` is "/package.Service/Method", `request` an encoded message.
  [[nodiscard]] virtual std::unique_ptr<Call> call(std::string method, std::string request,
                                                   const CallOptions& options, Reply reply) = 0;
  [[nodiscard]] virtual std::unique_ptr<Call> open(std::string method, std::string request,
                                                   const CallOptions& options,
                                                   StreamHandler handler) = 0;
  // How many connections the server has answered on so far: if it grows, the server may be another.
  [[nodiscard]] virtual std::uint64_t connections() const = 0;
};

struct ClientOptions {
  std::string socket;          // the path
  std::size_t calls_max = 64;  // under way; beyond: refused at once, RESOURCE_EXHAUSTED
  std::size_t header_bytes_max = std::size_t{64} << 10U;
  std::size_t buffered_bytes_max = std::size_t{64} << 20U;  // of all answers that are coming in
  net::Duration connect_timeout = std::chrono::seconds{5};
  net::Duration backoff_min = std::chrono::milliseconds{50};
  net::Duration backoff_max = std::chrono::seconds{2};
  // With a call under way and not a byte for ping_after, the server is asked whether it lives; not
  // a byte for ping_timeout after that ends the connection.
  net::Duration ping_after = std::chrono::seconds{5};
  net::Duration ping_timeout = std::chrono::seconds{5};
};

class Client final : public Caller {
 public:
  Client(net::EventLoop& loop, ClientOptions options);
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] std::unique_ptr<Call> call(std::string method, std::string request,
                                           const CallOptions& options, Reply reply) override;
  [[nodiscard]] std::unique_ptr<Call> open(std::string method, std::string request,
                                           const CallOptions& options,
                                           StreamHandler handler) override;
  [[nodiscard]] std::uint64_t connections() const override;
  [[nodiscard]] std::size_t calls() const;  // that have not ended

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::grpc
