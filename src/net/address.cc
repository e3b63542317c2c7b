#include "net/address.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/number.h"

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
  const auto port = base::parse_number<std::uint16_t>(std::string_view(text).substr(colon + 1));
  if (!port) return bad();
  address.port = *port;
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    return bad();
  }
  if (address.host.empty()) address.host = "0.0.0.0";
  return address;
}

bool is_any_address(std::string_view host) {
  return host.empty() || host == "0.0.0.0" || host == "::";
}

bool is_loopback(std::string_view host) {
  // "127.0.0.1.example" is an ordinary name.
  in_addr four{};
  const bool is_four = inet_pton(AF_INET, std::string(host).c_str(), &four) == 1;
  return (is_four && host.starts_with("127.")) || host == "::1" || host == "localhost";
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
  const bool six = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", six ? "[" : "", host, six ? "]" : "", port);
}

// A connected datagram socket has a local address, and connecting it sends nothing.
std::string local_address_towards(const std::string& host, std::uint16_t port) {
  if (host.empty() || is_socket_path(host)) return {};
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> held(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int socket_number = socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_number < 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof(own);
    auto* const own_address = reinterpret_cast<sockaddr*>(&own);  // the type that the call takes
    const bool known = connect(socket_number, each->ai_addr, each->ai_addrlen) == 0 &&
                       getsockname(socket_number, own_address, &size) == 0;
    close(socket_number);
    std::array<char, NI_MAXHOST> text{};
    if (known &&
        getnameinfo(own_address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      return text.data();
    }
  }
  return {};
}

}  // namespace stowage::net
