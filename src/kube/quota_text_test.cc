#include "kube/quota_text.h"

#include <gtest/gtest.h>

namespace stowage::kube {
namespace {

TEST(GpuQuota, ReadsWhatGpuAdmissionRead) {
  const auto quotas = parse_gpu_quota(
      R"({"default":{"pool":["public"],"quota":{"M40":4,"P100":4}},"B":{"pool":["wx"],)"
      R"("quota":{"M40":8,"P100":2}}})");
  ASSERT_TRUE(quotas.has_value()) << quotas.error().message;
  EXPECT_EQ(quotas->at("default"),
            (core::NodeModelQuota{.milli = {{"M40", 4000}, {"P100", 4000}}, .pools = {"public"}}));
  EXPECT_EQ(quotas->at("B").milli.at("P100"), 2000);
  const auto no_pool = parse_gpu_quota(R"({"foo":{"quota":{"M40":8}}})");
  EXPECT_TRUE(no_pool->at("foo").pools.empty());
  EXPECT_TRUE(parse_gpu_quota("")->empty());
}

TEST(GpuQuota, WhatMakesNoSenseIsAnErrorThatNamesThePlace) {
  struct Row {
    const char* text;
    const char* error;
  };
  for (const Row& row : {
           Row{"[]", "expected an object of namespaces"},
           Row{R"({"a":3})", "a: expected quota and pool"},
           Row{R"({"a":{"quota":[]}})", "a.quota: expected models and numbers"},
           Row{R"({"a":{"quota":{"M40":-1}}})",
               "a.quota.M40: expected a number that is not negative"},
           Row{R"({"a":{"quota":{"M40":"many"}}})",
               "a.quota.M40: expected a number that is not negative"},
           Row{R"({"a":{"pool":"public"}})", "a.pool: expected a list of names"},
       }) {
    const auto quotas = parse_gpu_quota(row.text);
    ASSERT_FALSE(quotas.has_value()) << row.text;
    EXPECT_EQ(quotas.error().message, row.error);
  }
  EXPECT_FALSE(parse_gpu_quota(R"({"a":)").has_value());
  EXPECT_FALSE(parse_gpu_quota(std::string(2U << 20U, 'x')).has_value());
}

TEST(StowageQuota, LimitsEachModelInEachUnit) {
  const auto quotas = parse_stowage_quota(
      "team-a:\n- model: NVIDIA A100\n  cards: 8\n- model: '*'\n  milli: 4500\n"
      "  memoryMiB: 65536\n");
  ASSERT_TRUE(quotas.has_value()) << quotas.error().message;
  const auto& limits = quotas->at("team-a");
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_EQ(limits[0], (core::ModelLimit{.model = "NVIDIA A100", .cards = 8}));
  EXPECT_EQ(limits[1], (core::ModelLimit{.model = "*", .milli = 4500, .memory_mib = 65536}));
}

TEST(StowageQuota, WhatMakesNoSenseIsAnErrorThatNamesThePlace) {
  struct Row {
    const char* text;
    const char* error;
  };
  for (const Row& row : {
           Row{"3", "expected namespaces, each with a list of limits"},
           Row{"a: {model: T4}", "a: expected a list of limits"},
           Row{"a: [{cards: 3}]", "a[0]: model is missing; write \"*\" for all models"},
           Row{"a: [{model: T4}]", "a[0]: no limit; write cards, milli or memoryMiB"},
           Row{"a: [{model: T4, card: 3}]",
               "a[0].card: unknown key; known are model, cards, milli, memoryMiB"},
           Row{"a: [{model: T4, cards: -3}]", "a[0].cards: expected a number that is not negative"},
       }) {
    const auto quotas = parse_stowage_quota(row.text);
    ASSERT_FALSE(quotas.has_value()) << row.text;
    EXPECT_EQ(quotas.error().message, row.error);
  }
}

}  // namespace
}  // namespace stowage::kube
