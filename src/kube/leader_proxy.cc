#include "kube/leader_proxy.h"

#include <utility>

#include <fmt/format.h>

namespace stowage::kube {
namespace {

void copy(const net::Headers& from, std::initializer_list<const char*> names, net::Headers& to) {
  for (const char* name : names) {
    const std::string value(net::find_header(from, name));
    if (!value.empty()) to.emplace_back(name, value);
  }
}

}  // namespace

bool was_forwarded(const net::HttpRequest& request) {
  return !net::find_header(request.headers, kForwardedHeader).empty();
}

net::HttpRequest forwarded(const net::HttpRequest& request, std::string body,
                           std::initializer_list<const char*> headers) {
  net::HttpRequest onward{.method = request.method,
                          .target = request.target,
                          .headers = {{kForwardedHeader, "1"}},
                          .body = std::move(body)};
  copy(request.headers, headers, onward.headers);
  return onward;
}

net::HttpResponse repeated(net::HttpResponse answer, std::initializer_list<const char*> headers) {
  net::HttpResponse out{.status = answer.status, .headers = {}, .body = std::move(answer.body)};
  copy(answer.headers, headers, out.headers);
  return out;
}

std::string leader_unreachable(const std::string& why) {
  return "this replica does not lead, and the leader cannot be reached: " + why;
}

Result<net::Url> parse_leader_url(const std::string& url) {
  auto parsed = net::parse_url(url);
  if (parsed) return std::move(*parsed);
  return fail(fmt::format("the leader publishes an invalid address: {}", parsed.error().message));
}

std::shared_ptr<net::HttpClient> make_leader_client(net::EventLoop& loop, net::Url url,
                                                    std::shared_ptr<net::TlsContext> tls,
                                                    const LeaderClientOptions& options) {
  net::HttpClientOptions http;
  http.server = std::move(url);
  if (http.server.tls) http.tls = std::move(tls);
  http.connections_max = options.connections_max;
  http.waiting_max = options.waiting_max;
  http.connect_timeout = options.connect_timeout;
  http.body_bytes_max = options.answer_bytes_max;
  return std::make_shared<net::HttpClient>(loop, std::move(http));
}

}  // namespace stowage::kube
