#include "kube/public_keys.h"

#include <gtest/gtest.h>

#include "base/json_writer.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fixed_keys.h"

namespace stowage::kube {
namespace {

using testing::FakeApiServer;
using testing::reply;
using testing::run_until;

constexpr const char* kPath = "/api/v1/namespaces/kube-system/configmaps/stowage-signing-keys";

std::string pem(std::string_view seed) {
  return testing::keys_from_seed(seed)->signs->public_key().pem();
}
std::string id(std::string_view seed) {
  return testing::keys_from_seed(seed)->signs->public_key().id();
}

std::string map_of(const std::map<std::string, std::string>& data) {
  base::JsonWriter json(base::JsonWriter::Style::compact);
  json.begin_object().key("kind").value("ConfigMap").key("metadata").begin_object();
  json.key("name").value("stowage-signing-keys").end_object().key("data").begin_object();
  for (const auto& [key, text] : data) json.key(key).value(text);
  json.end_object().end_object();
  return json.take();
}

std::string error_of(const std::map<std::string, std::string>& data) {
  const auto keys = read_public_keys(data);
  return keys ? "none" : keys.error().message;
}

TEST(ReadPublicKeys, EntriesAreKeysByTheirId) {
  const auto keys = read_public_keys({{"1790000000.pem", pem("a")},
                                      {"1790000001.pem", pem("b")},
                                      {"note", "not a key"},
                                      {"x.pem", "not a key either"}});
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ((*keys)->known.size(), 2U);
  EXPECT_EQ((*keys)->known.count(id("b")), 1U);
  EXPECT_FALSE((*keys)->signs);
  EXPECT_FALSE((*keys)->began_unix);
}

TEST(ReadPublicKeys, ErrorsNameTheEntry) {
  EXPECT_EQ(error_of({}), "it has no keys yet: the controller writes them");
  EXPECT_EQ(error_of({{"1.pem", "-----BEGIN"}}).find("entry 1.pem"), 0U);
  std::map<std::string, std::string> many;
  for (int i = 0; i < 17; ++i) many[std::to_string(i) + ".pem"] = pem(std::to_string(i));
  EXPECT_EQ(error_of(many), "more than 16 keys");
}

class PublicKeysTest : public ::testing::Test {
 protected:
  PublicKeysOptions options_{.look = std::chrono::milliseconds{50},
                             .soon = std::chrono::milliseconds{1},
                             .retry_min = std::chrono::milliseconds{5}};
  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::unique_ptr<ApiClient> client_ = server_.client();
  std::string logged_;
  base::Log log_{{.write = [this](std::string_view line) { logged_ += line; }}};
  int changes_ = 0;
};

TEST_F(PublicKeysTest, KeysAreReadAgainAndKeptWhileTheyCannotBe) {
  server_.script(
      "GET", kPath,
      {reply(200, map_of({})), reply(200, map_of({{"1.pem", pem("a")}})), reply(403, "{}"),
       reply(200, map_of({{"1.pem", pem("a")}, {"2.pem", pem("b")}}))});
  PublicKeys keys(*client_, options_, log_, [&] { ++changes_; });
  EXPECT_FALSE(keys.keys());
  EXPECT_EQ(keys.trouble(), "the signing keys have not been read yet");
  keys.start();
  ASSERT_TRUE(run_until(loop_, [&] { return keys.keys() != nullptr; }));
  EXPECT_NE(logged_.find("no container gets cards without signing keys"), std::string::npos);
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(keys.trouble(), "");
  const std::uint64_t number = keys.look_soon();
  ASSERT_TRUE(run_until(loop_, [&] { return !keys.trouble().empty(); }));
  EXPECT_EQ(keys.keys()->known.count(id("a")), 1U);
  EXPECT_LT(keys.looked(), number);
  ASSERT_TRUE(run_until(loop_, [&] { return keys.keys()->known.size() == 2; }));
  EXPECT_GE(keys.looked(), number);
  EXPECT_EQ(changes_, 2);
  EXPECT_NE(logged_.find("keeping the known ones"), std::string::npos);
}

}  // namespace
}  // namespace stowage::kube
