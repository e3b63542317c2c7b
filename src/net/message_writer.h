// The heads of HTTP/1.1 messages as bytes. Pure functions. For src/net alone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace stowage::net {

// "host:port" of a URL, with brackets around an IPv6 address: for messages and for Host.
[[nodiscard]] std::string authority(const Url& url);

// The request line and headers; Host and Content-Length are made here. An error if a part has
// characters that would break the framing.
[[nodiscard]] Result<std::string> request_head(const Url& server, const HttpRequest& request);

struct ResponseFraming {
  enum class Body { none, sized, chunked, until_close, upgrade };
  Body body = Body::sized;
  std::size_t size = 0;  // of a sized body
  bool keep_alive = true;
  bool http_1_0 = false;
};
// Line breaks in headers become blanks: an answer is better than none.
[[nodiscard]] std::string response_head(const HttpResponse& response,
                                        const ResponseFraming& framing);

// "1f4\r\n": what stands before a chunk of this size; after it stands "\r\n".
[[nodiscard]] std::string chunk_head(std::size_t size);

[[nodiscard]] std::string_view reason_phrase(int status);

}  // namespace stowage::net
