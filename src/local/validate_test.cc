#include "local/validate.h"

#include <gtest/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

struct Row {
  Kind kind;
  const char* text;
  const char* message;  // a part of the API's message; "" if valid
};

constexpr const char* kTemplate =
    R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},)"
    R"("spec":{"containers":[{"name":"c","image":"i"}]}})";

std::string container(const char* inside) {
  return std::string(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i",)") +
         inside + "}]}}";
}
std::string deployment(const char* before) {
  return std::string(R"({"metadata":{"name":"d"},"spec":{)") + before + kTemplate + "}}";
}

void expect(TestCluster& cluster, Kind kind, const std::string& text, std::string_view wanted) {
  const auto made = cluster.make(kind, text);
  if (wanted.empty()) {
    EXPECT_TRUE(made) << text << ": " << (made ? "" : made.error().message);
    return;
  }
  ASSERT_FALSE(made) << text;
  EXPECT_EQ(made.error().code, 422) << text;
  EXPECT_NE(made.error().message.find(wanted), std::string::npos) << made.error().message;
}

TEST(Validate, SaysWhatIsWrongInTheWordsOfTheApi) {
  const Row rows[] = {
      {Kind::pod, R"({"metadata":{"name":"p"},"spec":{}})", "spec.containers: Required value"},
      {Kind::pod, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})",
       "spec.containers[0].image: Required value"},
      {Kind::pod, R"({"metadata":{"name":"p"},"spec":{"containers":[{"image":"c"}]}})",
       "spec.containers[0].name: Required value"},
      {Kind::pod,
       R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"},{"name":"c",)"
       R"("image":"i"}]}})",
       "spec.containers[1].name: Duplicate value: \"c\""},
      {Kind::pod, R"({"metadata":{"name":"P"},"spec":{"containers":[{"name":"c","image":"i"}]}})",
       "Pod \"P\" is invalid: metadata.name: Invalid value: \"P\": a lowercase RFC 1123 subdomain"},
      {Kind::pod, R"({"spec":{"containers":[{"name":"c","image":"i"}]}})",
       "metadata.name: Required value: name or generateName is required"},
      {Kind::pod,
       R"({"metadata":{"name":"p","labels":{"a":"b c"}},"spec":{"containers":[{"name":"c",)"
       R"("image":"i"}]}})",
       "metadata.labels: Invalid value: \"b c\": a valid label"},
      {Kind::pod,
       R"({"metadata":{"name":"p"},"spec":{"restartPolicy":"Often","containers":[{"name":"c",)"
       R"("image":"i"}]}})",
       "spec.restartPolicy: Unsupported value: \"Often\": supported values: \"Always\", "
       "\"OnFailure\", \"Never\""},
      {Kind::pod,
       R"({"metadata":{"name":"p"},"spec":{"tolerations":[{"value":"x"}],"containers":[{)"
       R"("name":"c","image":"i"}]}})",
       "spec.tolerations[0].operator: Invalid value: \"\": operator must be Exists"},
      {Kind::pod,
       R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","schedulingGates":[{"name":"g"}],)"
       R"("containers":[{"name":"c","image":"i"}]}})",
       "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"},
      {Kind::node, R"({"metadata":{"name":"n"},"spec":{"taints":[{"key":"k"}]}})",
       "effect: Required value"},
      {Kind::ns, R"({"metadata":{"name":"a.b"}})", "a lowercase RFC 1123 label"},
      {Kind::priority_class, R"({"metadata":{"name":"p"},"value":2000000000})",
       "value: Forbidden: maximum allowed value"},
      {Kind::pod_disruption_budget,
       R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,"maxUnavailable":"10%"}})",
       "minAvailable and maxUnavailable cannot be both set"},
      {Kind::pod_disruption_budget, R"({"metadata":{"name":"b"},"spec":{"minAvailable":"ten"}})",
       "a valid percent string"},
      {Kind::persistent_volume_claim, R"({"metadata":{"name":"c"},"spec":{}})",
       "spec.accessModes: Required value"},
      {Kind::csi_storage_capacity, R"({"metadata":{"name":"c"}})",
       "storageClassName: Required value"},
      {Kind::volume_attachment, R"({"metadata":{"name":"a"},"spec":{"attacher":"d"}})",
       "spec.nodeName: Required value"},
      {Kind::lease, R"({"metadata":{"name":"l"},"spec":{"leaseDurationSeconds":0}})",
       "must be greater than 0"},
      {Kind::job,
       R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"containers":[{"name":"c",)"
       R"("image":"i"}]}}}})",
       "spec.template.spec.restartPolicy: Required value"},
  };
  TestCluster cluster;
  for (const Row& row : rows) expect(cluster, row.kind, row.text, row.message);
}

TEST(Validate, HoldsResourcesToTheirRules) {
  const std::pair<const char*, const char*> rows[] = {
      {R"("resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}})",
       "must be less than or equal to cpu limit of 1"},
      {R"("resources":{"limits":{"cpu":"-1"}})", "must be greater than or equal to 0"},
      {R"("resources":{"limits":{"example.com/gpu":"1500m"}})", "must be an integer"},
      {R"("resources":{"requests":{"example.com/gpu":"1"}})",
       "Limit must be set for non overcommitable resources"},
      {R"("resources":{"requests":{"example.com/gpu":"1"},"limits":{"example.com/gpu":"2"}})",
       "must be equal to example.com/gpu limit of 2"},
      {R"("resources":{"limits":{"gpu":"1"}})",
       "must be a standard resource type or fully qualified"},
      {R"("ports":[{"containerPort":70000}])", "must be between 1 and 65535, inclusive"},
  };
  TestCluster cluster;
  for (const auto& [inside, message] : rows) expect(cluster, Kind::pod, container(inside), message);
  expect(cluster, Kind::pod,
         container(R"("resources":{"limits":{"example.com/gpu":"1k","hugepages-2Mi":"4Mi"}})"), "");
}

TEST(Validate, ADeploymentSelectsItsOwnPods) {
  TestCluster cluster;
  expect(cluster, Kind::deployment, deployment(R"("replicas":-1,)"),
         "spec.replicas: Invalid value: -1: must be greater than or equal to 0");
  expect(cluster, Kind::deployment,
         R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"c"}},
             "template":{"metadata":{"labels":{"a":"b"}},
             "spec":{"containers":[{"name":"c","image":"i"}]}}}})",
         "`selector` does not match template `labels`");
  expect(cluster, Kind::deployment, deployment(""), "");
}

TEST(Validate, OfAPodOnlyAFewFieldsMayChange) {
  TestCluster cluster;
  cluster.pod(
      "p", R"("schedulingGates":[{"name":"g"}],"tolerations":[{"key":"a","operator":"Exists"}])");
  const auto patch = [&](const char* text) {
    return cluster.api.patch(Kind::pod, {"default", "p"}, Part::main, PatchType::strategic,
                             parsed(text));
  };
  EXPECT_TRUE(patch(R"({"spec":{"containers":[{"name":"c","image":"other:2"}]}})"));
  EXPECT_TRUE(patch(R"({"spec":{"tolerations":[{"key":"a","operator":"Exists"},{"key":"b",)"
                    R"("operator":"Exists"}]}})"));
  EXPECT_TRUE(patch(R"({"spec":{"nodeSelector":{"x":"y"}}})")) << "while it is gated";
  EXPECT_EQ(patch(R"({"spec":{"tolerations":[{"key":"b","operator":"Exists"}]}})").error().code,
            422);
  EXPECT_EQ(patch(R"({"spec":{"nodeName":"n"}})").error().code, 422);
  EXPECT_EQ(patch(R"({"spec":{"schedulingGates":[{"name":"h"}]}})").error().code, 422);
  EXPECT_TRUE(patch(R"({"spec":{"schedulingGates":[{"name":"g","$patch":"delete"}]}})"));
  EXPECT_EQ(patch(R"({"spec":{"nodeSelector":{"x":"z"}}})").error().code, 422);
}

}  // namespace
}  // namespace stowage::local
