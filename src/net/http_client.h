// An HTTP/1.1 client for one server: a pool of kept-alive connections, complete calls with a
// deadline, and streams that stay open. It never throws and never blocks. Every call ends in
// exactly one callback, or in none if its handle is destroyed first.
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
  Url server;                         // its path is prepended to every target
  std::shared_ptr<TlsContext> tls;    // set if server.tls
  std::size_t connections_max = 64;   // for calls; streams have their own connections
  std::size_t waiting_max = 100'000;  // calls that wait for a connection; more are refused at once
  Duration connect_timeout = std::chrono::seconds{5};
  Duration idle_timeout = std::chrono::seconds{60};  // of a pooled connection
  std::size_t header_bytes_max = std::size_t{64} << 10U;
  std::size_t body_bytes_max = std::size_t{256} << 20U;
};

// Why a call got no response. If `sent` is false, no byte of the request was sent, so it can be
// repeated safely; otherwise the server may have acted on it.
struct CallError {
  std::string message;  // names the server and what to check
  bool sent = false;
  bool timed_out = false;
};

// The interface of a client; simulations implement it too.
class HttpCaller {
 public:
  virtual ~HttpCaller() = default;  // calls in progress end without a callback; streams continue

  using Reply = std::function<void(tl::expected<HttpResponse, CallError>)>;
  // A complete call. Calls wait in order for a connection; the deadline counts from now. After the
  // deadline nothing of the request leaves this machine, even if this process is stopped. If a kept
  // connection turns out to be closed before any byte of the response came, the request is sent
  // once more on a new one, provided that it is idempotent (GET, HEAD, PUT, DELETE) or was not
  // sent.
  virtual void send(HttpRequest request, Duration deadline, Reply reply) = 0;

  // A streamed response, such as a watch. `head` is called once with status and headers and an
  // empty body. For a status other than 200 the whole body is delivered with the head, and the
  // stream ends. `end` is called last; without an error, the server ended it properly. A request
  // with the header Upgrade may be answered with 101: both sides write from then on.
  struct StreamHandler {
    std::function<void(HttpResponse)> head;
    std::function<void(std::string_view)> data;  // in order, split anywhere
    std::function<void(std::optional<CallError>)> end;
  };
  struct StreamOptions {
    Duration head_timeout = std::chrono::seconds{30};
    Duration silence_timeout = std::chrono::seconds{0};  // without a byte; 0: none
  };
  // Destruction closes the connection; no callback comes later.
  class Stream {
   public:
    virtual ~Stream() = default;
    // Only after a head with status 101: sends the bytes unchanged.
    virtual void write(std::string bytes) = 0;
    // Bytes of write() that the server has not taken yet. The writer decides how much is too much.
    [[nodiscard]] virtual std::size_t backlog() const = 0;
  };
  [[nodiscard]] virtual std::unique_ptr<Stream> open(HttpRequest request,
                                                     const StreamOptions& options,
                                                     StreamHandler handler) = 0;

  // New connections use these certificates; idle ones are closed.
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
  // Closes idle connections and refuses new calls; calls in flight continue to their end.
  void close();

  [[nodiscard]] std::size_t in_flight() const;  // calls that now use a connection
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::net
