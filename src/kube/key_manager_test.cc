#include "kube/key_manager.h"

#include <optional>

#include <gtest/gtest.h>

#include "base/base64.h"
#include "codec/config_map.h"
#include "codec/serving.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/temp_folder.h"

namespace stowage::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApiServer;
using testing::not_found;
using testing::refuse;
using testing::reply;
using testing::run_for;
using testing::run_until;
using testing::SeenRequest;
using Responder = std::shared_ptr<net::Responder>;
using Texts = std::map<std::string, std::string>;

constexpr const char* kKeySecrets = "/api/v1/namespaces/kube-system/secrets";
constexpr const char* kKeySecret = "/api/v1/namespaces/kube-system/secrets/stowage-signing-key";
constexpr const char* kKeyMaps = "/api/v1/namespaces/kube-system/configmaps";
constexpr const char* kKeyMap = "/api/v1/namespaces/kube-system/configmaps/stowage-signing-keys";

// A merge patch of texts.
void merge(Texts& texts, const std::string& body, const Texts& patch) {
  for (const auto& [key, text] : patch) {
    if (!text.empty()) texts[key] = text;
  }
  std::erase_if(texts, [&](const auto& entry) {
    return body.find("\"" + entry.first + "\":null") != std::string::npos;
  });
}

// The part of an API server that key managers write to: an empty Secret and ConfigMap, as in the
// manifests.
struct KeyCluster {
  explicit KeyCluster(net::EventLoop& loop) : api(loop) {
    const auto on = [this](const char* method, const char* path, auto answer) {
      api.script(method, path, {[this, answer](const SeenRequest& request, Responder responder) {
                   answer(*this, request, responder);
                 }});
    };
    on("GET", kKeySecret, [](KeyCluster& self, const SeenRequest& request, const Responder& to) {
      if (self.forbids) return refuse(403, "Forbidden", "may not get secrets")(request, to);
      if (!self.secret) return not_found("secrets", "stowage-signing-key")(request, to);
      std::string json = codec::secret({.ns = "kube-system", .name = "s", .data = *self.secret});
      json.insert(json.find(R"("name")"),
                  R"("resourceVersion":")" + std::to_string(self.version) + R"(",)");
      reply(200, json)(request, to);
    });
    on("POST", kKeySecrets, [](KeyCluster& self, const SeenRequest& request, const Responder& to) {
      if (self.secret) return refuse(409, "AlreadyExists", "is there")(request, to);
      std::string body = request.body;
      body.insert(body.find(R"("name")"), R"("resourceVersion":"0",)");
      self.secret = codec::read_secret(body).value().data;
      ++self.version;
      reply(201)(request, to);
    });
    on("PATCH", kKeySecret, [](KeyCluster& self, const SeenRequest& request, const Responder& to) {
      if (self.before_write) std::exchange(self.before_write, nullptr)();
      const codec::Secret patch = codec::read_secret(request.body).value();
      if (patch.resource_version != std::to_string(self.version)) {
        return refuse(409, "Conflict", "is another")(request, to);
      }
      merge(*self.secret, request.body, patch.data);
      ++self.version;
      reply(200)(request, to);
    });
    on("GET", kKeyMap, [](KeyCluster& self, const SeenRequest& request, const Responder& to) {
      if (!self.map) return not_found("configmaps", "stowage-signing-keys")(request, to);
      reply(200,
            codec::config_map({.ns = "kube-system", .name = "m", .uid = {}, .data = *self.map}))(
          request, to);
    });
    const auto write_map = [](KeyCluster& self, const SeenRequest& request, const Responder& to) {
      if (self.forbids_map) return refuse(403, "Forbidden", "may not patch")(request, to);
      codec::JsonText parser;
      if (!self.map) self.map.emplace();
      merge(*self.map, request.body, codec::read_config_map(parser, request.body).value().data);
      reply(200)(request, to);
    };
    on("POST", kKeyMaps, write_map);
    on("PATCH", kKeyMap, write_map);
  }

  FakeApiServer api;
  int version = 1;
  std::optional<Texts> secret = Texts{};
  std::optional<Texts> map = Texts{};
  bool forbids = false;
  bool forbids_map = false;
  std::function<void()> before_write;
};

class KeyManagerTest : public ::testing::Test {
 protected:
  std::unique_ptr<KeyManager> keeper() {
    return std::make_unique<KeyManager>(
        KeyManagerOptions{.look = 5ms, .retry_min = 1ms, .soon = 1ms},
        KeyManager::Deps{.client = *client_, .log = log_, .changed = [this] { ++changes_; }});
  }
  bool until(const std::function<bool()>& met) { return run_until(loop_, met); }

  net::EventLoop loop_;
  KeyCluster cluster_{loop_};
  std::int64_t now_ = 1'790'000'000;
  std::unique_ptr<ApiClient> client_ =
      cluster_.api.client({.wall_clock = [this] { return WallTime{std::chrono::seconds{now_}}; }});
  std::string logged_;
  base::Log log_{{.write = [this](std::string_view line) { logged_ += line; }}};
  int changes_ = 0;
};

TEST_F(KeyManagerTest, TheFirstKeyIsMadeAndToldBeforeItIsUsed) {
  for (const bool there : {true, false}) {
    cluster_.secret = there ? std::optional(Texts{}) : std::nullopt;
    cluster_.map = cluster_.secret;
    const auto made = keeper();
    EXPECT_NE(made->trouble(), "");
    EXPECT_EQ(made->keys(), nullptr);
    made->start();
    ASSERT_TRUE(until([&] { return made->keys() != nullptr; })) << made->trouble();
    EXPECT_EQ(made->trouble(), "");
    ASSERT_EQ(cluster_.secret->size(), 1U);
    ASSERT_TRUE(cluster_.map->contains("1790000000.pem"));
    const auto known = net::PublicKey::from_pem(cluster_.map->at("1790000000.pem"), "map");
    ASSERT_TRUE(known);
    EXPECT_EQ(made->keys()->signs->public_key(), *known);
    EXPECT_EQ(cluster_.map->at("1790000000.pem").find("PRIVATE"), std::string::npos);
    EXPECT_FALSE(made->keys()->began_unix) << "nobody has led yet";
  }
}

TEST_F(KeyManagerTest, WhoLeadsFirstWritesWhenSigningBegan) {
  const auto first = keeper();
  const auto second = keeper();
  first->start();
  first->begin();
  ASSERT_TRUE(until([&] { return first->keys() && first->keys()->began_unix; }));
  EXPECT_EQ(first->keys()->began_unix, 1'790'000'000);
  now_ += 1000;
  second->start();
  second->begin();
  ASSERT_TRUE(until([&] { return second->keys() && second->keys()->began_unix; }));
  EXPECT_EQ(second->keys()->began_unix, 1'790'000'000);
  EXPECT_EQ(cluster_.map->at("began"), "1790000000");
}

TEST_F(KeyManagerTest, TwoReplicasAgreeOnOneKey) {
  const auto first = keeper();
  const auto second = keeper();
  cluster_.before_write = [&] { second->start(); };
  first->start();
  ASSERT_TRUE(until([&] { return first->keys() && second->keys(); }));
  EXPECT_EQ(cluster_.secret->size(), 1U);
  EXPECT_EQ(first->keys()->known, second->keys()->known);
}

TEST_F(KeyManagerTest, ARotatedKeyIsKnownBeforeItSignsAndTheOldOneGoesOnVerifying) {
  const auto made = keeper();
  made->start();
  ASSERT_TRUE(until([&] { return made->keys() != nullptr; }));
  const std::string old = made->keys()->signs->public_key().id();
  now_ += 100;
  (*cluster_.secret)["rotate"] = base::base64_encode("now");
  ++cluster_.version;
  ASSERT_TRUE(until([&] { return made->keys()->known.size() == 2; }));
  EXPECT_EQ(made->keys()->signs->public_key().id(), old);
  EXPECT_FALSE(cluster_.secret->contains("rotate"));
  EXPECT_EQ(cluster_.map->size(), 2U);
  now_ += 301;
  ASSERT_TRUE(until([&] { return made->keys()->signs->public_key().id() != old; }));
  EXPECT_TRUE(made->keys()->known.contains(old));
  cluster_.secret->erase("1790000000.pem");  // by an operator who no longer trusts it
  ++cluster_.version;
  ASSERT_TRUE(until([&] { return made->keys()->known.size() == 1; }));
  EXPECT_TRUE(until([&] { return cluster_.map->size() == 1; }));
}

TEST_F(KeyManagerTest, ASecretThatIsLostIsFilledWithWhatIsInUse) {
  const auto made = keeper();
  made->start();
  made->begin();
  ASSERT_TRUE(until([&] { return made->keys() && made->keys()->began_unix; }));
  const std::string id = made->keys()->signs->public_key().id();
  const Texts before = *cluster_.secret;
  cluster_.secret.reset();
  ASSERT_TRUE(until([&] { return cluster_.secret.has_value(); }));
  EXPECT_EQ(*cluster_.secret, before);
  EXPECT_EQ(made->keys()->signs->public_key().id(), id);
}

TEST_F(KeyManagerTest, WhatIsMissingIsSaidOnceAndKnownKeysStay) {
  cluster_.forbids = true;
  const auto made = keeper();
  made->start();
  ASSERT_TRUE(
      until([&] { return made->trouble().find("may not get secrets") != std::string::npos; }));
  EXPECT_NE(made->trouble().find("secret kube-system/stowage-signing-key"), std::string::npos);
  EXPECT_NE(made->trouble().find("kubectl apply -f deploy/stowage.yaml"), std::string::npos);
  run_for(loop_, 30ms);
  EXPECT_EQ(logged_.find("nothing is decided"), logged_.rfind("nothing is decided"));
  cluster_.forbids = false;
  cluster_.forbids_map = true;
  ASSERT_TRUE(until([&] { return made->trouble().find("may not patch") != std::string::npos; }));
  EXPECT_EQ(made->keys(), nullptr) << "others would not know it";
  cluster_.forbids_map = false;
  ASSERT_TRUE(until([&] { return made->keys() != nullptr; }));
  cluster_.forbids = true;
  ASSERT_TRUE(until([&] { return !made->trouble().empty(); }));
  EXPECT_NE(made->keys(), nullptr);
}

// A read that is under way may have read the Secret before the key was in it.
TEST_F(KeyManagerTest, AKeyThatIsMissedDuringALookIsLookedForOnceMore) {
  KeyManager made({.look = 1h, .retry_min = 1ms, .soon = 1ms},
                  {.client = *client_, .log = log_, .changed = [this] { ++changes_; }});
  std::uint64_t asked = 0;
  cluster_.before_write = [&] {
    EXPECT_EQ(made.looked(), 0U);
    asked = made.look_soon();
  };
  made.start();
  ASSERT_TRUE(until([&] { return made.keys() != nullptr; }));
  EXPECT_EQ(asked, 2U);
  EXPECT_TRUE(until([&] { return made.looked() == 2; }));
  EXPECT_EQ(cluster_.api.seen("GET", kKeySecret).size(), 2U);
  cluster_.forbids = true;
  EXPECT_EQ(made.look_soon(), 3U);
  ASSERT_TRUE(until([&] { return !made.trouble().empty(); }));
  EXPECT_EQ(made.looked(), 2U) << "it told nothing";
  cluster_.forbids = false;
  EXPECT_TRUE(until([&] { return made.looked() >= 3; }));
}

TEST_F(KeyManagerTest, AnEntryThatIsDamagedIsNamedAndNothingIsWritten) {
  (*cluster_.secret)["1780000000.pem"] = base::base64_encode("garbage");
  const auto made = keeper();
  made->start();
  ASSERT_TRUE(until([&] { return made->trouble().find("1780000000.pem") != std::string::npos; }));
  EXPECT_TRUE(cluster_.api.seen("PATCH", kKeySecret).empty());
}

TEST(KeyPlan, TheOldestOfTooManyGo) {
  KeptKeys kept;
  for (std::int64_t i = 0; i < 20; ++i) {
    kept.rotate = true;
    kept = plan_keys(kept, false, 1000).kept;
  }
  EXPECT_EQ(kept.pems.size(), kKeysMax);
  EXPECT_EQ(kept.pems.rbegin()->first, 1019) << "each has a second of its own";
  EXPECT_TRUE(plan_keys(kept, false, 2000).changes.empty());
  EXPECT_EQ(plan_keys(kept, true, 2000).kept.began_unix, 2000);
}

TEST(KeyPlan, OfAFileTheFirstSignsAndAllVerify) {
  const net::PrivateKey a = net::PrivateKey::generate();
  const net::PrivateKey b = net::PrivateKey::generate();
  const auto keys = read_key_file(a.pem() + b.pem(), {.path = "f", .began_unix = 5});
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ((*keys)->signs->public_key(), a.public_key());
  EXPECT_EQ((*keys)->known.size(), 2U);
  EXPECT_EQ((*keys)->began_unix, 5);
  for (const std::string& text : {std::string(), a.public_key().pem(), a.pem().substr(9)}) {
    const auto none = read_key_file(text, {.path = "f"});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message.rfind("f: ", 0), 0U) << none.error().message;
  }
}

}  // namespace
}  // namespace stowage::kube
