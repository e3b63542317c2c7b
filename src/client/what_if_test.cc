#include "client/what_if.h"

#include <gtest/gtest.h>

#include "client/what_if_output.h"

namespace stowage::client {
namespace {

constexpr const char* kCluster =
    "kind: Node\nmetadata: {name: a}\nstatus: {capacity: {cpu: 8, memory: 8Gi, nvidia.com/gpu: "
    "2}}\n"
    "---\n"
    "kind: Pod\nmetadata: {name: old}\n"
    "spec: {nodeName: gone, containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}\n";

std::vector<Manifests> parsed(const std::string& text) {
  std::vector<Manifests> all;
  auto manifests = Manifests::parse(text, "f");
  EXPECT_TRUE(manifests) << manifests.error().message;
  if (manifests) all.push_back(std::move(*manifests));
  return all;
}

Result<WhatIf> asked(const std::string& cluster_text, const std::string& add_text) {
  const auto cluster = parsed(cluster_text);
  const auto add = parsed(add_text);
  return what_if({.cluster = cluster,
                  .add = add,
                  .profiles = scheduler::built_in_profiles(),
                  .quota = {},
                  .scheduler_name = "",
                  .pending = false,
                  .unix_nanos = 1});
}

std::string pod(const std::string& name, const std::string& spec) {
  return "kind: Pod\nmetadata: {name: " + name + "}\nspec: {" + spec +
         "containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}\n---\n";
}

TEST(WhatIfTest, EachPodFindsTheCardsOfThoseBeforeItTaken) {
  const auto result = asked(kCluster, pod("p", "") + pod("q", "") + pod("r", ""));
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->placements.size(), 3U);
  EXPECT_EQ(result->placed(), 2U);
  EXPECT_EQ(result->placements[0].node, "a");
  ASSERT_EQ(result->placements[0].containers.front().cards.size(), 1U);
  ASSERT_EQ(result->placements[1].containers.front().cards.size(), 1U);
  EXPECT_NE(result->placements[0].containers.front().cards.front().index,
            result->placements[1].containers.front().cards.front().index);
  EXPECT_EQ(result->placements[2].reason.substr(0, 24), "0/1 nodes are available:");
}

TEST(WhatIfTest, PodsThatNoSchedulerIsAskedAboutHaveAReason) {
  const auto result =
      asked(kCluster, pod("p", "nodeName: a, ") + pod("q", "schedulingGates: [{name: g}], "));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->placements[0].reason,
            "the pod names its node itself (spec.nodeName: a); no scheduler is asked");
  EXPECT_EQ(result->placements[1].reason,
            "the pod waits until its scheduling gates are removed: g");
}

TEST(WhatIfTest, PrintsTheSameForPeopleAndPrograms) {
  const auto result = asked(kCluster, pod("p", "") + pod("q", "nodeName: a, "));
  ASSERT_TRUE(result);
  const std::string table = to_table(*result);
  EXPECT_NE(table.find("default/p  a     c: "), std::string::npos) << table;
  EXPECT_NE(table.find("1 of 2 pods placed, on 1 of 1 nodes"), std::string::npos) << table;
  EXPECT_NE(to_json(*result).find("\"node\": null"), std::string::npos);
  EXPECT_NE(to_yaml(*result).find("  node: null\n  containers: []\n"), std::string::npos);
}

}  // namespace
}  // namespace stowage::client
