// An HTTP/1.1 server, plain or TLS, with limits on everything that a peer may send or delay.
// Pipelined requests are answered one at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/event_loop.h"
#include "net/http.h"
#include "net/tls.h"

namespace stowage::net {

class HttpServer;

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
  std::shared_ptr<TlsContext> tls;
  // Shares the socket of this server, and so its address: each new connection is taken by one of
  // the two, and none is lost when either shuts down. Used only by listen().
  const HttpServer* beside = nullptr;
  bool accepts = true;  // false: connections wait until accept() is called
  // Above this limit, a new connection replaces the one that has waited longest for a request; if
  // all are being answered, the new one is closed. Never more than half of the process's file
  // limit: the other half is for its own calls.
  std::size_t connections_max = 4096;
  std::size_t header_bytes_max = std::size_t{64} << 10U;
  std::size_t body_bytes_max = std::size_t{16} << 20U;  // more: 413
  // Limit for the bodies of all requests that are being received or answered, together. The request
  // that exceeds it gets 503 and its connection ends; the others continue.
  std::size_t buffered_bytes_max = std::size_t{256} << 20U;
  Duration handshake_timeout = std::chrono::seconds{10};
  Duration request_timeout = std::chrono::seconds{30};  // from its first byte to its last
  Duration idle_timeout = std::chrono::seconds{120};    // between requests
  Duration write_timeout = std::chrono::seconds{30};    // without progress
};

struct ServerRequest {
  HttpRequest http;
  std::string peer;            // address and port
  std::string client_subject;  // common name of a verified client certificate; "" if none
  std::vector<std::string> client_groups;  // its organisations
  // The names from ServerTls::client_authorities whose certificates verify it, in their order.
  std::vector<std::string> client_authorities;
};

// Answers one request: once with send(), or with begin() or upgrade(), then write()... and end().
// May be kept for any time, and is used on the loop's thread. After the peer has gone its functions
// do nothing; none of them makes callbacks. Destroyed without an answer it sends a 500; destroyed
// before end() it cuts the connection.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void send(HttpResponse response) = 0;

  virtual void begin(HttpResponse head) = 0;  // chunked; the head's body is not sent
  // Answers 101: the connection now belongs to this protocol. `data` is called with what the peer
  // sends, in order, split anywhere; write() sends bytes unchanged, end() closes after them.
  // Requires: the request asked for it (see asks_for()).
  virtual void upgrade(std::string protocol, std::function<void(std::string_view)> data) = 0;
  virtual void write(std::shared_ptr<const std::string> chunk) = 0;  // not copied
  virtual void end() = 0;
  // Bytes of write() that the peer has not taken yet. The writer decides how much is too much.
  [[nodiscard]] virtual std::size_t backlog() const = 0;
  // Closes the connection at once, even in the middle of an answer.
  virtual void abort() = 0;
  // Called once if the connection ends before the answer was complete, also by abort().
  virtual void on_closed(std::function<void()> closed) = 0;
};

// True if the request asks for a change to this protocol.
[[nodiscard]] bool asks_for(const HttpRequest& request, std::string_view protocol);

class HttpServer {
 public:
  using Handler = std::function<void(ServerRequest, std::shared_ptr<Responder>)>;
  // Listens at once. The error names the address and the reason.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(EventLoop& loop,
                                                                  HttpServerOptions options,
                                                                  Handler handler);
  virtual ~HttpServer() = default;  // closes all connections
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  // Only if HttpServerOptions::accepts is false.
  virtual void accept() = 0;
  // New connections use these certificates.
  virtual void set_tls(std::shared_ptr<TlsContext> tls) = 0;
  // Existing connections end, each after the request in progress; streams continue to their end.
  // Clients then reconnect and present the certificates that are requested now.
  virtual void retire() = 0;
  // Stops listening, lets requests in progress end, and closes streams after `grace`; then calls
  // `done`.
  virtual void shutdown(Duration grace, std::function<void()> done) = 0;
  [[nodiscard]] virtual const HttpServerOptions& options() const = 0;  // as in effect
  [[nodiscard]] virtual std::size_t connections() const = 0;
  // The bytes that count against buffered_bytes_max. A request counts until its answer has been
  // sent or, if the peer goes before that, until its responder is destroyed.
  [[nodiscard]] virtual std::size_t buffered_bytes() const = 0;

 protected:
  friend class ServerCore;
  [[nodiscard]] virtual int listener() const = 0;  // the socket; -1 after shutdown
};

}  // namespace stowage::net
