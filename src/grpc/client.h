// A gRPC client of one server on a Unix socket: calls with one answer or with many. Never throws,
// never blocks. Every call ends in exactly one callback, or in none if its handle or the client is
// destroyed first.
//
// The connection is made when a call needs one. If that fails, further calls wait for a growing
// pause, and fail with the next attempt: UNAVAILABLE, with the reason. A call that the server has
// certainly not started (it sent GOAWAY) is sent once more on a new connection.
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
  net::Duration deadline = std::chrono::seconds{10};        // from now on; 0: none
  std::size_t response_bytes_max = std::size_t{16} << 20U;  // of one message
};

// The interface of a client for its users; tests have their own implementation.
class Caller {
 public:
  class Call {  // destroying it cancels the call
   public:
    virtual ~Call() = default;
  };
  using Reply = std::function<void(tl::expected<std::string, CallStatus>)>;
  struct StreamHandler {
    std::function<void(std::string)> message;
    std::function<void(CallStatus)> end;  // last, also after success
  };

  virtual ~Caller() = default;
  // `method` is "/package.Service/Method", `request` an encoded message.
  [[nodiscard]] virtual std::unique_ptr<Call> call(std::string method, std::string request,
                                                   const CallOptions& options, Reply reply) = 0;
  [[nodiscard]] virtual std::unique_ptr<Call> open(std::string method, std::string request,
                                                   const CallOptions& options,
                                                   StreamHandler handler) = 0;
  // Number of connections on which the server has answered: if it grows, the server may be another
  // one.
  [[nodiscard]] virtual std::uint64_t connections() const = 0;
};

struct ClientOptions {
  std::string socket;          // the path
  std::size_t calls_max = 64;  // in progress; more are refused with RESOURCE_EXHAUSTED
  std::size_t header_bytes_max = std::size_t{64} << 10U;
  std::size_t buffered_bytes_max = std::size_t{64} << 20U;  // for all incoming answers
  net::Duration connect_timeout = std::chrono::seconds{5};
  net::Duration backoff_min = std::chrono::milliseconds{50};
  net::Duration backoff_max = std::chrono::seconds{2};
  // If a call is under way and no byte arrives for ping_after, the server is pinged. If then no
  // byte arrives for ping_timeout, the connection is closed.
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
  [[nodiscard]] std::size_t calls() const;  // in progress

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::grpc
