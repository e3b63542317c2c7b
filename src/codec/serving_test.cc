#include "codec/serving.h"

#include <gtest/gtest.h>

#include "codec/config_map.h"

namespace stowage::codec {
namespace {

TEST(Secret, IsReadAndWritten) {
  const auto read = read_secret(
      R"({"kind":"Secret","metadata":{"name":"s","resourceVersion":"7","labels":{"a":"b"}},)"
      R"("type":"Opaque","data":{"tls.crt":"QQ==","other":"Qg=="}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read,
            (Secret{.resource_version = "7", .data = {{"tls.crt", "QQ=="}, {"other", "Qg=="}}}));
  const SecretRequest ask{
      .ns = "n", .name = "s", .resource_version = "7", .data = {{"old", ""}, {"tls.crt", "QQ=="}}};
  EXPECT_EQ(secret(ask), R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s",)"
                         R"("namespace":"n"},"type":"Opaque","data":{"tls.crt":"QQ=="}})");
  EXPECT_EQ(secret_patch(ask), R"({"metadata":{"resourceVersion":"7"},)"
                               R"("data":{"old":null,"tls.crt":"QQ=="}})");
}

TEST(Secret, SaysWhatIsWrong) {
  EXPECT_EQ(read_secret("{}").error().message, "metadata.resourceVersion: is missing");
  EXPECT_EQ(read_secret(R"({"metadata":{"resourceVersion":"1"},"data":{"a":1}})").error().message,
            "data.a: expected a string");
  EXPECT_FALSE(read_secret(""));
  EXPECT_FALSE(read_secret(R"({"metadata":{"resourceVersion":"1"}} x)"));
}

TEST(ApiService, IsReadAndPatched) {
  const auto read = read_api_service(
      R"({"metadata":{"name":"v1alpha1.metrics.nvidia.com","resourceVersion":"9"},"spec":{)"
      R"("group":"metrics.nvidia.com","service":{"namespace":"ns","name":"svc","port":443},)"
      R"("insecureSkipTLSVerify":true,"caBundle":"QQ=="}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (ApiService{.resource_version = "9",
                               .service = "svc",
                               .service_ns = "ns",
                               .ca_bundle = "QQ==",
                               .insecure = true}));
  const auto local =
      read_api_service(R"({"metadata":{"resourceVersion":"9"},"spec":{"service":null}})");
  ASSERT_TRUE(local);
  EXPECT_EQ(local->service, "");
  EXPECT_EQ(api_service_patch({.resource_version = "9", .ca_bundle = "Qg=="}),
            R"({"metadata":{"resourceVersion":"9"},)"
            R"("spec":{"caBundle":"Qg==","insecureSkipTLSVerify":false}})");
  EXPECT_FALSE(read_api_service(R"({"metadata":{"resourceVersion":"9"},"spec":[]})"));
}

TEST(Webhooks, AreReadAndPatched) {
  const auto read = read_webhooks(
      R"({"metadata":{"name":"stowage","resourceVersion":"9"},"webhooks":[{"name":"a.dev",)"
      R"("clientConfig":{"caBundle":"QQ==","service":{"namespace":"ns","name":"svc","path":"/p"}},)"
      R"("rules":[]},{"name":"b.dev","clientConfig":{"url":"https://x"}}]})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(
      *read,
      (WebhookConfiguration{
          .resource_version = "9",
          .hooks = {{.name = "a.dev", .service = "svc", .service_ns = "ns", .ca_bundle = "QQ=="},
                    {.name = "b.dev"}}}));
  EXPECT_EQ(webhooks_patch({.resource_version = "9", .hooks = {"a.dev"}, .ca_bundle = "Qg=="}),
            R"({"metadata":{"resourceVersion":"9"},"webhooks":[{"name":"a.dev",)"
            R"("clientConfig":{"caBundle":"Qg=="}}]})");
  EXPECT_FALSE(read_webhooks(R"({"metadata":{"resourceVersion":"9"},"webhooks":{}})"));
  EXPECT_FALSE(read_webhooks(R"({"webhooks":[]})"));
  std::string many = R"({"metadata":{"resourceVersion":"9"},"webhooks":[{})";
  for (std::size_t i = 0; i < kHooksMax; ++i) many += ",{}";
  EXPECT_FALSE(read_webhooks(many + "]}"));
}

TEST(ConfigMap, IsWritten) {
  const ConfigMap map{.ns = "n", .name = "m", .uid = {}, .data = {{"ca.crt", "a\nb"}}};
  EXPECT_EQ(config_map(map),
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"n"},)"
            R"("data":{"ca.crt":"a\nb"}})");
  JsonText parser;
  EXPECT_EQ(read_config_map(parser, config_map(map)).value(), map);
  EXPECT_EQ(config_map_patch(map.data), R"({"data":{"ca.crt":"a\nb"}})");
}

}  // namespace
}  // namespace stowage::codec
