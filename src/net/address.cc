#include "net/address.h"

#include <charconv>

#include <fmt/format.h>

namespace stowage::net {

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
