#include "net/message_writer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "net/address.h"
#include "net/ascii.h"

namespace stowage::net {
namespace {

constexpr std::array<std::pair<int, std::string_view>, 40> kReasons{{
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
}};

// Headers that frame a message: only generated here.
bool is_framing(std::string_view name) {
  return equals_ignoring_case(name, "content-length") || equals_ignoring_case(name, "connection") ||
         equals_ignoring_case(name, "transfer-encoding");
}

bool breaks_line(char c) { return c == '\r' || c == '\n' || c == '\0'; }

Status check_request(const HttpRequest& request) {
  if (!is_token(request.method)) {
    return fail(fmt::format("the method of a request is \"{}\": expected a token", request.method));
  }
  const bool visible = std::all_of(request.target.begin(), request.target.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '\x7F';
  });
  if (!request.target.starts_with('/') || !visible) {
    return fail("the target of a request must begin with / and have blanks and controls escaped");
  }
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name)) return fail(fmt::format("\"{}\" is not the name of a header", name));
    if (std::any_of(value.begin(), value.end(), breaks_line)) {
      return fail(fmt::format("the value of header {} has a line break", name));
    }
  }
  return {};
}

bool sends_body(const HttpRequest& request) {
  return !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
         request.method == "PATCH";
}

}  // namespace

std::string authority(const Url& url) {
  if (is_socket_path(url.host)) return "unix:" + url.host;
  const bool ipv6 = url.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", url.host, ipv6 ? "]" : "", url.port);
}

Result<std::string> request_head(const Url& server, const HttpRequest& request) {
  STOWAGE_TRY_VOID(check_request(request));
  std::string head;
  head.reserve(256);
  head += request.method;
  head += ' ';
  head += server.path;
  head += request.target;
  head += " HTTP/1.1\r\nHost: ";
  std::string host = authority(server);
  if (is_socket_path(server.host)) {
    host = "localhost";
  } else if (server.port == (server.tls ? 443 : 80)) {
    host.erase(host.rfind(':'));
  }
  head += host;
  for (const auto& [name, value] : request.headers) {
    if (is_framing(name) || equals_ignoring_case(name, "host")) continue;
    head += "\r\n";
    head += name;
    head += ": ";
    head += value;
  }
  if (!find_header(request.headers, "upgrade").empty()) head += "\r\nConnection: Upgrade";
  if (sends_body(request)) {
    fmt::format_to(std::back_inserter(head), "\r\nContent-Length: {}", request.body.size());
  }
  head += "\r\n\r\n";
  return head;
}

std::string response_head(const HttpResponse& response, const ResponseFraming& framing) {
  std::string head;
  head.reserve(256);
  fmt::format_to(std::back_inserter(head), "HTTP/1.1 {:03} {}\r\n", response.status,
                 reason_phrase(response.status));
  for (const auto& [name, value] : response.headers) {
    if (is_framing(name) || !is_token(name)) continue;
    head += name;
    head += ": ";
    std::transform(value.begin(), value.end(), std::back_inserter(head),
                   [](char c) { return breaks_line(c) ? ' ' : c; });
    head += "\r\n";
  }
  if (framing.body == ResponseFraming::Body::sized) {
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", framing.size);
  } else if (framing.body == ResponseFraming::Body::chunked) {
    head += "Transfer-Encoding: chunked\r\n";
  }
  if (framing.body == ResponseFraming::Body::upgrade) {
    head += "Connection: Upgrade\r\n";
  } else if (!framing.keep_alive) {
    head += "Connection: close\r\n";
  } else if (framing.http_1_0) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
  return head;
}

std::string chunk_head(std::size_t size) { return fmt::format("{:x}\r\n", size); }

std::string_view reason_phrase(int status) {
  const auto* const at = std::find_if(kReasons.begin(), kReasons.end(),
                                      [&](const auto& entry) { return entry.first == status; });
  return at == kReasons.end() ? "Unknown" : at->second;
}

}  // namespace stowage::net
