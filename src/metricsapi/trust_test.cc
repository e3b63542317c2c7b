#include "metricsapi/trust.h"

#include <gtest/gtest.h>

#include "codec/config_map.h"
#include "kube/testing/fake_api_server.h"

namespace stowage::metricsapi {
namespace {

using kube::testing::FakeApiServer;
using kube::testing::reply;
using kube::testing::run_until;
using kube::testing::StreamEnd;

constexpr const char* kMaps = "/api/v1/namespaces/kube-system/configmaps";

std::string authority(const char* name) {
  return net::make_authority({.common_name = name}).value().certificate_pem;
}

std::map<std::string, std::string> data() {
  return {{"client-ca-file", authority("clients")},
          {"requestheader-client-ca-file", authority("proxy")},
          {"requestheader-allowed-names", R"(["front-proxy-client"])"},
          {"requestheader-username-headers", R"(["X-Remote-User"])"},
          {"requestheader-uid-headers", R"(["X-Remote-Uid"])"},
          {"requestheader-group-headers", R"(["X-Remote-Group"])"},
          {"requestheader-extra-headers-prefix", R"(["X-Remote-Extra-"])"}};
}

TEST(Trust, IsReadFromTheConfigMap) {
  const auto given = data();
  const auto trust = read_trust(given);
  ASSERT_TRUE(trust) << trust.error().message;
  EXPECT_EQ(*trust, (Trust{.client_ca_pem = given.at("client-ca-file"),
                           .proxy_ca_pem = given.at("requestheader-client-ca-file"),
                           .proxy_names = {"front-proxy-client"},
                           .user_headers = {"X-Remote-User"},
                           .uid_headers = {"X-Remote-Uid"},
                           .group_headers = {"X-Remote-Group"},
                           .extra_prefixes = {"X-Remote-Extra-"}}));
  const auto list = authorities(*trust);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].name, kFrontProxy);
  EXPECT_EQ(list[1].name, kClients);
  EXPECT_EQ(read_trust({}).value(), Trust{});
  EXPECT_TRUE(authorities({}).empty());
  EXPECT_TRUE(read_trust({{"requestheader-allowed-names", "[]"}}).value().proxy_names.empty());
}

TEST(Trust, SaysWhatIsWrong) {
  const std::pair<std::pair<const char*, const char*>, const char*> rows[] = {
      {{"client-ca-file", "junk"}, "client-ca-file: certificate: no certificate found"},
      {{"requestheader-client-ca-file", "x"}, "requestheader-client-ca-file: certificate: no"},
      {{"requestheader-allowed-names", "x"}, "requestheader-allowed-names: "},
      {{"requestheader-allowed-names", "{}"}, "requestheader-allowed-names: list: expected an"},
      {{"requestheader-group-headers", "[1]"}, "requestheader-group-headers: list[0]: expected"},
      {{"requestheader-group-headers", R"([],"list":["a"])"}, "requestheader-group-headers: "},
      {{"requestheader-group-headers", "[]} {"}, "requestheader-group-headers: "},
  };
  for (const auto& [entry, words] : rows) {
    const auto read = read_trust({{entry.first, entry.second}});
    ASSERT_FALSE(read) << entry.second;
    EXPECT_TRUE(read.error().message.starts_with(words)) << read.error().message;
  }
}

struct TrustSourceTest : ::testing::Test {
  static std::string object(const std::map<std::string, std::string>& data) {
    return codec::config_map({.ns = "kube-system",
                              .name = "extension-apiserver-authentication",
                              .uid = {},
                              .data = data});
  }
  static std::string list(const std::string& item) {
    return R"({"kind":"ConfigMapList","metadata":{"resourceVersion":"5"},"items":[)" + item + "]}";
  }
  void script(const std::string& item, std::vector<std::string> events) {
    api.script("GET", kMaps,
               {[this, item, events](const kube::testing::SeenRequest& request, auto responder) {
                 if (request.query("watch") != "1") {
                   return reply(200, list(item))(request, responder);
                 }
                 api.stream(events, StreamEnd::open)(request, responder);
               }});
  }
  void start() {
    source = std::make_unique<TrustSource>(
        TrustSource::Options{},
        TrustSource::Deps{
            .client = *client, .log = log, .changed = [this](const Trust&) { ++changes; }});
    source->start();
  }
  [[nodiscard]] bool soon(const std::function<bool()>& met) { return run_until(loop, met); }

  net::EventLoop loop;
  FakeApiServer api{loop};
  std::unique_ptr<kube::ApiClient> client = api.client();
  std::string lines;
  base::Log log{{.write = [this](std::string_view line) { lines += line; }}};
  int changes = 0;
  std::unique_ptr<TrustSource> source;
};

TEST_F(TrustSourceTest, FollowsTheConfigMap) {
  auto fresh = data();
  fresh["requestheader-allowed-names"] = R"(["other"])";
  script(object(data()), {R"({"type":"MODIFIED","object":)" + object(fresh) + "}\n"});
  start();
  EXPECT_EQ(source->trouble(), "not read yet");
  ASSERT_TRUE(soon([&] { return changes == 2; }));
  EXPECT_EQ(source->trust().proxy_names, std::vector<std::string>{"other"});
  EXPECT_EQ(source->trouble(), "");
  EXPECT_EQ(api.seen().at(0).query("fieldSelector"),
            "metadata.name=extension-apiserver-authentication");
}

TEST_F(TrustSourceTest, WhatCannotBeReadLeavesWhatWas) {
  auto bad = data();
  bad["client-ca-file"] = "junk";
  const std::string event = R"({"type":"MODIFIED","object":)" + object(bad) + "}\n";
  script(object(data()), {event, event, R"({"type":"DELETED","object":)" + object(data()) + "}\n"});
  start();
  ASSERT_TRUE(soon([&] { return lines.find("client-ca-file: ") != std::string::npos; }));
  EXPECT_EQ(changes, 1);
  EXPECT_FALSE(source->trust().client_ca_pem.empty());
  EXPECT_EQ(lines.find("client-ca-file: "), lines.rfind("client-ca-file: ")) << "told once";
}

TEST_F(TrustSourceTest, WithoutOneNoUserIsTrusted) {
  script("", {});
  start();
  ASSERT_TRUE(soon([&] { return source->trouble() == "the API server has no such ConfigMap"; }));
  EXPECT_EQ(changes, 0);
  EXPECT_EQ(source->trust(), Trust{});
}

}  // namespace
}  // namespace stowage::metricsapi
