#include "metricsapi/identity.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "net/ascii.h"
#include "net/http.h"

namespace stowage::metricsapi {
namespace {

using base::equals_ignoring_case;
using codec::UserInfo;

constexpr const char* kAuthenticated = "system:authenticated";
constexpr const char* kUnauthenticated = "system:unauthenticated";
constexpr const char* kAnonymous = "system:anonymous";
constexpr const char* kMasters = "system:masters";

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::string first_of(const net::Headers& headers, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string_view value = net::find_header(headers, name);
    if (!value.empty()) return std::string(value);
  }
  return {};
}

std::vector<std::string> all_of(const net::Headers& headers,
                                const std::vector<std::string>& names) {
  std::vector<std::string> values;
  for (const std::string& name : names) {
    for (const auto& [key, value] : headers) {
      if (equals_ignoring_case(key, name) && !value.empty()) values.push_back(value);
    }
  }
  return values;
}

// X-Remote-Extra-Acme.com%2fproject: "a" is {"acme.com/project": ["a"]}. Keys are lower-case,
// because header names have no case; a key with a bad escape is used as it is.
std::map<std::string, std::vector<std::string>> extra_of(const net::Headers& headers,
                                                         const std::vector<std::string>& prefixes) {
  std::map<std::string, std::vector<std::string>> extra;
  for (const auto& [key, value] : headers) {
    for (const std::string& prefix : prefixes) {
      if (prefix.empty() || key.size() <= prefix.size() ||
          !equals_ignoring_case(std::string_view(key).substr(0, prefix.size()), prefix)) {
        continue;
      }
      std::string name = base::ascii_lower(std::string_view(key).substr(prefix.size()));
      if (auto decoded = net::percent_decode(name)) name = std::move(*decoded);
      extra[name].push_back(value);
      break;
    }
  }
  return extra;
}

std::optional<UserInfo> named_by_proxy(const net::ServerRequest& request, const Trust& trust) {
  const net::Headers& headers = request.http.headers;
  UserInfo who{.user = first_of(headers, trust.user_headers),
               .uid = first_of(headers, trust.uid_headers),
               .groups = all_of(headers, trust.group_headers),
               .extra = extra_of(headers, trust.extra_prefixes)};
  if (who.user.empty()) return std::nullopt;
  return who;
}

}  // namespace

std::optional<UserInfo> known_by_certificate(const net::ServerRequest& request,
                                             const Trust& trust) {
  std::optional<UserInfo> who;
  // Without a known authority there is no trust: the certificate was verified against an earlier
  // one.
  const bool proxy =
      !trust.proxy_ca_pem.empty() && contains(request.client_authorities, kFrontProxy) &&
      (trust.proxy_names.empty() || contains(trust.proxy_names, request.client_subject));
  if (proxy) who = named_by_proxy(request, trust);
  if (!who && !trust.client_ca_pem.empty() && contains(request.client_authorities, kClients) &&
      !request.client_subject.empty()) {
    who = UserInfo{
        .user = request.client_subject, .uid = {}, .groups = request.client_groups, .extra = {}};
  }
  if (!who) return std::nullopt;
  const bool anonymous = who->user == kAnonymous || contains(who->groups, kUnauthenticated);
  if (!anonymous && !contains(who->groups, kAuthenticated))
    who->groups.emplace_back(kAuthenticated);
  return who;
}

bool is_master(const UserInfo& who) { return contains(who.groups, kMasters); }

}  // namespace stowage::metricsapi
