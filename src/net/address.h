// Addresses to listen on and to call, as users write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace stowage::net {

// The parts of "127.0.0.1:10360", "[::1]:10360" or ":10360".
struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;
};
[[nodiscard]] Result<ListenAddress> parse_listen(const std::string& text);

// A URL (http.h), or "unix:/run/x.sock": then the host is the path of the socket, without a port.
[[nodiscard]] Result<Url> parse_url_or_socket(std::string_view text);
[[nodiscard]] bool is_socket_path(std::string_view host);

// This machine's address on the current route to that host; empty if there is no route or no such
// host. Sends nothing to the host. Resolving a name may take seconds.
[[nodiscard]] std::string local_address_towards(const std::string& host, std::uint16_t port);
[[nodiscard]] bool is_any_address(std::string_view host);  // "", "0.0.0.0", "::"
[[nodiscard]] bool is_loopback(std::string_view host);     // "127.x.x.x", "::1", "localhost"
// "10.0.0.1:80", or "[fe80::1]:80".
[[nodiscard]] std::string host_and_port(const std::string& host, std::uint16_t port);

}  // namespace stowage::net
