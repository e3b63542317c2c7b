// HTTP/1.1 messages as plain data, for client and server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stowage::net {

using Headers = std::vector<std::pair<std::string, std::string>>;

// The first value of the header; the case of the name does not matter; empty if missing.
[[nodiscard]] std::string_view find_header(const Headers& headers, std::string_view name);

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query, encoded
  Headers headers;           // without Host, Content-Length and Connection: those are generated
  std::string body;
};

struct HttpResponse {
  int status = 200;
  Headers headers;
  std::string body;
};

// The parts of "http://127.0.0.1:8001/prefix". An IPv6 host has no brackets here.
struct Url {
  bool tls = false;
  std::string host;
  std::uint16_t port = 0;
  std::string path;  // without the final slash; "" if none exists
};
[[nodiscard]] Result<Url> parse_url(std::string_view text);

// A target split into its path and its decoded query parameters, in order. Malformed percent
// escapes are an error.
struct Target {
  std::string path;  // still encoded: decode segments after splitting at '/'
  std::vector<std::pair<std::string, std::string>> query;

  [[nodiscard]] std::string_view query_value(std::string_view name) const;  // "" if absent
};
[[nodiscard]] Result<Target> parse_target(std::string_view target);
[[nodiscard]] Result<std::string> percent_decode(std::string_view text);
[[nodiscard]] std::string percent_encode(std::string_view text);  // except unreserved characters

}  // namespace stowage::net
