// An HTTP/1.1 client for one server: a pool of kept-alive connections, whole calls with a deadline,
// and streams that stay open. Never throws, never blocks; every call ends in exactly one callback,
// unless its handle is destroyed first: then in none.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/event_loop.h"
#include "net/http.h"
#include "net/tls.h"

namespace stowage::net {

struct HttpClientOptions {
  Url server;                         // its path is put before every target
  std::shared_ptr<TlsContext> tls;    // set if server.tls
  std::size_t connections_max = 64;   // for calls; streams have connections of their own
  std::size_t waiting_max = 100'000;  // calls that wait for a connection; beyond: refused at once
  Duration connect_timeout = std::chrono::seconds{5};
  Duration idle_timeout = std::chrono::seconds{60};  // of a pooled connection
  std::size_t header_bytes_max = std::size_t{64} << 10U;
  std::size_t body_bytes_max = std::size_t{256} << 20U;
};

// Why a call brought no response. `sent` tells if the server may have acted on the request: false
// means that certainly not one byte of it went out, so that it may be repeated safely.
struct CallError {
  std::string message;  // names the server and what to look at
  bool sent = false;
  bool timed_out = false;
};

// What a client does for its users; simulations have one of their own.
class HttpCaller {
 public:
  virtual ~HttpCaller() = default;  // calls in progress end without a callback; streams go on

  using Reply = std::function<void(tl::expected<HttpResponse, CallError>)>;
  // A whole call. Calls wait in order for a connection; the deadline counts from now. After it
  // nothing of the request leaves this machine any more, whatever becomes of this process. A
  // request on a kept connection that turns out to be closed before any byte of the response came
  // is sent once more on a new one if it is idempotent (GET, HEAD, PUT, DELETE) or was not sent.
  virtual void send(HttpRequest request, Duration deadline, Reply reply) = 0;

  // A response that goes on: a watch. `head` is called once with status and headers (its body is
  // empty); for a status other than 200 the body is collected and delivered with the head instead,
  // and the stream ends. `end` is called last: unset error means a clean end by the server.
  // A request with the header Upgrade may be answered with 101: both sides write from then on.
  struct StreamHandler {
    std::function<void(HttpResponse)> head;
    std::function<void(std::string_view)> data;  // any cut of the bytes, in order
    std::function<void(std::optional<CallError>)> end;
  };
  struct StreamOptions {
    Duration head_timeout = std::chrono::seconds{30};
    Duration silence_timeout = std::chrono::seconds{0};  // without a byte; 0: none
  };
  // Destroying it closes the connection; no callback comes after that.
  class Stream {
   public:
    virtual ~Stream() = default;
    // After a head with status 101 alone: to the server, as it is.
    virtual void write(std::string bytes) = 0;
    // Bytes of write() that the server has not taken yet. The writer decides what is too much.
    [[nodiscard]] virtual std::size_t backlog() const = 0;
  };
  [[nodiscard]] virtual std::unique_ptr<Stream> open(HttpRequest request,
                                                     const StreamOptions& options,
                                                     StreamHandler handler) = 0;

  // Connections made from now on use these certificates; idle ones are closed.
  virtual void set_tls(std::shared_ptr<TlsContext> tls) = 0;
};

class HttpClient final : public HttpCaller {
 public:
  HttpClient(EventLoop& loop, HttpClientOptions options);
  ~HttpClient() override;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  void send(HttpRequest request, Duration deadline, Reply reply) override;
  [[nodiscard]] std::unique_ptr<Stream> open(HttpRequest request, const StreamOptions& options,
                                             StreamHandler handler) override;
  void set_tls(std::shared_ptr<TlsContext> tls) override;
  // Closes idle connections and refuses new calls; calls in flight go on to their end.
  void close();

  [[nodiscard]] std::size_t in_flight() const;  // calls on a connection now
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::net
