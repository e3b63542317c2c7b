// The heads of HTTP/1.1 messages as bytes. Pure functions. For src/net only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace stowage::net {

// "host:port" of a URL, with brackets around an IPv6 address: for messages and for Host.
[[nodiscard]] std::string authority(const Url& url);

// The request line and headers; generates Host and Content-Length. An error if a part contains
// characters that would break the framing.
[[nodiscard]] Result<std::string> request_head(const Url& server, const HttpRequest& request);

struct ResponseFraming {
  enum class Body { none, sized, chunked, until_close, upgrade };
  Body body = Body::sized;
  std::size_t size = 0;  // of a sized body
  bool keep_alive = true;
  bool http_1_0 = false;
};
// Replaces line breaks in headers by blanks, so that there is always an answer.
[[nodiscard]] std::string response_head(const HttpResponse& response,
                                        const ResponseFraming& framing);

// "1f4\r
// ": precedes a chunk of this size; "\r
// " follows the chunk.
[[nodiscard]] std::string chunk_head(std::size_t size);

[[nodiscard]] std::string_view reason_phrase(int status);

}  // namespace stowage::net
