// A request to the local API server: the first line is the method, the target and the content type,
// the rest the body. The answer is JSON, or has status 2xx; afterwards everything can still be
// listed.
#include <string>

#include "base/testing/json_check.h"
#include "fuzz/fuzz.h"
#include "local/rest.h"
#include "local/test_cluster.h"

namespace stowage::fuzz {
namespace {

std::string_view word(std::string_view& line) {
  const std::size_t end = line.find(' ');
  const std::string_view found = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return found;
}

}  // namespace

void one(std::string_view input) {
  const std::size_t end = input.find('\n');
  if (end == std::string_view::npos) return;
  std::string_view line = input.substr(0, end);
  net::HttpRequest request;
  request.method = std::string(word(line));
  request.target = std::string(word(line));
  if (!request.target.starts_with('/') || request.target.find("watch") != std::string::npos) return;
  request.headers.emplace_back("Content-Type", std::string(line));
  request.body = std::string(input.substr(end + 1));
  local::TestCluster cluster;
  (void)cluster.pod("p");
  local::Rest rest(cluster.api, {});
  const net::HttpResponse response = rest.answer(request);
  STOWAGE_CHECK(response.status >= 200 && response.status < 600);
  net::HttpRequest list{.method = "GET", .target = "/api/v1/pods"};
  STOWAGE_CHECK(base::JsonCheck::valid(rest.answer(list).body));
}

}  // namespace stowage::fuzz
