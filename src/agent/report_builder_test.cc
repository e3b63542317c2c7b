#include "agent/report_builder.h"

#include <gtest/gtest.h>

namespace stowage::agent {
namespace {

codec::ReportedPod pod(const std::string& name) { return {.ns = "ml", .name = name}; }

class ReportBuilderTest : public ::testing::Test {
 protected:
  ReportBuilder builder_{{.node = "n1", .agent = "test", .load_beats_most = 3}};
};

TEST_F(ReportBuilderTest, BeginsWithEverythingThenSendsChanges) {
  EXPECT_TRUE(builder_.set_cards({{.id = "GPU-0"}}));
  builder_.set_pods({pod("p1"), pod("p2")});
  auto report = builder_.next();
  EXPECT_EQ(report.version, codec::kReportVersion);
  EXPECT_EQ(report.node, "n1");
  EXPECT_EQ(report.agent, "test");
  ASSERT_TRUE(report.cards);
  ASSERT_TRUE(report.pods);
  EXPECT_TRUE(report.pods->all);
  EXPECT_EQ(report.pods->now.size(), 2U);

  report = builder_.next();
  EXPECT_EQ(report.node, "");
  EXPECT_FALSE(report.cards);
  EXPECT_FALSE(report.pods);

  EXPECT_FALSE(builder_.set_cards({{.id = "GPU-0"}})) << "the same cards";
  EXPECT_TRUE(builder_.change_pods({pod("p3")}, {"ml/p1", "ml/unknown"}));
  report = builder_.next();
  ASSERT_TRUE(report.pods);
  EXPECT_FALSE(report.pods->all);
  ASSERT_EQ(report.pods->now.size(), 1U);
  EXPECT_EQ(report.pods->now[0].name, "p3");
  EXPECT_EQ(report.pods->gone, std::vector<std::string>{"ml/p1"});
  EXPECT_FALSE(builder_.change_pods({}, {"ml/unknown"}));
}

TEST_F(ReportBuilderTest, SendsEverythingAgainAfterItStartedOver) {
  builder_.set_cards({{.id = "GPU-0"}});
  builder_.set_load({{.card = 0, .busy_permille = 500}});
  builder_.set_pods({pod("p1")});
  (void)builder_.next();
  builder_.start_over();
  const auto report = builder_.next();
  EXPECT_EQ(report.node, "n1");
  EXPECT_TRUE(report.cards);
  EXPECT_EQ(report.load.size(), 1U);
  ASSERT_TRUE(report.pods);
  EXPECT_TRUE(report.pods->all);
}

TEST_F(ReportBuilderTest, SmallChangesOfLoadWait) {
  builder_.set_load({{.card = 0, .busy_permille = 500}});
  EXPECT_EQ(builder_.next().load.size(), 1U);
  builder_.set_load({{.card = 0, .busy_permille = 509}});
  EXPECT_TRUE(builder_.next().load.empty());
  EXPECT_TRUE(builder_.next().load.empty());
  EXPECT_EQ(builder_.next().load.size(), 1U) << "after three reports";
  builder_.set_load({{.card = 0, .busy_permille = 519}});
  EXPECT_EQ(builder_.next().load.size(), 1U) << "a large change";
}

TEST(ReportBuilderPlugin, IsReportedWhenItChangesAndToNewReaders) {
  ReportBuilder builder({.node = "n1", .agent = "test"});
  EXPECT_FALSE(builder.next().plugin);
  const codec::ReportedPlugin registered{.registered = true, .resources = {"a"}};
  EXPECT_TRUE(builder.set_plugin(registered));
  EXPECT_FALSE(builder.set_plugin(registered));
  EXPECT_EQ(builder.next().plugin, registered);
  EXPECT_FALSE(builder.next().plugin);
  EXPECT_TRUE(builder.set_plugin({.registered = false, .resources = {"a"}}));
  EXPECT_FALSE(builder.next().plugin->registered);
  builder.start_over();
  EXPECT_TRUE(builder.next().plugin);
}

}  // namespace
}  // namespace stowage::agent
