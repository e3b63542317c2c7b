#include "local/kubelet/kubelets.h"

#include <gtest/gtest.h>

#include "local/controllers/testing/controllers_fixture.h"
#include "local/kubelet/local_kubelets.h"

namespace stowage::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ControllersFixture;

json::object parse(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? value->as_object() : json::object();
}

TEST(PodPlan, OnlyPodsThatAreNotRestartedEnd) {
  const KubeletOptions options;
  struct Row {
    const char* name;
    const char* pod;
    std::optional<std::chrono::microseconds> run_for;
  };
  const std::string job = R"("ownerReferences":[{"kind":"Job"}])";
  const Row rows[] = {
      {"a plain pod runs on", R"({"spec":{"restartPolicy":"Never"}})", std::nullopt},
      {"a job's pod ends", R"({"metadata":{"ownerReferences":[{"kind":"Job"}]},
        "spec":{"restartPolicy":"Never"}})",
       options.job_runs_for},
      {"the annotation counts",
       R"({"metadata":{"annotations":{"local.stowage.dev/run-seconds":"1.5"},
        "ownerReferences":[{"kind":"Job"}]},"spec":{"restartPolicy":"OnFailure"}})",
       milliseconds{1500}},
      {"nonsense does not count",
       R"({"metadata":{"annotations":{"local.stowage.dev/run-seconds":"-1"}},
        "spec":{"restartPolicy":"Never"}})",
       std::nullopt},
      {"a pod that is restarted never ends",
       R"({"metadata":{"annotations":{"local.stowage.dev/run-seconds":"1"}},
        "spec":{"restartPolicy":"Always"}})",
       std::nullopt},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(plan_of(parse(row.pod), options).run_for, row.run_for) << row.name;
  }
}

TEST(PodPlan, APodStopsSoonButNeverLaterThanItsGrace) {
  const KubeletOptions options;
  const auto stop = [&](const char* text) { return plan_of(parse(text), options).stop_after; };
  EXPECT_EQ(stop(R"({"spec":{"terminationGracePeriodSeconds":30}})"), options.stop_after);
  EXPECT_EQ(stop(R"({"spec":{"terminationGracePeriodSeconds":0}})"), seconds{0});
  EXPECT_EQ(stop(R"({"metadata":{"annotations":{"local.stowage.dev/stop-seconds":"60"},
      "deletionGracePeriodSeconds":5},"spec":{"terminationGracePeriodSeconds":30}})"),
            seconds{5});
}

constexpr const char* kPod =
    R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})";

struct Cluster : ControllersFixture {
  Cluster() : kubelets(api, queue, KubeletOptions{}) {}
  std::string phase(const std::string& pod = "p") { return text(Kind::pod, pod, "status.phase"); }
  LocalKubelets kubelets;
};

TEST(LocalKubelets, ABoundPodComesUpAndIsReady) {
  Cluster fixture;
  fixture.node("n");
  fixture.create(Kind::pod, kPod);
  fixture.run(seconds{5});
  EXPECT_EQ(fixture.phase(), "Pending") << "nobody has bound it";
  fixture.bind("p", "n");
  fixture.run(milliseconds{100});
  EXPECT_EQ(fixture.phase(), "Pending");
  const std::uint64_t before = fixture.api.store().version();
  fixture.run(milliseconds{200});
  EXPECT_EQ(fixture.phase(), "Running");
  EXPECT_EQ(fixture.api.store().version(), before + 1) << "one write brings it up";
  for (const char* type : {"Ready", "ContainersReady", "Initialized", "PodScheduled"}) {
    EXPECT_EQ(fixture.condition(Kind::pod, "p", type), "True ") << type;
  }
  EXPECT_EQ(fixture.text(Kind::pod, "p", "status.podIP"), "10.255.255.1");
  EXPECT_FALSE(fixture.text(Kind::pod, "p", "status.startTime").empty());
}

TEST(LocalKubelets, ADeletedPodGoesAndOneOfTheSameNameIsLeftAlone) {
  Cluster fixture;
  fixture.node("n");
  fixture.create(Kind::pod, kPod);
  fixture.bind("p", "n");
  fixture.run(seconds{1});
  ASSERT_TRUE(fixture.api.remove(Kind::pod, {"default", "p"}).has_value());
  fixture.run(milliseconds{400});
  EXPECT_EQ(fixture.phase(), "Running") << "it is still stopping";
  fixture.run(milliseconds{200});
  EXPECT_EQ(fixture.phase(), "") << "it has gone";
  fixture.create(Kind::pod, kPod);
  fixture.run(seconds{60});
  EXPECT_EQ(fixture.phase(), "Pending");
}

TEST(LocalKubelets, APodThatRunsToItsEndSucceedsOrFails) {
  for (const auto& [code, phase] : {std::pair{"0", "Succeeded"}, std::pair{"3", "Failed"}}) {
    Cluster fixture;
    fixture.node("n");
    fixture.create(Kind::pod, std::string(R"({"metadata":{"name":"p","annotations":{
        "local.stowage.dev/run-seconds":"20","local.stowage.dev/exit-code":")") +
                                  code + R"("}},
        "spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}})");
    fixture.bind("p", "n");
    fixture.run(seconds{20});
    EXPECT_EQ(fixture.phase(), "Running");
    fixture.run(seconds{1});
    EXPECT_EQ(fixture.phase(), phase);
    EXPECT_EQ(fixture.condition(Kind::pod, "p", "Ready").substr(0, 5), "False");
  }
}

TEST(LocalKubelets, WhatDoesNotFitIsRefusedAndWhatEndedIsFreed) {
  Cluster fixture;
  fixture.node("n", R"({"cpu":"1","pods":"9"})");
  const auto pod = [&](const char* name, const char* more) {
    fixture.create(Kind::pod, std::string(R"({"metadata":{"name":")") + name +
                                  R"(","annotations":{)" + more +
                                  R"(}},"spec":{"restartPolicy":"Never","containers":[{"name":"c",
        "image":"i","resources":{"requests":{"cpu":"1"}}}]}})");
    fixture.bind(name, "n");
  };
  pod("a", R"("local.stowage.dev/run-seconds":"2")");
  fixture.run(seconds{1});
  pod("b", "");
  fixture.run(seconds{1});
  EXPECT_EQ(fixture.phase("a"), "Running");
  EXPECT_EQ(fixture.phase("b"), "Failed");
  EXPECT_EQ(fixture.text(Kind::pod, "b", "status.reason"), "OutOfcpu");
  fixture.run(seconds{1});
  EXPECT_EQ(fixture.phase("a"), "Succeeded");
  pod("c", "");
  fixture.run(seconds{1});
  EXPECT_EQ(fixture.phase("c"), "Running");
}

TEST(LocalKubelets, NothingHappensOnAFailedNodeUntilItReturns) {
  Cluster fixture;
  fixture.node("n");
  fixture.create(Kind::pod, kPod);
  fixture.create(Kind::pod,
                 R"({"metadata":{"name":"q"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  fixture.bind("p", "n");
  fixture.run(seconds{1});
  fixture.patch(Kind::node, "n",
                R"({"metadata":{"annotations":{"local.stowage.dev/failed":"true"}}})");
  fixture.run(seconds{1});
  fixture.bind("q", "n");
  ASSERT_TRUE(fixture.api.remove(Kind::pod, {"default", "p"}).has_value());
  fixture.run(seconds{300});
  EXPECT_EQ(fixture.phase("p"), "Running");
  EXPECT_EQ(fixture.phase("q"), "Pending");
  fixture.patch(Kind::node, "n",
                R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})", Part::status);
  fixture.patch(Kind::node, "n",
                R"({"metadata":{"annotations":{"local.stowage.dev/failed":null}}})");
  fixture.run(seconds{1});
  EXPECT_EQ(fixture.phase("p"), "");
  EXPECT_EQ(fixture.phase("q"), "Running");
  EXPECT_EQ(fixture.condition(Kind::node, "n", "Ready"), "True KubeletReady");
}

TEST(LocalKubelets, APodOnANodeThatComesLaterStartsThen) {
  Cluster fixture;
  fixture.create(Kind::pod, kPod);
  fixture.bind("p", "later");
  fixture.run(seconds{10});
  EXPECT_EQ(fixture.phase(), "Pending");
  fixture.node("later");
  fixture.run(seconds{1});
  EXPECT_EQ(fixture.phase(), "Running");
}

TEST(LocalKubelets, NodesHaveLeasesThatAreRenewed) {
  Cluster fixture;
  fixture.node("n");
  fixture.run(seconds{5});
  const auto renewed = [&] {
    const ObjectPtr lease = fixture.api.store().get(Kind::lease, {"kube-node-lease", "n"});
    return lease == nullptr ? "" : std::string(text_at(lease->tree(), "spec.renewTime"));
  };
  const std::string first = renewed();
  EXPECT_FALSE(first.empty());
  fixture.run(seconds{120});
  EXPECT_NE(renewed(), first);
  ASSERT_TRUE(fixture.api.remove(Kind::node, {"", "n"}).has_value());
  fixture.run(seconds{1});
  EXPECT_EQ(renewed(), "");
}

}  // namespace
}  // namespace stowage::local
