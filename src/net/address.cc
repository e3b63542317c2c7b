#include "net/address.h"

#include <algorithm>
#include <charconv>
#include <sys/un.h>

#include <fmt/format.h>

namespace stowage::net {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;

}  // namespace

bool is_socket_path(std::string_view host) {
  return host.starts_with('/') && host.size() <= kSocketPathMax;
}

Result<Url> parse_url_or_socket(std::string_view text) {
  if (!text.starts_with(kUnix)) return parse_url(text);
  const std::string_view path = text.substr(kUnix.size());
  const bool visible = std::all_of(path.begin(), path.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '\x7F';
  });
  if (is_socket_path(path) && visible) return Url{.host = std::string(path)};
  return fail(
      fmt::format("\"{}\": write the whole path of a Unix socket, e.g. unix:/run/x.sock, of {} "
                  "characters at most, without blanks",
                  visible ? text : kUnix, kSocketPathMax));
}

Result<ListenAddress> parse_listen(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto bad = [&] {
    return fail(fmt::format(
        "cannot listen on \"{}\": write an address and a port, e.g. 127.0.0.1:10360", text));
  };
  if (colon == std::string::npos) return bad();
  ListenAddress address{.host = text.substr(0, colon)};
  const char* begin = text.data() + colon + 1;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(begin, end, address.port);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return bad();
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    return bad();
  }
  if (address.host.empty()) address.host = "0.0.0.0";
  return address;
}

}  // namespace stowage::net
