// An HTTP/1.1 server, plain or TLS, with limits on everything a peer may send or withhold.
// Pipelined requests are answered one after the other.
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
  // Listens together with this one, whose address it then has: a connection that comes is taken by
  // one or the other, and none is lost when either shuts down. Used by listen() only.
  const HttpServer* beside = nullptr;
  bool accepts = true;  // false: connections wait until accept() is called
  // Beyond, the one that has kept us waiting longest for a request gives way to a new one, and only
  // if all are being answered the new one is closed. Never more than half of the files that the
  // process may have: the other half is for calls of its own.
  std::size_t connections_max = 4096;
  std::size_t header_bytes_max = std::size_t{64} << 10U;
  std::size_t body_bytes_max = std::size_t{16} << 20U;  // beyond: 413
  // Of the bodies of all requests that are coming in or being answered, together. The request that
  // goes beyond gets 503 and its connection ends; the others go on.
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
  // Which of ServerTls::client_authorities vouch for it, in their order.
  std::vector<std::string> client_authorities;
};

// The way to answer one request: once with send(), or with begin() or upgrade(), then write()...
// and end(). Kept as long as wanted, used on the loop's thread; after the peer has gone its
// functions do nothing, and none of them calls back. Destroyed without an answer it sends a 500,
// destroyed before end() it cuts the connection.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void send(HttpResponse response) = 0;

  virtual void begin(HttpResponse head) = 0;  // chunked; the head's body is not sent
  // Answers 101: the connection belongs to this protocol from now on. `data` is called with what
  // the peer sends, any cut of the bytes, in order; write() sends bytes as they are, end() closes
  // after them. Requires: the request asked for it (see asks_for()).
  virtual void upgrade(std::string protocol, std::function<void(std::string_view)> data) = 0;
  virtual void write(std::shared_ptr<const std::string> chunk) = 0;  // not copied
  virtual void end() = 0;
  // Bytes of write() that the peer has not taken yet. The writer decides what is too much.
  [[nodiscard]] virtual std::size_t backlog() const = 0;
  // Closes the connection now, in the middle of whatever is being sent.
  virtual void abort() = 0;
  // Called once when the connection ends before the answer was complete, also by abort().
  virtual void on_closed(std::function<void()> closed) = 0;
};

// Does the request ask for a change to this protocol?
[[nodiscard]] bool asks_for(const HttpRequest& request, std::string_view protocol);

class HttpServer {
 public:
  using Handler = std::function<void(ServerRequest, std::shared_ptr<Responder>)>;
  // Listens at once. An error says which address and why.
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> listen(EventLoop& loop,
                                                                  HttpServerOptions options,
                                                                  Handler handler);
  virtual ~HttpServer() = default;  // closes all connections
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  // Only if the options said that it does not accept yet.
  virtual void accept() = 0;
  // Connections accepted from now on use these certificates.
  virtual void set_tls(std::shared_ptr<TlsContext> tls) = 0;
  // Connections that there are end, each after the request in progress; streams go on to their end.
  // Peers that want more come again, and show the certificates that they are asked for then.
  virtual void retire() = 0;
  // Stops listening, lets requests in progress end, closes streams after `grace`; then `done`.
  virtual void shutdown(Duration grace, std::function<void()> done) = 0;
  [[nodiscard]] virtual const HttpServerOptions& options() const = 0;  // in force
  [[nodiscard]] virtual std::size_t connections() const = 0;
  // What counts against buffered_bytes_max now. A request counts until its answer has been sent or,
  // if the peer goes before that, until its responder is dropped.
  [[nodiscard]] virtual std::size_t buffered_bytes() const = 0;

 protected:
  friend class ServerCore;
  [[nodiscard]] virtual int listener() const = 0;  // the socket; -1 after shutdown
};

}  // namespace stowage::net
