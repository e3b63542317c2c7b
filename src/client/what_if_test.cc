#include "client/what_if.h"

#include <type_traits>

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

// The annotations that the controller wrote at the bind count: half of the cluster is free.
TEST(WhatIfTest, BoundPodsKeepTheCardsThatTheirAnnotationsName) {
  const std::string bound =
      "kind: Pod\nmetadata: {name: half, annotations: {stowage.dev/gpus: "
      "'{\"version\":1,\"node\":\"a\",\"containers\":{\"c\":[{\"id\":\"a/1\",\"index\":1,"
      "\"milli\":500,\"memoryMiB\":0}]}}'}}\n"
      "spec: {nodeName: a, containers: [{name: c, resources: {limits: {stowage.dev/gpu-core: "
      "50}}}]}\n";
  const auto result = asked(std::string(kCluster) + "---\n" + bound,
                            "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, "
                            "resources: {limits: {stowage.dev/gpu: 1}}}]}\n");
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->placements.size(), 1U);
  EXPECT_EQ(result->placements[0].reason, "");
  ASSERT_EQ(result->placements[0].containers.front().cards.size(), 1U);
  EXPECT_EQ(result->placements[0].containers.front().cards.front().index, 0);
  for (const std::string& note : result->notes) {
    EXPECT_EQ(note.find("stowage.dev/gpus"), std::string::npos) << note;
  }
}

// Some texts are short enough for the small-string buffer of the objects, others are not.
TEST(WhatIfTest, SeveralFilesStayReadable) {
  std::vector<Manifests> cluster;
  std::vector<Manifests> add;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "n" + std::to_string(i);
    auto file = Manifests::parse(
        "kind: Node\nmetadata: {name: " + name + "}\nstatus: {capacity: {nvidia.com/gpu: 1}}\n",
        name);
    auto pods = Manifests::parse(pod("p" + std::to_string(i), ""), name);
    ASSERT_TRUE(file && pods);
    cluster.push_back(std::move(*file));
    add.push_back(std::move(*pods));
  }
  const auto result = what_if({.cluster = cluster,
                               .add = add,
                               .profiles = scheduler::built_in_profiles(),
                               .quota = {},
                               .scheduler_name = "",
                               .pending = false,
                               .unix_nanos = 1});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->nodes, 20U);
  EXPECT_EQ(result->placed(), 20U);
  static_assert(!std::is_copy_constructible_v<Manifests>, "the objects point into its texts");
}

TEST(WhatIfTest, APodThatIsThereAlreadyIsPassedOver) {
  const std::string cluster = std::string(kCluster) + "---\n" + pod("p", "nodeName: a, ");
  const auto result = asked(cluster, pod("p", "") + pod("q", "") + pod("q", ""));
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->placements.size(), 1U);
  EXPECT_EQ(result->placements[0].pod, "default/q");
  EXPECT_EQ(result->placements[0].node, "a");
  EXPECT_EQ(result->bound_pods, 2U);
  ASSERT_GE(result->notes.size(), 2U);
  EXPECT_EQ(result->notes[0],
            "pod default/q is given twice; the second one is skipped: give it another name");
  EXPECT_EQ(result->notes[1], "pod default/p is already on node a; it is not added again");
}

TEST(WhatIfTest, TheConditionIsToldWithTheReason) {
  const auto result = asked(kCluster, pod("p", "") + pod("q", "") + pod("r", ""));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->placements[0].condition, "");
  EXPECT_EQ(result->placements[2].condition, "Unschedulable");
  const auto mixed =
      asked(kCluster,
            "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, resources: "
            "{limits: {stowage.dev/gpu-cores: 1}}}]}\n");
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->placements[0].condition, "InvalidRequest");
  EXPECT_NE(to_table(*mixed).find("InvalidRequest: pod default/p"), std::string::npos)
      << to_table(*mixed);
}

TEST(WhatIfTest, PodsThatNoSchedulerIsAskedAboutHaveAReason) {
  const auto result =
      asked(kCluster, pod("p", "nodeName: a, ") + pod("q", "schedulingGates: [{name: g}], "));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->placements[0].reason, "the pod sets spec.nodeName to a and needs no scheduler");
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
