#include "local/controllers/controllers.h"

#include <gtest/gtest.h>

#include "local/controllers/testing/controllers_fixture.h"
#include "local/kubelet/local_kubelets.h"

namespace stowage::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ControllersFixture;

// A cluster whose scheduler binds every pod to one of two nodes at once.
struct Cluster : ControllersFixture {
  explicit Cluster(const NodeLifecycleOptions& nodes = {})
      : kubelets(api, queue, KubeletOptions{}), controllers(api, queue, nodes) {
    node("n1", R"({"cpu":"800","pods":"11000"})");
    node("n2", R"({"cpu":"800","pods":"11000"})");
    auto watch =
        api.store().watch(Kind::pod, {}, api.store().version(), [this](const WatchEvent& event) {
          schedule(*event.object);
          return Store::Flow::more;
        });
    binder = *std::move(watch);
  }
  void schedule(const StoredObject& pod) {
    if (!binding || pod.deleting || !pod.field("spec.nodeName").empty()) return;
    static_cast<void>(api.bind({pod.name, node_for_pods, {pod.uid, ""}, {}}));
  }
  void expect_pods(std::size_t count) { EXPECT_EQ(pods().size(), count); }

  bool binding = true;
  std::string node_for_pods = "n1";
  LocalKubelets kubelets;
  Controllers controllers;
  Watch binder;
};

std::string deployment(int replicas, const std::string& image, const std::string& more = "") {
  return R"({"metadata":{"name":"d"},"spec":{"replicas":)" + std::to_string(replicas) + more +
         R"(,"selector":{"matchLabels":{"app":"d"}},"template":{"metadata":{"labels":{"app":"d"}},
           "spec":{"containers":[{"name":"c","image":")" +
         image + R"("}]}}}})";
}

std::string replica_set(int replicas) {
  return R"({"metadata":{"name":"r"},"spec":{"replicas":)" + std::to_string(replicas) +
         R"(,"selector":{"matchLabels":{"app":"r"}},"template":{"metadata":{"labels":{"app":"r"}},
           "spec":{"containers":[{"name":"c","image":"i"}]}}}})";
}

TEST(ReplicaSets, AsManyPodsAsWantedAreMadeAndCounted) {
  Cluster fixture;
  fixture.create(Kind::replica_set, replica_set(3));
  fixture.run(seconds{2});
  fixture.expect_pods(3);
  EXPECT_EQ(fixture.number(Kind::replica_set, "r", "status.replicas"), 3);
  EXPECT_EQ(fixture.number(Kind::replica_set, "r", "status.readyReplicas"), 3);
  EXPECT_EQ(fixture.number(Kind::replica_set, "r", "status.availableReplicas"), 3);
  EXPECT_EQ(fixture.number(Kind::replica_set, "r", "status.observedGeneration"), 1);
  fixture.patch(Kind::replica_set, "r", R"({"spec":{"replicas":500}})");
  fixture.run(seconds{5});
  fixture.expect_pods(500);
  fixture.patch(Kind::replica_set, "r", R"({"spec":{"replicas":1}})");
  fixture.run(seconds{5});
  fixture.expect_pods(1);
  EXPECT_EQ(fixture.all(Kind::pod).size(), 1U) << "the others are gone, not only going";
  EXPECT_EQ(fixture.number(Kind::replica_set, "r", "status.observedGeneration"), 3);
}

TEST(ReplicaSets, ADeletedPodIsReplacedAtOnce) {
  Cluster fixture;
  fixture.create(Kind::replica_set, replica_set(2));
  fixture.run(seconds{2});
  const ObjectName victim = fixture.pods().front()->name;
  ASSERT_TRUE(fixture.api.remove(Kind::pod, victim).has_value());
  fixture.run(milliseconds{100});
  fixture.expect_pods(2);
  EXPECT_EQ(fixture.all(Kind::pod).size(), 3U);
}

TEST(ReplicaSets, PodsThatMatchAreTakenInAndThoseThatDoNotAreLetGo) {
  Cluster fixture;
  fixture.create(Kind::pod, R"({"metadata":{"name":"waif","labels":{"app":"r"}},
      "spec":{"containers":[{"name":"c","image":"i"}]}})");
  const ObjectPtr set = fixture.create(Kind::replica_set, replica_set(1));
  fixture.run(seconds{1});
  fixture.expect_pods(1);
  EXPECT_EQ(fixture.pods().front()->owner_uid, set->uid);
  fixture.patch(Kind::pod, "waif", R"({"metadata":{"labels":{"app":"other"}}})");
  fixture.run(seconds{1});
  fixture.expect_pods(2);
  EXPECT_EQ(fixture.api.store().get(Kind::pod, {"default", "waif"})->owner_uid, "");
  fixture.patch(Kind::pod, "waif", R"({"metadata":{"labels":{"app":"r"}}})");
  fixture.run(seconds{3});
  fixture.expect_pods(1);
}

TEST(ReplicaSets, PodsThatNoNodeTakesAreNotMadeWithoutEnd) {
  Cluster fixture;
  fixture.node("full", R"({"cpu":"1","pods":"0"})");
  fixture.node_for_pods = "full";
  fixture.create(Kind::replica_set, replica_set(1));
  fixture.run(seconds{60});
  EXPECT_LE(fixture.all(Kind::pod).size(), 7U);
  fixture.node_for_pods = "n1";
  fixture.run(seconds{10});
  EXPECT_EQ(fixture.number(Kind::replica_set, "r", "status.readyReplicas"), 1);
}

TEST(ReplicaSets, WhatTheApiRefusesIsToldInTheStatus) {
  Cluster fixture;
  fixture.create(Kind::replica_set, R"({"metadata":{"name":"r"},"spec":{"replicas":1,
      "selector":{"matchLabels":{"app":"r"}},"template":{"metadata":{"labels":{"app":"r"}},
      "spec":{"priorityClassName":"none","containers":[{"name":"c","image":"i"}]}}}})");
  fixture.run(seconds{1});
  EXPECT_EQ(fixture.condition(Kind::replica_set, "r", "ReplicaFailure"), "True FailedCreate");
  fixture.create(Kind::priority_class, R"({"metadata":{"name":"none"},"value":5})");
  fixture.run(seconds{10});
  fixture.expect_pods(1);
  EXPECT_EQ(fixture.condition(Kind::replica_set, "r", "ReplicaFailure"), "");
}

TEST(Deployments, ARolloutCompletesAndSaysSo) {
  Cluster fixture;
  fixture.create(Kind::deployment, deployment(3, "one"));
  fixture.run(milliseconds{100});
  EXPECT_EQ(fixture.condition(Kind::deployment, "d", "Available"),
            "False MinimumReplicasUnavailable");
  EXPECT_EQ(fixture.condition(Kind::deployment, "d", "Progressing"), "True ReplicaSetUpdated");
  fixture.run(seconds{2});
  fixture.expect_pods(3);
  EXPECT_EQ(fixture.all(Kind::replica_set).size(), 1U);
  for (const char* field : {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"}) {
    EXPECT_EQ(fixture.number(Kind::deployment, "d", std::string("status.") + field), 3) << field;
  }
  EXPECT_EQ(fixture.condition(Kind::deployment, "d", "Available"), "True MinimumReplicasAvailable");
  EXPECT_EQ(fixture.condition(Kind::deployment, "d", "Progressing"), "True NewReplicaSetAvailable");
  const std::uint64_t quiet = fixture.api.store().version();
  fixture.run(seconds{30});
  EXPECT_EQ(fixture.api.store().version(), quiet) << "nothing is written when nothing changes";
}

TEST(Deployments, ANewTemplateReplacesPodsWithinTheLimits) {
  Cluster fixture;
  const std::string limits =
      R"(,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":1}})";
  fixture.create(Kind::deployment, deployment(4, "one", limits));
  fixture.run(seconds{3});
  fixture.patch(Kind::deployment, "d", R"({"spec":{"template":{"spec":{"containers":[
      {"name":"c","image":"two"}]}}}})");
  for (int i = 0; i < 100; ++i) {
    fixture.run(milliseconds{100});
    int ready = 0;
    for (const ObjectPtr& pod : fixture.pods()) {
      if (pod->field("status.phase") == "Running") ++ready;
    }
    EXPECT_LE(fixture.pods().size(), 5U);
    EXPECT_GE(ready, 3);
  }
  fixture.expect_pods(4);
  for (const ObjectPtr& pod : fixture.pods()) {
    EXPECT_NE(pod->bytes.find(R"("image":"two")"), std::string::npos);
  }
  EXPECT_EQ(fixture.all(Kind::replica_set).size(), 2U) << "the old one is kept for a way back";
  EXPECT_EQ(fixture.condition(Kind::deployment, "d", "Progressing"), "True NewReplicaSetAvailable");
  EXPECT_NE(fixture.api.store()
                .get(Kind::deployment, {"default", "d"})
                ->bytes.find(R"("deployment.kubernetes.io/revision":"2")"),
            std::string::npos);
}

TEST(Deployments, GoingBackUsesTheOldSetAgain) {
  Cluster fixture;
  fixture.create(Kind::deployment, deployment(2, "one"));
  fixture.run(seconds{3});
  const std::string image = R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":)";
  fixture.patch(Kind::deployment, "d", image + R"("two"}]}}}})");
  fixture.run(seconds{5});
  fixture.patch(Kind::deployment, "d", image + R"("one"}]}}}})");
  fixture.run(seconds{5});
  fixture.expect_pods(2);
  EXPECT_EQ(fixture.all(Kind::replica_set).size(), 2U);
  EXPECT_NE(fixture.pods().front()->bytes.find(R"("image":"one")"), std::string::npos);
}

TEST(Deployments, RecreateStopsAllBeforeItStartsAny) {
  Cluster fixture;
  fixture.create(Kind::deployment, deployment(3, "one", R"(,"strategy":{"type":"Recreate"})"));
  fixture.run(seconds{3});
  fixture.patch(Kind::deployment, "d", R"({"spec":{"template":{"spec":{"containers":[
      {"name":"c","image":"two"}]}}}})");
  for (int i = 0; i < 50; ++i) {
    fixture.run(milliseconds{20});
    bool old_one = false;
    bool new_one = false;
    for (const ObjectPtr& pod : fixture.pods()) {
      old_one = old_one || pod->bytes.find(R"("image":"one")") != std::string::npos;
      new_one = new_one || pod->bytes.find(R"("image":"two")") != std::string::npos;
    }
    EXPECT_FALSE(old_one && new_one);
  }
  fixture.run(seconds{3});
  fixture.expect_pods(3);
}

TEST(Deployments, ScalingKeepsTheSetAndPausingHoldsARollout) {
  Cluster fixture;
  fixture.create(Kind::deployment, deployment(2, "one"));
  fixture.run(seconds{3});
  ASSERT_TRUE(fixture.api.set_scale(Kind::deployment, {"default", "d"}, 5, {}).has_value());
  fixture.run(seconds{3});
  fixture.expect_pods(5);
  fixture.patch(Kind::deployment, "d", R"({"spec":{"paused":true,"replicas":3,"template":{"spec":
      {"containers":[{"name":"c","image":"two"}]}}}})");
  fixture.run(seconds{3});
  EXPECT_EQ(fixture.all(Kind::replica_set).size(), 1U);
  fixture.expect_pods(3);
  fixture.patch(Kind::deployment, "d", R"({"spec":{"paused":false}})");
  fixture.run(seconds{10});
  EXPECT_EQ(fixture.all(Kind::replica_set).size(), 2U);
  fixture.expect_pods(3);
}

TEST(Deployments, ARolloutThatStandsStillIsTold) {
  Cluster fixture;
  fixture.binding = false;
  fixture.create(Kind::deployment, deployment(1, "one", R"(,"progressDeadlineSeconds":60)"));
  fixture.run(seconds{50});
  EXPECT_EQ(fixture.condition(Kind::deployment, "d", "Progressing"), "True ReplicaSetUpdated");
  fixture.run(seconds{20});
  EXPECT_EQ(fixture.condition(Kind::deployment, "d", "Progressing"),
            "False ProgressDeadlineExceeded");
}

TEST(Deployments, WhatItOwnsGoesWithIt) {
  Cluster fixture;
  fixture.create(Kind::deployment, deployment(3, "one"));
  fixture.run(seconds{2});
  ASSERT_TRUE(fixture.api.remove(Kind::deployment, {"default", "d"}).has_value());
  fixture.run(seconds{2});
  EXPECT_TRUE(fixture.all(Kind::pod).empty());
  EXPECT_TRUE(fixture.all(Kind::replica_set).empty());
}

std::string job(const std::string& spec, const std::string& annotations = "") {
  return R"({"metadata":{"name":"j"},"spec":{)" + spec +
         R"("template":{"metadata":{"annotations":{)" + annotations + R"(}},"spec":
           {"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})";
}

TEST(Jobs, PodsRunASetNumberAtATimeUntilAllAreDone) {
  Cluster fixture;
  fixture.create(Kind::job, job(R"("completions":5,"parallelism":2,)"));
  fixture.run(seconds{1});
  fixture.expect_pods(2);
  EXPECT_EQ(fixture.number(Kind::job, "j", "status.active"), 2);
  EXPECT_FALSE(fixture.text(Kind::job, "j", "status.startTime").empty());
  fixture.run(seconds{11});
  EXPECT_EQ(fixture.number(Kind::job, "j", "status.succeeded"), 2);
  EXPECT_EQ(fixture.number(Kind::job, "j", "status.active"), 2);
  fixture.run(seconds{30});
  EXPECT_EQ(fixture.number(Kind::job, "j", "status.succeeded"), 5);
  EXPECT_EQ(fixture.number(Kind::job, "j", "status.active"), 0);
  EXPECT_EQ(fixture.condition(Kind::job, "j", "Complete"), "True CompletionsReached");
  EXPECT_FALSE(fixture.text(Kind::job, "j", "status.completionTime").empty());
}

TEST(Jobs, DoneStaysDoneWhenThePodIsDeleted) {
  Cluster fixture;
  fixture.create(Kind::job, job(R"("completions":2,"parallelism":1,)"));
  fixture.run(seconds{12});
  for (const ObjectPtr& pod : fixture.all(Kind::pod)) {
    if (pod->field("status.phase") == "Succeeded") {
      ASSERT_TRUE(fixture.api.remove(Kind::pod, pod->name).has_value());
    }
  }
  fixture.run(seconds{12});
  EXPECT_EQ(fixture.condition(Kind::job, "j", "Complete"), "True CompletionsReached");
  EXPECT_EQ(fixture.number(Kind::job, "j", "status.succeeded"), 2);
}

TEST(Jobs, FailuresAreRepeatedUpToTheLimit) {
  Cluster fixture;
  fixture.create(Kind::job, job(R"("backoffLimit":2,)", R"("local.stowage.dev/run-seconds":"1",
      "local.stowage.dev/exit-code":"1")"));
  fixture.run(seconds{120});
  EXPECT_EQ(fixture.condition(Kind::job, "j", "Failed"), "True BackoffLimitExceeded");
  EXPECT_EQ(fixture.number(Kind::job, "j", "status.failed"), 3);
  EXPECT_EQ(fixture.all(Kind::pod).size(), 3U);
}

TEST(Jobs, AnIndexedJobRunsEachIndexOnce) {
  Cluster fixture;
  fixture.create(Kind::job, job(R"("completions":3,"parallelism":3,"completionMode":"Indexed",)"));
  fixture.run(seconds{1});
  std::set<std::string> indexes;
  for (const ObjectPtr& pod : fixture.pods()) {
    indexes.insert(*find_label(pod->labels, "batch.kubernetes.io/job-completion-index"));
  }
  EXPECT_EQ(indexes, (std::set<std::string>{"0", "1", "2"}));
  fixture.run(seconds{15});
  EXPECT_EQ(fixture.text(Kind::job, "j", "status.completedIndexes"), "0-2");
  EXPECT_EQ(fixture.condition(Kind::job, "j", "Complete"), "True CompletionsReached");
}

TEST(Jobs, SuspendedOverdueAndExpiredJobsStop) {
  Cluster fixture;
  fixture.create(Kind::job, job(R"("suspend":true,)"));
  fixture.run(seconds{2});
  fixture.expect_pods(0);
  EXPECT_EQ(fixture.condition(Kind::job, "j", "Suspended"), "True JobSuspended");
  fixture.patch(Kind::job, "j", R"({"spec":{"suspend":false,"activeDeadlineSeconds":3}})");
  fixture.run(seconds{2});
  fixture.expect_pods(1);
  fixture.run(seconds{3});
  EXPECT_EQ(fixture.condition(Kind::job, "j", "Failed"), "True DeadlineExceeded");
  fixture.expect_pods(0);
  fixture.patch(Kind::job, "j", R"({"spec":{"ttlSecondsAfterFinished":5}})");
  fixture.run(seconds{10});
  EXPECT_TRUE(fixture.all(Kind::job).empty());
}

TEST(Budgets, WhatMayBeEvictedFollowsThePods) {
  Cluster fixture;
  fixture.create(Kind::pod_disruption_budget, R"({"metadata":{"name":"b"},"spec":
      {"minAvailable":"50%","selector":{"matchLabels":{"app":"d"}}}})");
  fixture.create(Kind::deployment, deployment(4, "one"));
  fixture.run(seconds{3});
  EXPECT_EQ(fixture.number(Kind::pod_disruption_budget, "b", "status.expectedPods"), 4);
  EXPECT_EQ(fixture.number(Kind::pod_disruption_budget, "b", "status.currentHealthy"), 4);
  EXPECT_EQ(fixture.number(Kind::pod_disruption_budget, "b", "status.desiredHealthy"), 2);
  EXPECT_EQ(fixture.number(Kind::pod_disruption_budget, "b", "status.disruptionsAllowed"), 2);
  fixture.binding = false;
  const auto pods = fixture.pods();
  EXPECT_TRUE(fixture.api.evict(pods[0]->name).has_value());
  EXPECT_TRUE(fixture.api.evict(pods[1]->name).has_value());
  const auto third = fixture.api.evict(pods[2]->name);
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, 429);
  fixture.run(seconds{3});
  EXPECT_EQ(fixture.number(Kind::pod_disruption_budget, "b", "status.disruptionsAllowed"), 0);
  EXPECT_FALSE(fixture.api.evict(pods[2]->name).has_value());
}

std::string taints(ControllersFixture& fixture, const std::string& node) {
  const json::object tree = fixture.tree(Kind::node, node);
  const json::array* list = array_at(tree, "spec.taints");
  std::string text;
  if (list == nullptr) return text;
  for (const json::value& one : *list) {
    if (!text.empty()) text += ' ';
    text += std::string(text_at(one.as_object(), "key")) + ":" +
            std::string(text_at(one.as_object(), "effect"));
  }
  return text;
}

TEST(NodeLifecycle, AFailedNodeIsTaintedLosesItsPodsAndReturns) {
  Cluster fixture;
  fixture.create(Kind::deployment, deployment(2, "one"));
  fixture.run(seconds{2});
  EXPECT_EQ(taints(fixture, "n1"), "");
  fixture.node_for_pods = "n2";
  fixture.patch(Kind::node, "n1",
                R"({"metadata":{"annotations":{"local.stowage.dev/failed":"true"}}})");
  fixture.run(seconds{4});
  EXPECT_EQ(fixture.condition(Kind::node, "n1", "Ready"), "True KubeletReady");
  fixture.run(seconds{2});
  EXPECT_EQ(fixture.condition(Kind::node, "n1", "Ready"), "Unknown NodeStatusUnknown");
  EXPECT_EQ(taints(fixture, "n1"),
            "node.kubernetes.io/unreachable:NoSchedule node.kubernetes.io/unreachable:NoExecute");
  fixture.run(seconds{25});
  fixture.expect_pods(2);
  EXPECT_EQ(fixture.pods().front()->field("spec.nodeName"), "n1") << "they are patient";
  fixture.run(seconds{10});
  fixture.expect_pods(2);
  for (const ObjectPtr& pod : fixture.pods()) EXPECT_EQ(pod->field("spec.nodeName"), "n2");
  EXPECT_EQ(fixture.all(Kind::pod).size(), 4U)
      << "nobody is there to say that the old ones stopped";
  fixture.patch(Kind::node, "n1",
                R"({"metadata":{"annotations":{"local.stowage.dev/failed":null}}})");
  fixture.run(seconds{2});
  EXPECT_EQ(fixture.all(Kind::pod).size(), 2U);
  EXPECT_EQ(taints(fixture, "n1"), "");
  EXPECT_EQ(fixture.condition(Kind::node, "n1", "Ready"), "True KubeletReady");
}

TEST(NodeLifecycle, PodsOfADeletedNodeGo) {
  Cluster fixture;
  fixture.create(Kind::replica_set, replica_set(2));
  fixture.run(seconds{2});
  fixture.node_for_pods = "n2";
  ASSERT_TRUE(fixture.api.remove(Kind::node, {"", "n1"}).has_value());
  fixture.run(seconds{5});
  EXPECT_EQ(fixture.all(Kind::pod).size(), 2U);
  for (const ObjectPtr& pod : fixture.pods()) EXPECT_EQ(pod->field("spec.nodeName"), "n2");
}

TEST(NodeLifecycle, CordoningAndConditionsBecomeTaintsAndOthersStay) {
  Cluster fixture;
  fixture.patch(Kind::node, "n1", R"({"spec":{"unschedulable":true,
      "taints":[{"key":"mine","effect":"NoSchedule"}]}})");
  fixture.run(seconds{1});
  EXPECT_EQ(taints(fixture, "n1"), "mine:NoSchedule node.kubernetes.io/unschedulable:NoSchedule");
  fixture.patch(Kind::node, "n1", R"({"spec":{"unschedulable":null}})");
  fixture.run(seconds{1});
  EXPECT_EQ(taints(fixture, "n1"), "mine:NoSchedule");
  fixture.patch(Kind::node, "n1", R"({"status":{"conditions":[{"type":"Ready","status":"False"},
      {"type":"DiskPressure","status":"True"}]}})",
                Part::status);
  fixture.run(seconds{1});
  EXPECT_EQ(taints(fixture, "n1"),
            "mine:NoSchedule node.kubernetes.io/not-ready:NoSchedule "
            "node.kubernetes.io/not-ready:NoExecute node.kubernetes.io/disk-pressure:NoSchedule");
}

TEST(NodeLifecycle, TolerationsSayHowLongAPodStays) {
  Cluster fixture;
  const auto pod = [&](const std::string& name, const std::string& tolerations) {
    fixture.create(Kind::pod, R"({"metadata":{"name":")" + name + R"("},"spec":{"tolerations":[)" +
                                  tolerations + R"(],"containers":[{"name":"c","image":"i"}]}})");
  };
  pod("forever", R"({"key":"away","operator":"Exists"})");
  pod("awhile", R"({"key":"away","operator":"Exists","tolerationSeconds":60})");
  pod("other", R"({"key":"other","operator":"Exists"})");
  fixture.run(seconds{2});
  fixture.patch(Kind::node, "n1", R"({"spec":{"taints":[{"key":"away","effect":"NoExecute"}]}})");
  fixture.run(seconds{2});
  EXPECT_EQ(fixture.all(Kind::pod).size(), 2U) << "one goes at once";
  fixture.run(seconds{50});
  EXPECT_EQ(fixture.all(Kind::pod).size(), 2U);
  fixture.run(seconds{15});
  ASSERT_EQ(fixture.all(Kind::pod).size(), 1U);
  EXPECT_EQ(fixture.all(Kind::pod).front()->name.name, "forever");
}

TEST(NodeLifecycle, EndedPodsDoNotPileUp) {
  Cluster fixture({.ended_pods_max = 3});
  fixture.create(Kind::job, job(R"("completions":6,"parallelism":6,)"));
  fixture.run(seconds{60});
  EXPECT_EQ(fixture.all(Kind::pod).size(), 3U);
  EXPECT_EQ(fixture.number(Kind::job, "j", "status.succeeded"), 6);
}

TEST(Namespaces, ADeletedNamespaceTakesEverythingWithIt) {
  Cluster fixture;
  fixture.create(Kind::ns, R"({"metadata":{"name":"team"}})");
  const std::string text = deployment(3, "one");
  fixture.create(Kind::deployment, text, "team");
  fixture.run(seconds{2});
  fixture.expect_pods(3);
  ASSERT_TRUE(fixture.api.remove(Kind::ns, {"", "team"}).has_value());
  fixture.run(seconds{3});
  EXPECT_TRUE(fixture.all(Kind::pod).empty());
  EXPECT_EQ(fixture.api.store().get(Kind::ns, {"", "team"}), nullptr);
}

}  // namespace
}  // namespace stowage::local
