#include "metricsapi/identity.h"

#include <gtest/gtest.h>

namespace stowage::metricsapi {
namespace {

using codec::UserInfo;

const Trust kTrust{.client_ca_pem = "x",
                   .proxy_ca_pem = "y",
                   .proxy_names = {"front-proxy-client"},
                   .user_headers = {"X-Remote-User"},
                   .uid_headers = {"X-Remote-Uid"},
                   .group_headers = {"X-Remote-Group"},
                   .extra_prefixes = {"X-Remote-Extra-"}};

// As the API server forwards them.
const net::Headers kHeaders = {{"User-Agent", "kubectl/v1.32.4"},
                               {"X-Forwarded-For", "127.0.0.1"},
                               {"X-Remote-Group", "system:authenticated"},
                               {"x-remote-group", "devs"},
                               {"X-Remote-User", "admin"},
                               {"X-Remote-Extra-Acme.com%2fproject", "a"},
                               {"X-Remote-Extra-Acme.com%2fproject", "b"},
                               {"X-Remote-Uid", "42"}};

net::ServerRequest request(net::Headers headers, std::string subject,
                           std::vector<std::string> authorities) {
  return {.http = {.headers = std::move(headers)},
          .client_subject = std::move(subject),
          .client_groups = {"devs"},
          .client_authorities = std::move(authorities)};
}

TEST(Identity, TheFrontProxySaysForWhom) {
  const auto who =
      known_by_certificate(request(kHeaders, "front-proxy-client", {kFrontProxy}), kTrust);
  ASSERT_TRUE(who);
  EXPECT_EQ(*who, (UserInfo{.user = "admin",
                            .uid = "42",
                            .groups = {"system:authenticated", "devs"},
                            .extra = {{"acme.com/project", {"a", "b"}}}}));
}

TEST(Identity, HeadersCountByTheFrontProxysCertificateAndNeverElse) {
  Trust any_name = kTrust;
  any_name.proxy_names = {};
  Trust no_proxy = kTrust;
  no_proxy.proxy_ca_pem = {};
  Trust nobody = no_proxy;
  nobody.client_ca_pem = {};
  struct Row {
    const char* name;
    net::ServerRequest request;
    Trust trust;
    std::string user;  // empty: anonymous
  };
  const Row rows[] = {
      {"no certificate", request(kHeaders, "", {}), kTrust, ""},
      {"a certificate of a user", request(kHeaders, "mallory", {kClients}), kTrust, "mallory"},
      {"of a user with the proxy's name", request(kHeaders, "front-proxy-client", {kClients}),
       kTrust, "front-proxy-client"},
      {"of the proxy's authority, but another name", request(kHeaders, "mallory", {kFrontProxy}),
       kTrust, ""},
      {"any name will do", request(kHeaders, "mallory", {kFrontProxy}), any_name, "admin"},
      {"nobody is trusted as a proxy any more",
       request(kHeaders, "front-proxy-client", {kFrontProxy}), no_proxy, ""},
      {"nor as a user", request(kHeaders, "mallory", {kClients}), nobody, ""},
      {"an authority of another name", request(kHeaders, "mallory", {"x"}), kTrust, ""},
      {"the proxy speaks for itself, as a user",
       request({}, "front-proxy-client", {kFrontProxy, kClients}), kTrust, "front-proxy-client"},
      {"the proxy names nobody", request({}, "front-proxy-client", {kFrontProxy}), kTrust, ""},
      {"a user without a name", request({}, "", {kClients}), kTrust, ""},
  };
  for (const Row& row : rows) {
    const auto who = known_by_certificate(row.request, row.trust);
    EXPECT_EQ(who ? who->user : "", row.user) << row.name;
  }
}

TEST(Identity, WhoIsKnownIsAuthenticated) {
  const auto user = known_by_certificate(request({}, "u", {kClients}), kTrust);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->groups, (std::vector<std::string>{"devs", "system:authenticated"}));
  const auto aggregator = known_by_certificate(
      request({{"X-Remote-User", "system:aggregator"}}, "front-proxy-client", {kFrontProxy}),
      kTrust);
  ASSERT_TRUE(aggregator);
  EXPECT_EQ(aggregator->groups, std::vector<std::string>{"system:authenticated"});
  const auto anonymous = known_by_certificate(
      request({{"X-Remote-User", "system:anonymous"}, {"X-Remote-Group", "system:unauthenticated"}},
              "front-proxy-client", {kFrontProxy}),
      kTrust);
  ASSERT_TRUE(anonymous);
  EXPECT_EQ(anonymous->groups, std::vector<std::string>{"system:unauthenticated"});
}

TEST(Identity, MastersAreKnownByTheirGroup) {
  EXPECT_TRUE(is_master({.user = "u", .groups = {"a", "system:masters"}}));
  EXPECT_FALSE(is_master({.user = "system:masters", .groups = {"a"}}));
}

}  // namespace
}  // namespace stowage::metricsapi
