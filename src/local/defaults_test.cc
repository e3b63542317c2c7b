#include "local/defaults.h"

#include <gtest/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

TEST(Defaults, APodIsCompleted) {
  json::object pod = parsed(R"({"metadata":{"name":"a"},"spec":{
      "containers":[{"name":"c","image":"pause","ports":[{"containerPort":80}],
        "resources":{"limits":{"cpu":"1","example.com/gpu":"2"},"requests":{"cpu":"500m"}}}],
      "volumes":[{"name":"v"}]}})");
  set_defaults(Kind::pod, pod);
  const json::object& spec = pod.at("spec").get_object();
  EXPECT_EQ(text_at(spec, "schedulerName"), "default-scheduler");
  EXPECT_EQ(text_at(spec, "restartPolicy"), "Always");
  EXPECT_EQ(int_at(spec, "terminationGracePeriodSeconds"), 30);
  EXPECT_EQ(spec.contains("tolerations"), false);
  const json::object& container = spec.at("containers").at(0).get_object();
  EXPECT_EQ(text_at(container, "imagePullPolicy"), "Always");
  EXPECT_EQ(text_at(container, "resources.requests.cpu"), "500m");
  const json::object& requests = *object_at(container, "resources.requests");
  EXPECT_EQ(text_of(requests.at("example.com/gpu")), "2");
  EXPECT_EQ(container.at("ports").at(0).at("protocol"), "TCP");
  EXPECT_TRUE(spec.at("volumes").at(0).get_object().contains("emptyDir"));
}

TEST(Defaults, OnTheHostsNetworkAPortIsOneOfTheHost) {
  const char* text = R"({"metadata":{"name":"a"},"spec":{"hostNetwork":true,
      "containers":[{"name":"c","ports":[{"containerPort":80},
        {"containerPort":81,"hostPort":81}]}]}})";
  json::object pod = parsed(text);
  set_defaults(Kind::pod, pod);
  const json::value& ports = pod.at("spec").at("containers").at(0).at("ports");
  EXPECT_EQ(ports.at(0).at("hostPort"), 80);
  EXPECT_EQ(ports.at(1).at("hostPort"), 81);
  pod = parsed(text);
  pod.at("spec").get_object().erase("hostNetwork");
  set_defaults(Kind::pod, pod);
  EXPECT_FALSE(
      pod.at("spec").at("containers").at(0).at("ports").at(0).get_object().contains("hostPort"));
}

TEST(Defaults, AreIdempotent) {
  for (const Resource& resource : all_resources()) {
    json::object once = parsed(R"({"metadata":{"name":"a"}})");
    set_defaults(resource.kind_id, once);
    json::object twice = once;
    set_defaults(resource.kind_id, twice);
    EXPECT_EQ(once, twice) << resource.kind;
  }
}

TEST(Defaults, QualityOfServiceFollowsCpuAndMemory) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({})", "BestEffort"},
      {R"({"limits":{"example.com/gpu":"1"},"requests":{"example.com/gpu":"1"}})", "BestEffort"},
      {R"({"requests":{"cpu":"1"}})", "Burstable"},
      {R"({"limits":{"cpu":"1"},"requests":{"cpu":"1"}})", "Burstable"},
      {R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}})",
       "Guaranteed"},
      {R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1000m","memory":"1024Mi"}})",
       "Guaranteed"},
      {R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m","memory":"1Gi"}})",
       "Burstable"},
      {R"({"requests":{"cpu":"0"}})", "BestEffort"},
  };
  for (const auto& [resources, wanted] : rows) {
    const json::object spec =
        parsed(R"({"containers":[{"resources":)" + std::string(resources) + "}]}");
    EXPECT_EQ(qos_class(spec), wanted) << resources;
  }
}

TEST(Defaults, AConditionChangesItsTimeOnlyWithItsStatus) {
  json::object status;
  set_condition(status, {"Ready", "False", "Why", "because"}, kTestTime);
  set_condition(status, {"Ready", "False", "Other", ""}, kTestTime + std::chrono::hours{1});
  EXPECT_EQ(status, parsed(R"({"conditions":[{"lastTransitionTime":"2026-01-02T03:04:05Z",
      "type":"Ready","status":"False","reason":"Other"}]})"));
  set_condition(status, {"Ready", "True", "", ""}, kTestTime + std::chrono::hours{1});
  EXPECT_EQ(status, parsed(R"({"conditions":[{"lastTransitionTime":"2026-01-02T04:04:05Z",
      "type":"Ready","status":"True"}]})"));
}

TEST(Defaults, ASecretKeepsNoPlainText) {
  json::object secret = parsed(R"({"stringData":{"a":"hello"},"data":{"b":"Yg=="}})");
  set_defaults(Kind::secret, secret);
  EXPECT_EQ(secret, parsed(R"({"data":{"b":"Yg==","a":"aGVsbG8="},"type":"Opaque"})"));
}

}  // namespace
}  // namespace stowage::local
