#include "local/controllers/controllers.h"

#include <gtest/gtest.h>

#include "local/controllers/testing/lab.h"
#include "local/kubelet/local_kubelets.h"

namespace stowage::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Lab;

// A cluster whose scheduler puts every pod on one of two nodes at once.
struct Cluster : Lab {
  explicit Cluster(const NodeLifecycleOptions& nodes = {})
      : kubelets(api, agenda, KubeletOptions{}), controllers(api, agenda, nodes) {
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
  Cluster lab;
  lab.create(Kind::replica_set, replica_set(3));
  lab.run(seconds{2});
  lab.expect_pods(3);
  EXPECT_EQ(lab.number(Kind::replica_set, "r", "status.replicas"), 3);
  EXPECT_EQ(lab.number(Kind::replica_set, "r", "status.readyReplicas"), 3);
  EXPECT_EQ(lab.number(Kind::replica_set, "r", "status.availableReplicas"), 3);
  EXPECT_EQ(lab.number(Kind::replica_set, "r", "status.observedGeneration"), 1);
  lab.patch(Kind::replica_set, "r", R"({"spec":{"replicas":500}})");
  lab.run(seconds{5});
  lab.expect_pods(500);
  lab.patch(Kind::replica_set, "r", R"({"spec":{"replicas":1}})");
  lab.run(seconds{5});
  lab.expect_pods(1);
  EXPECT_EQ(lab.all(Kind::pod).size(), 1U) << "the others are gone, not only going";
  EXPECT_EQ(lab.number(Kind::replica_set, "r", "status.observedGeneration"), 3);
}

TEST(ReplicaSets, ADeletedPodIsReplacedAtOnce) {
  Cluster lab;
  lab.create(Kind::replica_set, replica_set(2));
  lab.run(seconds{2});
  const ObjectName victim = lab.pods().front()->name;
  ASSERT_TRUE(lab.api.remove(Kind::pod, victim).has_value());
  lab.run(milliseconds{100});
  lab.expect_pods(2);
  EXPECT_EQ(lab.all(Kind::pod).size(), 3U);
}

TEST(ReplicaSets, PodsThatMatchAreTakenInAndThoseThatDoNotAreLetGo) {
  Cluster lab;
  lab.create(Kind::pod, R"({"metadata":{"name":"waif","labels":{"app":"r"}},
      "spec":{"containers":[{"name":"c","image":"i"}]}})");
  const ObjectPtr set = lab.create(Kind::replica_set, replica_set(1));
  lab.run(seconds{1});
  lab.expect_pods(1);
  EXPECT_EQ(lab.pods().front()->owner_uid, set->uid);
  lab.patch(Kind::pod, "waif", R"({"metadata":{"labels":{"app":"other"}}})");
  lab.run(seconds{1});
  lab.expect_pods(2);
  EXPECT_EQ(lab.api.store().get(Kind::pod, {"default", "waif"})->owner_uid, "");
  lab.patch(Kind::pod, "waif", R"({"metadata":{"labels":{"app":"r"}}})");
  lab.run(seconds{3});
  lab.expect_pods(1);
}

TEST(ReplicaSets, PodsThatNoNodeTakesAreNotMadeWithoutEnd) {
  Cluster lab;
  lab.node("full", R"({"cpu":"1","pods":"0"})");
  lab.node_for_pods = "full";
  lab.create(Kind::replica_set, replica_set(1));
  lab.run(seconds{60});
  EXPECT_LE(lab.all(Kind::pod).size(), 7U);
  lab.node_for_pods = "n1";
  lab.run(seconds{10});
  EXPECT_EQ(lab.number(Kind::replica_set, "r", "status.readyReplicas"), 1);
}

TEST(ReplicaSets, WhatTheApiRefusesIsToldInTheStatus) {
  Cluster lab;
  lab.create(Kind::replica_set, R"({"metadata":{"name":"r"},"spec":{"replicas":1,
      "selector":{"matchLabels":{"app":"r"}},"template":{"metadata":{"labels":{"app":"r"}},
      "spec":{"priorityClassName":"none","containers":[{"name":"c","image":"i"}]}}}})");
  lab.run(seconds{1});
  EXPECT_EQ(lab.condition(Kind::replica_set, "r", "ReplicaFailure"), "True FailedCreate");
  lab.create(Kind::priority_class, R"({"metadata":{"name":"none"},"value":5})");
  lab.run(seconds{10});
  lab.expect_pods(1);
  EXPECT_EQ(lab.condition(Kind::replica_set, "r", "ReplicaFailure"), "");
}

TEST(Deployments, ARolloutCompletesAndSaysSo) {
  Cluster lab;
  lab.create(Kind::deployment, deployment(3, "one"));
  lab.run(milliseconds{100});
  EXPECT_EQ(lab.condition(Kind::deployment, "d", "Available"), "False MinimumReplicasUnavailable");
  EXPECT_EQ(lab.condition(Kind::deployment, "d", "Progressing"), "True ReplicaSetUpdated");
  lab.run(seconds{2});
  lab.expect_pods(3);
  EXPECT_EQ(lab.all(Kind::replica_set).size(), 1U);
  for (const char* field : {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"}) {
    EXPECT_EQ(lab.number(Kind::deployment, "d", std::string("status.") + field), 3) << field;
  }
  EXPECT_EQ(lab.condition(Kind::deployment, "d", "Available"), "True MinimumReplicasAvailable");
  EXPECT_EQ(lab.condition(Kind::deployment, "d", "Progressing"), "True NewReplicaSetAvailable");
  const std::uint64_t quiet = lab.api.store().version();
  lab.run(seconds{30});
  EXPECT_EQ(lab.api.store().version(), quiet) << "nothing is written when nothing changes";
}

TEST(Deployments, ANewTemplateReplacesPodsWithinTheLimits) {
  Cluster lab;
  const std::string limits =
      R"(,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":1}})";
  lab.create(Kind::deployment, deployment(4, "one", limits));
  lab.run(seconds{3});
  lab.patch(Kind::deployment, "d", R"({"spec":{"template":{"spec":{"containers":[
      {"name":"c","image":"two"}]}}}})");
  for (int i = 0; i < 100; ++i) {
    lab.run(milliseconds{100});
    int ready = 0;
    for (const ObjectPtr& pod : lab.pods()) {
      if (pod->field("status.phase") == "Running") ++ready;
    }
    EXPECT_LE(lab.pods().size(), 5U);
    EXPECT_GE(ready, 3);
  }
  lab.expect_pods(4);
  for (const ObjectPtr& pod : lab.pods()) {
    EXPECT_NE(pod->bytes.find(R"("image":"two")"), std::string::npos);
  }
  EXPECT_EQ(lab.all(Kind::replica_set).size(), 2U) << "the old one is kept for a way back";
  EXPECT_EQ(lab.condition(Kind::deployment, "d", "Progressing"), "True NewReplicaSetAvailable");
  EXPECT_NE(lab.api.store()
                .get(Kind::deployment, {"default", "d"})
                ->bytes.find(R"("deployment.kubernetes.io/revision":"2")"),
            std::string::npos);
}

TEST(Deployments, GoingBackUsesTheOldSetAgain) {
  Cluster lab;
  lab.create(Kind::deployment, deployment(2, "one"));
  lab.run(seconds{3});
  const std::string image = R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":)";
  lab.patch(Kind::deployment, "d", image + R"("two"}]}}}})");
  lab.run(seconds{5});
  lab.patch(Kind::deployment, "d", image + R"("one"}]}}}})");
  lab.run(seconds{5});
  lab.expect_pods(2);
  EXPECT_EQ(lab.all(Kind::replica_set).size(), 2U);
  EXPECT_NE(lab.pods().front()->bytes.find(R"("image":"one")"), std::string::npos);
}

TEST(Deployments, RecreateStopsAllBeforeItStartsAny) {
  Cluster lab;
  lab.create(Kind::deployment, deployment(3, "one", R"(,"strategy":{"type":"Recreate"})"));
  lab.run(seconds{3});
  lab.patch(Kind::deployment, "d", R"({"spec":{"template":{"spec":{"containers":[
      {"name":"c","image":"two"}]}}}})");
  for (int i = 0; i < 50; ++i) {
    lab.run(milliseconds{20});
    bool old_one = false;
    bool new_one = false;
    for (const ObjectPtr& pod : lab.pods()) {
      old_one = old_one || pod->bytes.find(R"("image":"one")") != std::string::npos;
      new_one = new_one || pod->bytes.find(R"("image":"two")") != std::string::npos;
    }
    EXPECT_FALSE(old_one && new_one);
  }
  lab.run(seconds{3});
  lab.expect_pods(3);
}

TEST(Deployments, ScalingKeepsTheSetAndPausingHoldsARollout) {
  Cluster lab;
  lab.create(Kind::deployment, deployment(2, "one"));
  lab.run(seconds{3});
  ASSERT_TRUE(lab.api.set_scale(Kind::deployment, {"default", "d"}, 5, {}).has_value());
  lab.run(seconds{3});
  lab.expect_pods(5);
  lab.patch(Kind::deployment, "d", R"({"spec":{"paused":true,"replicas":3,"template":{"spec":
      {"containers":[{"name":"c","image":"two"}]}}}})");
  lab.run(seconds{3});
  EXPECT_EQ(lab.all(Kind::replica_set).size(), 1U);
  lab.expect_pods(3);
  lab.patch(Kind::deployment, "d", R"({"spec":{"paused":false}})");
  lab.run(seconds{10});
  EXPECT_EQ(lab.all(Kind::replica_set).size(), 2U);
  lab.expect_pods(3);
}

TEST(Deployments, ARolloutThatStandsStillIsTold) {
  Cluster lab;
  lab.binding = false;
  lab.create(Kind::deployment, deployment(1, "one", R"(,"progressDeadlineSeconds":60)"));
  lab.run(seconds{50});
  EXPECT_EQ(lab.condition(Kind::deployment, "d", "Progressing"), "True ReplicaSetUpdated");
  lab.run(seconds{20});
  EXPECT_EQ(lab.condition(Kind::deployment, "d", "Progressing"), "False ProgressDeadlineExceeded");
}

TEST(Deployments, WhatItOwnsGoesWithIt) {
  Cluster lab;
  lab.create(Kind::deployment, deployment(3, "one"));
  lab.run(seconds{2});
  ASSERT_TRUE(lab.api.remove(Kind::deployment, {"default", "d"}).has_value());
  lab.run(seconds{2});
  EXPECT_TRUE(lab.all(Kind::pod).empty());
  EXPECT_TRUE(lab.all(Kind::replica_set).empty());
}

std::string job(const std::string& spec, const std::string& annotations = "") {
  return R"({"metadata":{"name":"j"},"spec":{)" + spec +
         R"("template":{"metadata":{"annotations":{)" + annotations + R"(}},"spec":
           {"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})";
}

TEST(Jobs, PodsRunASetNumberAtATimeUntilAllAreDone) {
  Cluster lab;
  lab.create(Kind::job, job(R"("completions":5,"parallelism":2,)"));
  lab.run(seconds{1});
  lab.expect_pods(2);
  EXPECT_EQ(lab.number(Kind::job, "j", "status.active"), 2);
  EXPECT_FALSE(lab.text(Kind::job, "j", "status.startTime").empty());
  lab.run(seconds{11});
  EXPECT_EQ(lab.number(Kind::job, "j", "status.succeeded"), 2);
  EXPECT_EQ(lab.number(Kind::job, "j", "status.active"), 2);
  lab.run(seconds{30});
  EXPECT_EQ(lab.number(Kind::job, "j", "status.succeeded"), 5);
  EXPECT_EQ(lab.number(Kind::job, "j", "status.active"), 0);
  EXPECT_EQ(lab.condition(Kind::job, "j", "Complete"), "True CompletionsReached");
  EXPECT_FALSE(lab.text(Kind::job, "j", "status.completionTime").empty());
}

TEST(Jobs, DoneStaysDoneWhenThePodIsDeleted) {
  Cluster lab;
  lab.create(Kind::job, job(R"("completions":2,"parallelism":1,)"));
  lab.run(seconds{12});
  for (const ObjectPtr& pod : lab.all(Kind::pod)) {
    if (pod->field("status.phase") == "Succeeded") {
      ASSERT_TRUE(lab.api.remove(Kind::pod, pod->name).has_value());
    }
  }
  lab.run(seconds{12});
  EXPECT_EQ(lab.condition(Kind::job, "j", "Complete"), "True CompletionsReached");
  EXPECT_EQ(lab.number(Kind::job, "j", "status.succeeded"), 2);
}

TEST(Jobs, FailuresAreRepeatedUpToTheLimit) {
  Cluster lab;
  lab.create(Kind::job, job(R"("backoffLimit":2,)", R"("local.stowage.dev/run-seconds":"1",
      "local.stowage.dev/exit-code":"1")"));
  lab.run(seconds{120});
  EXPECT_EQ(lab.condition(Kind::job, "j", "Failed"), "True BackoffLimitExceeded");
  EXPECT_EQ(lab.number(Kind::job, "j", "status.failed"), 3);
  EXPECT_EQ(lab.all(Kind::pod).size(), 3U);
}

TEST(Jobs, AnIndexedJobRunsEachIndexOnce) {
  Cluster lab;
  lab.create(Kind::job, job(R"("completions":3,"parallelism":3,"completionMode":"Indexed",)"));
  lab.run(seconds{1});
  std::set<std::string> indexes;
  for (const ObjectPtr& pod : lab.pods()) {
    indexes.insert(*find_label(pod->labels, "batch.kubernetes.io/job-completion-index"));
  }
  EXPECT_EQ(indexes, (std::set<std::string>{"0", "1", "2"}));
  lab.run(seconds{15});
  EXPECT_EQ(lab.text(Kind::job, "j", "status.completedIndexes"), "0-2");
  EXPECT_EQ(lab.condition(Kind::job, "j", "Complete"), "True CompletionsReached");
}

TEST(Jobs, SuspendedOverdueAndExpiredJobsStop) {
  Cluster lab;
  lab.create(Kind::job, job(R"("suspend":true,)"));
  lab.run(seconds{2});
  lab.expect_pods(0);
  EXPECT_EQ(lab.condition(Kind::job, "j", "Suspended"), "True JobSuspended");
  lab.patch(Kind::job, "j", R"({"spec":{"suspend":false,"activeDeadlineSeconds":3}})");
  lab.run(seconds{2});
  lab.expect_pods(1);
  lab.run(seconds{3});
  EXPECT_EQ(lab.condition(Kind::job, "j", "Failed"), "True DeadlineExceeded");
  lab.expect_pods(0);
  lab.patch(Kind::job, "j", R"({"spec":{"ttlSecondsAfterFinished":5}})");
  lab.run(seconds{10});
  EXPECT_TRUE(lab.all(Kind::job).empty());
}

TEST(Budgets, WhatMayBeEvictedFollowsThePods) {
  Cluster lab;
  lab.create(Kind::pod_disruption_budget, R"({"metadata":{"name":"b"},"spec":
      {"minAvailable":"50%","selector":{"matchLabels":{"app":"d"}}}})");
  lab.create(Kind::deployment, deployment(4, "one"));
  lab.run(seconds{3});
  EXPECT_EQ(lab.number(Kind::pod_disruption_budget, "b", "status.expectedPods"), 4);
  EXPECT_EQ(lab.number(Kind::pod_disruption_budget, "b", "status.currentHealthy"), 4);
  EXPECT_EQ(lab.number(Kind::pod_disruption_budget, "b", "status.desiredHealthy"), 2);
  EXPECT_EQ(lab.number(Kind::pod_disruption_budget, "b", "status.disruptionsAllowed"), 2);
  lab.binding = false;
  const auto pods = lab.pods();
  EXPECT_TRUE(lab.api.evict(pods[0]->name).has_value());
  EXPECT_TRUE(lab.api.evict(pods[1]->name).has_value());
  const auto third = lab.api.evict(pods[2]->name);
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, 429);
  lab.run(seconds{3});
  EXPECT_EQ(lab.number(Kind::pod_disruption_budget, "b", "status.disruptionsAllowed"), 0);
  EXPECT_FALSE(lab.api.evict(pods[2]->name).has_value());
}

std::string taints(Lab& lab, const std::string& node) {
  const json::object tree = lab.tree(Kind::node, node);
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
  Cluster lab;
  lab.create(Kind::deployment, deployment(2, "one"));
  lab.run(seconds{2});
  EXPECT_EQ(taints(lab, "n1"), "");
  lab.node_for_pods = "n2";
  lab.patch(Kind::node, "n1",
            R"({"metadata":{"annotations":{"local.stowage.dev/failed":"true"}}})");
  lab.run(seconds{4});
  EXPECT_EQ(lab.condition(Kind::node, "n1", "Ready"), "True KubeletReady");
  lab.run(seconds{2});
  EXPECT_EQ(lab.condition(Kind::node, "n1", "Ready"), "Unknown NodeStatusUnknown");
  EXPECT_EQ(taints(lab, "n1"),
            "node.kubernetes.io/unreachable:NoSchedule node.kubernetes.io/unreachable:NoExecute");
  lab.run(seconds{25});
  lab.expect_pods(2);
  EXPECT_EQ(lab.pods().front()->field("spec.nodeName"), "n1") << "they are patient";
  lab.run(seconds{10});
  lab.expect_pods(2);
  for (const ObjectPtr& pod : lab.pods()) EXPECT_EQ(pod->field("spec.nodeName"), "n2");
  EXPECT_EQ(lab.all(Kind::pod).size(), 4U) << "nobody is there to say that the old ones stopped";
  lab.patch(Kind::node, "n1", R"({"metadata":{"annotations":{"local.stowage.dev/failed":null}}})");
  lab.run(seconds{2});
  EXPECT_EQ(lab.all(Kind::pod).size(), 2U);
  EXPECT_EQ(taints(lab, "n1"), "");
  EXPECT_EQ(lab.condition(Kind::node, "n1", "Ready"), "True KubeletReady");
}

TEST(NodeLifecycle, PodsOfADeletedNodeGo) {
  Cluster lab;
  lab.create(Kind::replica_set, replica_set(2));
  lab.run(seconds{2});
  lab.node_for_pods = "n2";
  ASSERT_TRUE(lab.api.remove(Kind::node, {"", "n1"}).has_value());
  lab.run(seconds{5});
  EXPECT_EQ(lab.all(Kind::pod).size(), 2U);
  for (const ObjectPtr& pod : lab.pods()) EXPECT_EQ(pod->field("spec.nodeName"), "n2");
}

TEST(NodeLifecycle, CordoningAndConditionsBecomeTaintsAndOthersStay) {
  Cluster lab;
  lab.patch(Kind::node, "n1", R"({"spec":{"unschedulable":true,
      "taints":[{"key":"mine","effect":"NoSchedule"}]}})");
  lab.run(seconds{1});
  EXPECT_EQ(taints(lab, "n1"), "mine:NoSchedule node.kubernetes.io/unschedulable:NoSchedule");
  lab.patch(Kind::node, "n1", R"({"spec":{"unschedulable":null}})");
  lab.run(seconds{1});
  EXPECT_EQ(taints(lab, "n1"), "mine:NoSchedule");
  lab.patch(Kind::node, "n1", R"({"status":{"conditions":[{"type":"Ready","status":"False"},
      {"type":"DiskPressure","status":"True"}]}})",
            Part::status);
  lab.run(seconds{1});
  EXPECT_EQ(taints(lab, "n1"),
            "mine:NoSchedule node.kubernetes.io/not-ready:NoSchedule "
            "node.kubernetes.io/not-ready:NoExecute node.kubernetes.io/disk-pressure:NoSchedule");
}

TEST(NodeLifecycle, TolerationsSayHowLongAPodStays) {
  Cluster lab;
  const auto pod = [&](const std::string& name, const std::string& tolerations) {
    lab.create(Kind::pod, R"({"metadata":{"name":")" + name + R"("},"spec":{"tolerations":[)" +
                              tolerations + R"(],"containers":[{"name":"c","image":"i"}]}})");
  };
  pod("forever", R"({"key":"away","operator":"Exists"})");
  pod("awhile", R"({"key":"away","operator":"Exists","tolerationSeconds":60})");
  pod("other", R"({"key":"other","operator":"Exists"})");
  lab.run(seconds{2});
  lab.patch(Kind::node, "n1", R"({"spec":{"taints":[{"key":"away","effect":"NoExecute"}]}})");
  lab.run(seconds{2});
  EXPECT_EQ(lab.all(Kind::pod).size(), 2U) << "one goes at once";
  lab.run(seconds{50});
  EXPECT_EQ(lab.all(Kind::pod).size(), 2U);
  lab.run(seconds{15});
  ASSERT_EQ(lab.all(Kind::pod).size(), 1U);
  EXPECT_EQ(lab.all(Kind::pod).front()->name.name, "forever");
}

TEST(NodeLifecycle, EndedPodsDoNotPileUp) {
  Cluster lab({.ended_pods_max = 3});
  lab.create(Kind::job, job(R"("completions":6,"parallelism":6,)"));
  lab.run(seconds{60});
  EXPECT_EQ(lab.all(Kind::pod).size(), 3U);
  EXPECT_EQ(lab.number(Kind::job, "j", "status.succeeded"), 6);
}

TEST(Namespaces, ADeletedNamespaceTakesEverythingWithIt) {
  Cluster lab;
  lab.create(Kind::ns, R"({"metadata":{"name":"team"}})");
  const std::string text = deployment(3, "one");
  lab.create(Kind::deployment, text, "team");
  lab.run(seconds{2});
  lab.expect_pods(3);
  ASSERT_TRUE(lab.api.remove(Kind::ns, {"", "team"}).has_value());
  lab.run(seconds{3});
  EXPECT_TRUE(lab.all(Kind::pod).empty());
  EXPECT_EQ(lab.api.store().get(Kind::ns, {"", "team"}), nullptr);
}

}  // namespace
}  // namespace stowage::local
