// Parts for a replica that forwards requests to the leader and returns its answers. A request is
// forwarded once: it carries a mark.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/event_loop.h"
#include "net/http.h"
#include "net/http_client.h"

namespace stowage::kube {

inline constexpr const char* kForwardedHeader = "Stowage-Forwarded";

[[nodiscard]] bool was_forwarded(const net::HttpRequest& request);

// The same request with the mark and only these headers.
[[nodiscard]] net::HttpRequest forwarded(const net::HttpRequest& request, std::string body,
                                         std::initializer_list<const char*> headers);
// The answer with only these headers.
[[nodiscard]] net::HttpResponse repeated(net::HttpResponse answer,
                                         std::initializer_list<const char*> headers);

// "this replica does not lead, and the leader cannot be reached: <why>"
[[nodiscard]] std::string leader_unreachable(const std::string& why);

struct LeaderClientOptions {
  std::size_t connections_max = 0;
  std::size_t waiting_max = 0;
  std::size_t answer_bytes_max = 0;
  std::chrono::seconds connect_timeout{2};
};
// An error says that the leader's address is invalid.
[[nodiscard]] Result<net::Url> parse_leader_url(const std::string& url);
// tls: for an https address.
[[nodiscard]] std::shared_ptr<net::HttpClient> make_leader_client(
    net::EventLoop& loop, net::Url url, std::shared_ptr<net::TlsContext> tls,
    const LeaderClientOptions& options);

}  // namespace stowage::kube
