#include "local/api.h"

#include <gtest/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

const ObjectName kPod{"default", "p"};

std::string condition(const ObjectPtr& object, std::string_view type) {
  const json::object tree = object->tree();
  const json::array* conditions = array_at(tree, "status.conditions");
  if (conditions == nullptr) return "none";
  for (const json::value& one : *conditions) {
    if (text_at(one.get_object(), "type") == type) {
      return std::string(text_of(one.at("status"))) + " " +
             std::string(text_at(one.get_object(), "reason"));
    }
  }
  return "none";
}

constexpr const char* kDeployment =
    R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c",
           "image":"i"}]}}}})";

TEST(Api, ANewPodIsPendingAndHasTheServersMetadata) {
  TestCluster cluster;
  const auto pod = cluster.make(Kind::pod, R"({"metadata":{"name":"p","uid":"mine","generation":9,
      "deletionTimestamp":"2026-01-01T00:00:00Z"},
      "spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}})");
  ASSERT_TRUE(pod);
  const json::object tree = (*pod)->tree();
  EXPECT_EQ(text_at(tree, "status.phase"), "Pending");
  EXPECT_EQ(text_at(tree, "status.qosClass"), "BestEffort");
  EXPECT_EQ(int_at(tree, "metadata.generation"), 1);
  EXPECT_NE((*pod)->uid, "mine");
  EXPECT_EQ((*pod)->uid.size(), 36U);
  EXPECT_FALSE((*pod)->deleting);
  EXPECT_EQ(int_at(tree, "spec.priority"), 0);
  EXPECT_EQ(text_at(tree, "spec.preemptionPolicy"), "PreemptLowerPriority");
}

TEST(Api, NamesAreGeneratedAndNamespacesMustExist) {
  TestCluster cluster;
  const auto first = cluster.make(Kind::config_map, R"({"metadata":{"generateName":"cm-"}})");
  const auto second = cluster.make(Kind::config_map, R"({"metadata":{"generateName":"cm-"}})");
  ASSERT_TRUE(first && second);
  EXPECT_EQ((*first)->name.name.size(), 8U);
  EXPECT_NE((*first)->name.name, (*second)->name.name);
  EXPECT_EQ(cluster.make(Kind::config_map, R"({"metadata":{"name":"a"}})", "none").error().message,
            "namespaces \"none\" not found");
  EXPECT_EQ(
      cluster.make(Kind::config_map, R"({"metadata":{"name":"a","namespace":"x"}})").error().code,
      400);
  EXPECT_EQ(cluster.make(Kind::config_map, R"({"metadata":{"name":"a","resourceVersion":"1"}})")
                .error()
                .code,
            400);
}

TEST(Api, StrictFieldsAreAnErrorAndOthersAWarning) {
  TestCluster cluster;
  const json::object object = parsed(R"({"metadata":{"name":"c"},"dataa":{"x":"y"}})");
  const auto strict = cluster.api.create(Kind::config_map, "default", object,
                                         {.validation = FieldValidation::strict});
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().message,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: "
            "unknown field \"dataa\"");
  std::vector<std::string> warnings;
  const auto made =
      cluster.api.create(Kind::config_map, "default", object,
                         {.validation = FieldValidation::warn, .warnings = &warnings});
  ASSERT_TRUE(made);
  EXPECT_EQ(warnings, std::vector<std::string>{"unknown field \"dataa\""});
  EXPECT_FALSE((*made)->tree().contains("dataa"));
}

TEST(Api, PriorityComesFromTheClass) {
  TestCluster cluster;
  ASSERT_TRUE(
      cluster.make(Kind::priority_class,
                   R"({"metadata":{"name":"high"},"value":1000,"preemptionPolicy":"Never"})"));
  const ObjectPtr high = cluster.pod("high", R"("priorityClassName":"high")");
  EXPECT_EQ(int_at(high->tree(), "spec.priority"), 1000);
  EXPECT_EQ(text_at(high->tree(), "spec.preemptionPolicy"), "Never");
  const auto unknown = cluster.make(Kind::pod, R"({"metadata":{"name":"p"},"spec":{
      "priorityClassName":"none","containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(unknown.error().message,
            "pods \"p\" is forbidden: no PriorityClass with name none was found");
  const auto given = cluster.make(Kind::pod, R"({"metadata":{"name":"p"},"spec":{
      "priority":5,"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(given.error().code, 403);
  ASSERT_TRUE(cluster.make(Kind::priority_class,
                           R"({"metadata":{"name":"usual"},"value":7,"globalDefault":true})"));
  const ObjectPtr usual = cluster.pod("usual");
  EXPECT_EQ(int_at(usual->tree(), "spec.priority"), 7);
  EXPECT_EQ(text_at(usual->tree(), "spec.priorityClassName"), "usual");
  EXPECT_EQ(int_at(cluster.pod("sys", R"("priorityClassName":"system-node-critical")")->tree(),
                   "spec.priority"),
            2000001000);
}

TEST(Api, BindingSetsNodeAnnotationsAndConditionInOneWrite) {
  TestCluster cluster;
  const ObjectPtr pod = cluster.pod("p");
  BindRequest request{kPod, "n1", {pod->uid, std::to_string(pod->version)}, {{"a/b", "0,1"}}};
  const std::uint64_t before = cluster.store().version();
  const auto bound = cluster.api.bind(request);
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(cluster.store().version(), before + 1);
  EXPECT_EQ((*bound)->field("spec.nodeName"), "n1");
  const json::object tree = (*bound)->tree();
  EXPECT_EQ(text_of(object_at(tree, "metadata.annotations")->at("a/b")), "0,1");
  EXPECT_EQ(condition(*bound, "PodScheduled"), "True ");
}

TEST(Api, BindingIsRefusedWhereItMustBe) {
  TestCluster cluster;
  const ObjectPtr pod = cluster.pod("p");
  cluster.pod("gated", R"("schedulingGates":[{"name":"g"}])");
  EXPECT_EQ(condition(cluster.get(Kind::pod, "gated"), "PodScheduled"), "False SchedulingGated");
  const auto bind = [&](const char* name, Preconditions preconditions) {
    return cluster.api.bind({{"default", name}, "n1", std::move(preconditions), {}});
  };
  EXPECT_EQ(bind("none", {}).error().code, 404);
  EXPECT_EQ(bind("p", {"other-uid", ""}).error().code, 409);
  EXPECT_EQ(bind("p", {"", "1"}).error().code, 409);
  EXPECT_EQ(bind("gated", {}).error().message,
            "Operation cannot be fulfilled on pods/binding \"gated\": pod gated has non-empty "
            ".spec.schedulingGates");
  ASSERT_TRUE(bind("p", {}));
  EXPECT_EQ(bind("p", {}).error().message,
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to "
            "node \"n1\"");
  ASSERT_TRUE(cluster.api.remove(Kind::pod, kPod));
  EXPECT_EQ(
      bind("p", {}).error().message,
      "Operation cannot be fulfilled on pods/binding \"p\": pod p is being deleted, cannot be "
      "assigned to a host");
}

TEST(Api, APodThatIsNotBoundGoesAtOnceAndABoundOneInGrace) {
  TestCluster cluster;
  cluster.pod("p");
  EXPECT_TRUE(cluster.api.remove(Kind::pod, kPod)->gone);
  cluster.pod("p");
  ASSERT_TRUE(cluster.api.bind({kPod, "n1", {}, {}}));
  const auto marked = cluster.api.remove(Kind::pod, kPod);
  ASSERT_TRUE(marked);
  EXPECT_FALSE(marked->gone);
  EXPECT_TRUE(marked->object->deleting);
  EXPECT_EQ(text_at(marked->object->tree(), "metadata.deletionTimestamp"), "2026-01-02T03:04:35Z");
  EXPECT_EQ(int_at(marked->object->tree(), "metadata.deletionGracePeriodSeconds"), 30);
  // A longer grace period changes nothing, a shorter one shortens, zero deletes at once.
  EXPECT_EQ(cluster.api.remove(Kind::pod, kPod, {.grace_seconds = 60})->object->version,
            marked->object->version);
  EXPECT_EQ(int_at(cluster.api.remove(Kind::pod, kPod, {.grace_seconds = 5})->object->tree(),
                   "metadata.deletionGracePeriodSeconds"),
            5);
  EXPECT_TRUE(cluster.api.remove(Kind::pod, kPod, {.grace_seconds = 0})->gone);
  EXPECT_EQ(cluster.get(Kind::pod, "p"), nullptr);
}

TEST(Api, FinalizersHoldAnObjectUntilTheyAreGone) {
  TestCluster cluster;
  ASSERT_TRUE(cluster.make(Kind::config_map, R"({"metadata":{"name":"c","finalizers":["x/y"]}})"));
  const auto marked = cluster.api.remove(Kind::config_map, {"default", "c"});
  EXPECT_FALSE(marked->gone);
  ASSERT_NE(cluster.get(Kind::config_map, "c"), nullptr);
  ASSERT_TRUE(cluster.api.patch(Kind::config_map, {"default", "c"}, Part::main, PatchType::merge,
                                parsed(R"({"metadata":{"finalizers":null}})")));
  EXPECT_EQ(cluster.get(Kind::config_map, "c"), nullptr);
}

TEST(Api, PreconditionsOfDeletesAndReplacementsAreChecked) {
  TestCluster cluster;
  const auto made = *cluster.make(Kind::config_map, R"({"metadata":{"name":"c"}})");
  const ObjectName name{"default", "c"};
  EXPECT_EQ(
      cluster.api.remove(Kind::config_map, name, {.preconditions = {"other", ""}}).error().code,
      409);
  json::object stale = made->tree();
  ASSERT_TRUE(cluster.api.patch(Kind::config_map, name, Part::main, PatchType::merge,
                                parsed(R"({"data":{"a":"b"}})")));
  const auto refused = cluster.api.replace(Kind::config_map, name, Part::main, stale);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "Operation cannot be fulfilled on configmaps \"c\": the object has been modified; "
            "please apply your changes to the latest version and try again");
  stale.at("metadata").get_object().erase("resourceVersion");
  EXPECT_TRUE(cluster.api.replace(Kind::config_map, name, Part::main, stale));
  EXPECT_EQ(cluster.api
                .patch(Kind::config_map, name, Part::main, PatchType::merge,
                       parsed(R"({"metadata":{"resourceVersion":"1"}})"))
                .error()
                .code,
            409);
}

TEST(Api, ALeaseIsReplacedOnlyWithItsVersion) {
  TestCluster cluster;
  const auto lease = *cluster.make(Kind::lease, R"({"metadata":{"name":"l"}})", "kube-system");
  json::object tree = lease->tree();
  make_object(tree, "spec")["holderIdentity"] = "me";
  json::object blind = tree;
  blind.at("metadata").get_object().erase("resourceVersion");
  EXPECT_EQ(cluster.api.replace(Kind::lease, lease->name, Part::main, blind).error().code, 422);
  EXPECT_TRUE(cluster.api.replace(Kind::lease, lease->name, Part::main, tree));
  EXPECT_EQ(cluster.api.replace(Kind::lease, lease->name, Part::main, tree).error().code, 409);
}

TEST(Api, StatusAndTheRestAreWrittenApart) {
  TestCluster cluster;
  ASSERT_TRUE(cluster.make(Kind::deployment, kDeployment));
  const ObjectName name{"default", "d"};
  const char* both = R"({"spec":{"replicas":4},"status":{"replicas":2}})";
  const auto status =
      *cluster.api.patch(Kind::deployment, name, Part::status, PatchType::merge, parsed(both));
  EXPECT_EQ(int_at(status->tree(), "spec.replicas"), 1);
  EXPECT_EQ(int_at(status->tree(), "status.replicas"), 2);
  EXPECT_EQ(int_at(status->tree(), "metadata.generation"), 1);
  const auto main =
      *cluster.api.patch(Kind::deployment, name, Part::main, PatchType::merge,
                         parsed(R"({"spec":{"replicas":4},"status":{"replicas":9}})"));
  EXPECT_EQ(int_at(main->tree(), "spec.replicas"), 4);
  EXPECT_EQ(int_at(main->tree(), "status.replicas"), 2);
  EXPECT_EQ(int_at(main->tree(), "metadata.generation"), 2);
  const auto labelled = *cluster.api.patch(Kind::deployment, name, Part::main, PatchType::merge,
                                           parsed(R"({"metadata":{"labels":{"x":"y"}}})"));
  EXPECT_EQ(int_at(labelled->tree(), "metadata.generation"), 2);
}

TEST(Api, ApplyCreatesOrMerges) {
  TestCluster cluster;
  const json::object first = parsed(R"({"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"}})");
  const ObjectName name{"default", "c"};
  ASSERT_TRUE(cluster.api.patch(Kind::config_map, name, Part::main, PatchType::apply, first));
  ASSERT_TRUE(cluster.api.patch(Kind::config_map, name, Part::main, PatchType::apply,
                                parsed(R"({"data":{"b":"2"}})"), {.manager = "other"}));
  EXPECT_EQ(*object_at(cluster.get(Kind::config_map, "c")->tree(), "data"),
            parsed(R"({"a":"1","b":"2"})"));
  EXPECT_EQ(
      cluster.api.patch(Kind::config_map, {"default", "d"}, Part::main, PatchType::merge, first)
          .error()
          .code,
      404);
}

TEST(Api, OwnedObjectsGoWithTheirOwnerUnlessTheyAreOrphaned) {
  for (const bool orphan : {false, true}) {
    TestCluster cluster;
    const auto owner = *cluster.make(Kind::replica_set, kDeployment);
    const auto pod = cluster.make(
        Kind::pod, R"({"metadata":{"name":"p","ownerReferences":[{"apiVersion":"apps/v1",
            "kind":"ReplicaSet","name":"d","controller":true,"uid":")" +
                       owner->uid + R"("}]},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    ASSERT_TRUE(pod);
    cluster.pod("other");
    ASSERT_TRUE(cluster.api.remove(Kind::replica_set, owner->name,
                                   {.propagation = orphan ? "Orphan" : "Background"}));
    ASSERT_NE(cluster.get(Kind::pod, "other"), nullptr);
    ASSERT_EQ(cluster.get(Kind::pod, "p") != nullptr, orphan);
    if (orphan) {
      EXPECT_EQ(cluster.get(Kind::pod, "p")->owner_uid, "");
    }
  }
}

TEST(Api, ANamespaceTakesItsContentWithItWhenTheLastPodIsGone) {
  TestCluster cluster;
  ASSERT_TRUE(cluster.make(Kind::ns, R"({"metadata":{"name":"x"}})"));
  ASSERT_TRUE(cluster.make(Kind::config_map, R"({"metadata":{"name":"c"}})", "x"));
  ASSERT_TRUE(cluster.make(
      Kind::pod, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})",
      "x"));
  ASSERT_TRUE(cluster.api.bind({{"x", "p"}, "n1", {}, {}}));
  const auto removal = cluster.api.remove(Kind::ns, {"", "x"});
  ASSERT_TRUE(removal);
  EXPECT_FALSE(removal->gone);
  EXPECT_EQ(text_at(cluster.get(Kind::ns, "x")->tree(), "status.phase"), "Terminating");
  EXPECT_EQ(cluster.store().get(Kind::config_map, {"x", "c"}), nullptr);
  EXPECT_EQ(cluster.make(Kind::config_map, R"({"metadata":{"name":"d"}})", "x").error().code, 403);
  ASSERT_TRUE(cluster.api.remove(Kind::pod, {"x", "p"}, {.grace_seconds = 0}));
  EXPECT_EQ(cluster.get(Kind::ns, "x"), nullptr);
  EXPECT_EQ(cluster.api.remove(Kind::ns, {"", "default"}).error().code, 403);
}

TEST(Api, EvictionHeedsDisruptionBudgets) {
  TestCluster cluster;
  const auto running = [&](std::string_view name) {
    const auto made = cluster.make(
        Kind::pod,
        R"({"metadata":{"name":")" + std::string(name) +
            R"(","labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}})");
    ASSERT_TRUE(made);
    ASSERT_TRUE(cluster.api.bind({(*made)->name, "n1", {}, {}}));
    ASSERT_TRUE(cluster.api.patch(Kind::pod, (*made)->name, Part::status, PatchType::merge,
                                  parsed(R"({"status":{"phase":"Running"}})")));
  };
  running("p");
  running("q");
  ASSERT_TRUE(cluster.make(Kind::pod_disruption_budget, R"({"metadata":{"name":"b"},
      "spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}})"));
  EXPECT_EQ(cluster.api.evict(kPod).error().code, 429) << "not processed yet";
  const auto allow = [&](int count) {
    ASSERT_TRUE(cluster.api.patch(
        Kind::pod_disruption_budget, {"default", "b"}, Part::status, PatchType::merge,
        parsed(R"({"status":{"observedGeneration":1,"disruptionsAllowed":)" +
               std::to_string(count) + "}}")));
  };
  allow(0);
  EXPECT_EQ(cluster.api.evict(kPod).error().causes.front().reason, "DisruptionBudget");
  allow(1);
  const auto evicted = cluster.api.evict(kPod);
  ASSERT_TRUE(evicted);
  EXPECT_TRUE(evicted->object->deleting);
  EXPECT_EQ(condition(evicted->object, "DisruptionTarget"), "True EvictionByEvictionAPI");
  EXPECT_EQ(cluster.api.evict({"default", "q"}).error().code, 429) << "the budget is used up";
}

TEST(Api, ADryRunChangesNothing) {
  TestCluster cluster;
  const std::uint64_t before = cluster.store().version();
  const auto pod = cluster.api.create(
      Kind::pod, "default",
      parsed(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})"),
      {.dry_run = true});
  ASSERT_TRUE(pod);
  EXPECT_EQ((*pod)->field("status.phase"), "Pending");
  EXPECT_EQ(cluster.get(Kind::pod, "p"), nullptr);
  cluster.pod("p");
  ASSERT_TRUE(cluster.api.bind({kPod, "n1", {}, {}}, {.dry_run = true}));
  ASSERT_TRUE(cluster.api.remove(Kind::pod, kPod, {.dry_run = true}));
  EXPECT_EQ(cluster.store().version(), before + 1);
}

TEST(Api, EditsInPlaceMayRefuseOrLeaveThingsAsTheyAre) {
  TestCluster cluster;
  const ObjectPtr pod = cluster.pod("p");
  const auto left = cluster.api.update(Kind::pod, kPod, Part::whole,
                                       [](json::object&) -> ApiResult<bool> { return false; });
  EXPECT_EQ((*left)->version, pod->version);
  const auto refused = cluster.api.update(
      Kind::pod, kPod, Part::whole,
      [](json::object&) -> ApiResult<bool> { return refuse(bad_request("no")); });
  EXPECT_EQ(refused.error().message, "no");
}

TEST(Api, ScaleChangesReplicasWithinBounds) {
  TestCluster cluster;
  ASSERT_TRUE(cluster.make(Kind::deployment, kDeployment));
  const ObjectName name{"default", "d"};
  EXPECT_EQ(*cluster.api.scale(Kind::deployment, name), 1);
  ASSERT_TRUE(cluster.api.set_scale(Kind::deployment, name, 7, {}));
  EXPECT_EQ(*cluster.api.scale(Kind::deployment, name), 7);
  EXPECT_EQ(cluster.api.set_scale(Kind::deployment, name, -1, {}).error().code, 422);
  EXPECT_EQ(cluster.api.set_scale(Kind::deployment, name, 1, {"", "1"}).error().code, 409);
}

TEST(Api, AJobKnowsItsPodsByItsUid) {
  TestCluster cluster;
  const auto job = cluster.make(Kind::job, R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{
      "restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_TRUE(job) << job.error().message;
  const json::object tree = (*job)->tree();
  const json::object* labels = object_at(tree, "spec.template.metadata.labels");
  EXPECT_EQ(text_of(labels->at("job-name")), "j");
  EXPECT_EQ(text_of(labels->at("batch.kubernetes.io/controller-uid")), (*job)->uid);
  EXPECT_EQ(int_at(tree, "spec.completions"), 1);
}

}  // namespace
}  // namespace stowage::local
