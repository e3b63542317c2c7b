#include <gtest/gtest.h>

#include "controller/config.h"
#include "controller/config_check.h"

namespace stowage::controller {
namespace {

TEST(Config, NodeResourcesAreOffByDefault) {
  const auto config = parse_config("{}", "c.yaml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_FALSE(config->node_resources.enabled);
  EXPECT_TRUE(config->node_resources.amounts().dialects.empty()) << "nothing is published";
  EXPECT_EQ(config->node_resources.dialects, dialect::published_dialects());
  EXPECT_FALSE(config->webhook.enabled);
}

TEST(Config, ReadsNodeResourcesAndTheWebhook) {
  const auto config = parse_config(
      "nodeResources: {enabled: true, dialects: [nano, native], gpuRequestsPerCard: 1}\n"
      "metricsApi: {enabled: true}\n"
      "webhook: {enabled: true, configuration: none, voidUnrequested: false}\n",
      "c.yaml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->node_resources.amounts().dialects,
            (std::vector<std::string>{"nano", "native"}));
  EXPECT_EQ(config->node_resources.amounts().requests_per_card, 1);
  EXPECT_TRUE(config->webhook.enabled);
  EXPECT_EQ(config->webhook.configuration, "");
  EXPECT_FALSE(config->webhook.void_unrequested);

  Config fresh = *config;
  fresh.node_resources.enabled = false;
  EXPECT_TRUE(keys_that_need_restart(*config, fresh).empty()) << "it takes effect at once";
  fresh.webhook.void_unrequested = true;
  EXPECT_EQ(keys_that_need_restart(*config, fresh), std::vector<std::string>{"webhook"});
  keep_until_restart(*config, fresh);
  EXPECT_EQ(fresh.webhook, config->webhook);
}

TEST(Config, RefusesNodeResourcesAndWebhooksThatCannotBe) {
  const struct {
    const char* text;
    const char* words;
  } rows[] = {
      {"nodeResources: {dialects: [nativ]}", "did you mean \"native\"?"},
      {"nodeResources: {dialects: [nvidia]}", "is no dialect whose resources are published"},
      {"nodeResources: {gpuRequestsPerCard: 0}", "gpuRequestsPerCard"},
      {"nodeResources: {enable: true}", "enabled"},
      {"webhook: {enabled: true}", "metricsApi.enabled"},
      {"webhook: {voidUnrequest: true}", "voidUnrequested"},
  };
  for (const auto& row : rows) {
    const auto config = parse_config(row.text, "c.yaml");
    ASSERT_FALSE(config) << row.text;
    EXPECT_NE(config.error().message.find(row.words), std::string::npos) << config.error().message;
  }
}

}  // namespace
}  // namespace stowage::controller
