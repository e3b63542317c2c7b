#include "net/http.h"

#include <algorithm>
#include <arpa/inet.h>
#include <netinet/in.h>

#include <fmt/format.h>

#include "base/number.h"
#include "net/ascii.h"

namespace stowage::net {
namespace {

constexpr std::size_t kShownMax = 200;
constexpr std::size_t kHostMax = 253;

// Untrusted text for an error message: short, and without control characters.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kShownMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + (text.size() > kShownMax ? "\"..." : "\"");
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

enum class Plus { plus, blank };

Result<std::string> decode(std::string_view text, Plus plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::blank) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return fail(
            fmt::format("{} has a malformed percent escape at byte {}: expected % and two "
                        "hexadecimal digits",
                        quoted(text), i));
      }
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

bool is_unreserved(char c) {
  return is_ascii_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

Status check_host(std::string_view url, std::string_view host, bool bracketed) {
  if (host.empty()) return fail(fmt::format("{} has no host", quoted(url)));
  if (bracketed) {
    in6_addr address{};
    if (inet_pton(AF_INET6, std::string(host).c_str(), &address) == 1) return {};
    return fail(fmt::format("{}: {} is not an IPv6 address", quoted(url), quoted(host)));
  }
  const bool good = host.size() <= kHostMax && std::all_of(host.begin(), host.end(), [](char c) {
                      return is_ascii_alnum(c) || c == '-' || c == '.' || c == '_';
                    });
  if (good) return {};
  return fail(
      fmt::format("{}: {} is not a host name or an address; write an IPv6 address in brackets",
                  quoted(url), quoted(host)));
}

Result<std::uint16_t> parse_port(std::string_view url, std::string_view text) {
  const auto port = base::parse_number<std::uint16_t>(text);
  if (port && *port != 0) return *port;
  return fail(
      fmt::format("{}: port {} is not a number from 1 to 65535", quoted(url), quoted(text)));
}

Result<bool> take_scheme(std::string_view url, std::string_view& rest) {
  const std::size_t end = url.find("://");
  const std::string_view scheme = url.substr(0, end == std::string_view::npos ? 0 : end);
  const bool tls = equals_ignoring_case(scheme, "https");
  if (!tls && !equals_ignoring_case(scheme, "http")) {
    return fail(fmt::format("{} does not begin with http:// or https://", quoted(url)));
  }
  rest = url.substr(end + 3);
  return tls;
}

// Only visible bytes are valid in a request line: others could end the line early.
bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) > ' ' && c != '\x7F'; });
}

}  // namespace

std::string_view find_header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (equals_ignoring_case(key, name)) return value;
  }
  return {};
}

Result<Url> parse_url(std::string_view text) {
  std::string_view rest;
  STOWAGE_TRY(tls, take_scheme(text, rest));
  Url url{.tls = tls, .port = static_cast<std::uint16_t>(tls ? 443 : 80)};
  if (!is_visible(text)) return fail(fmt::format("{} contains a space", quoted(text)));
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return fail(fmt::format("{} has a query or a fragment: expected host, port and path only",
                            quoted(text)));
  }
  std::string_view authority = rest.substr(0, rest.find('/'));
  std::string_view path = rest.substr(authority.size());
  if (authority.find('@') != std::string_view::npos) {
    return fail(
        "the URL contains a user name or a password: remove them; credentials are configured "
        "elsewhere");
  }
  const bool bracketed = authority.starts_with('[');
  const std::size_t host_end = bracketed ? authority.find(']') : authority.find(':');
  if (bracketed && host_end == std::string_view::npos) {
    return fail(fmt::format("{} has an unclosed bracket", quoted(text)));
  }
  const std::string_view host =
      bracketed ? authority.substr(1, host_end - 1) : authority.substr(0, host_end);
  STOWAGE_TRY_VOID(check_host(text, host, bracketed));
  url.host = host;
  const std::size_t host_size = host.size() + (bracketed ? 2 : 0);
  std::string_view port = authority.substr(host_size);
  if (!port.empty()) {
    if (port.front() != ':') return fail(fmt::format("{} has text after the host", quoted(text)));
    STOWAGE_TRY_ASSIGN(url.port, parse_port(text, port.substr(1)));
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  STOWAGE_TRY_VOID(decode(path, Plus::plus).map([](const std::string&) {}));
  url.path = path;
  return url;
}

std::string_view Target::query_value(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return {};
}

Result<Target> parse_target(std::string_view target) {
  if (!target.starts_with('/')) {
    return fail(fmt::format("target {} does not begin with /", quoted(target)));
  }
  if (!is_visible(target) || target.find('#') != std::string_view::npos) {
    return fail(fmt::format("target {} has a character that must be escaped", quoted(target)));
  }
  const std::size_t mark = target.find('?');
  Target out{.path = std::string(target.substr(0, mark)), .query = {}};
  STOWAGE_TRY_VOID(decode(out.path, Plus::plus).map([](const std::string&) {}));
  std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    STOWAGE_TRY(key, decode(pair.substr(0, equals), Plus::blank));
    STOWAGE_TRY(value, decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1),
                              Plus::blank));
    out.query.emplace_back(std::move(key), std::move(value));
  }
  return out;
}

Result<std::string> percent_decode(std::string_view text) { return decode(text, Plus::plus); }

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    }
  }
  return out;
}

}  // namespace stowage::net
