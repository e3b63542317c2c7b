// Incremental parsers of HTTP/1.1 messages. No I/O. Input is untrusted: limits apply to heads,
// chunk heads, trailers and bodies. For src/net only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace stowage::net {

struct MessageLimits {
  std::size_t header_bytes_max = std::size_t{64} << 10U;
  std::size_t body_bytes_max = std::size_t{16} << 20U;
};

struct ParseFault {
  enum class Kind { none, malformed, header_too_large, body_too_large };
  Kind kind = Kind::none;
  std::string message;
};

class RequestParser {
 public:
  explicit RequestParser(const MessageLimits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  void reset();  // for the next message
  // Returns how many bytes it took; pass the rest again with more bytes after it. Takes nothing
  // after the end of the message or a fault.
  std::size_t put(std::string_view bytes);

  [[nodiscard]] bool head_done() const;
  [[nodiscard]] bool done() const;
  [[nodiscard]] bool keep_alive() const;        // once the head is done
  [[nodiscard]] bool http_1_0() const;          // once the head is done
  [[nodiscard]] bool expects_continue() const;  // the peer waits for a 100 before the body
  [[nodiscard]] const ParseFault& fault() const;
  [[nodiscard]] HttpRequest& request();

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

class ResponseParser {
 public:
  enum class Mode {
    whole,    // the body is collected in response().body
    head,     // the answer to HEAD: no body follows
    streamed  // the body of a 200 is handed out in pieces; that of others is collected
  };

  explicit ResponseParser(const MessageLimits& limits);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  void reset(Mode mode);
  std::size_t put(std::string_view bytes);
  // The connection ended: true if that is a valid end of the message.
  bool put_eof();

  [[nodiscard]] bool head_done() const;
  [[nodiscard]] bool done() const;
  [[nodiscard]] bool keep_alive() const;
  [[nodiscard]] const ParseFault& fault() const;
  [[nodiscard]] HttpResponse& response();
  // Of a streamed body: what the last put() received. Views into its argument.
  [[nodiscard]] const std::vector<std::string_view>& pieces() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace stowage::net
