#include "codec/pod_constraints.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codec/kubernetes.h"

namespace stowage::codec {
namespace {

using core::LabelSelector;
using core::PodConstraints;
using core::PodTerm;
using core::Requirement;
using core::SpreadRule;
using Op = core::Requirement::Op;

Requirement in(const char* key, std::vector<std::string> values) {
  return {.key = key, .op = Op::in, .values = std::move(values)};
}

// The constraints of a pod ml/p with the labels app=web and rev=7 and with this spec; without the
// labels.
PodConstraints constraints_of(std::string_view spec) {
  Decoder decoder;
  // The metadata comes last, so parts that need it must be completed later.
  const auto pod = decoder.pod(fmt::format(
      R"({{"spec":{{{}}},"metadata":{{"namespace":"ml","name":"p",
          "labels":{{"app":"web","rev":"7"}}}}}})",
      spec));
  EXPECT_TRUE(pod) << pod.error().message;
  if (!pod) return {};
  EXPECT_TRUE(pod->unsupported.empty()) << spec;
  EXPECT_EQ(pod->constraints.labels, (core::Labels{{"app", "web"}, {"rev", "7"}}));
  PodConstraints constraints = pod->constraints;
  constraints.labels.clear();
  return constraints;
}

PodTerm required_term(std::string_view term) {
  const auto constraints = constraints_of(fmt::format(
      R"("affinity":{{"podAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}}}})",
      term));
  EXPECT_EQ(constraints.affinity.size(), 1U);
  EXPECT_EQ(constraints, (PodConstraints{.affinity = constraints.affinity}));
  return constraints.affinity.empty() ? PodTerm{} : constraints.affinity[0];
}

TEST(DecodePodConstraints, ReadsTermsOfPodAffinity) {
  const LabelSelector nothing{.nothing = true};
  const LabelSelector web{.all = {in("app", {"web"})}};
  const struct {
    const char* name;
    const char* term;
    PodTerm expected;
  } rows[] = {
      {"an absent selector matches nothing, and absent namespaces are the pod's own",
       R"({"topologyKey":"zone"})",
       {.selector = nothing, .namespaces = {"ml"}, .topology_key = "zone"}},
      {"an empty selector matches everything",
       R"({"topologyKey":"zone","labelSelector":{}})",
       {.selector = {}, .namespaces = {"ml"}, .topology_key = "zone"}},
      {"labels come before expressions",
       R"({"labelSelector":{"matchExpressions":[{"key":"tier","operator":"NotIn","values":["x"]},
           {"key":"old","operator":"DoesNotExist"},{"key":"new","operator":"Exists"}],
           "matchLabels":{"b":"2","a":"1"}}})",
       {.selector = {.all = {in("a", {"1"}),
                             in("b", {"2"}),
                             {.key = "tier", .op = Op::not_in, .values = {"x"}},
                             {.key = "old", .op = Op::does_not_exist},
                             {.key = "new", .op = Op::exists}}},
        .namespaces = {"ml"}}},
      {"namespaces that are listed are those",
       R"({"namespaces":["a","b"],"labelSelector":{"matchLabels":{"app":"web"}}})",
       {.selector = web, .namespaces = {"a", "b"}}},
      {"a selector of namespaces stands alone",
       R"({"namespaceSelector":{"matchLabels":{"team":"x"}},"namespaces":[]})",
       {.selector = nothing, .namespace_selector = LabelSelector{.all = {in("team", {"x"})}}}},
      {"an empty selector of namespaces is every namespace",
       R"({"namespaceSelector":{},"namespaces":["a"]})",
       {.selector = nothing, .namespaces = {"a"}, .namespace_selector = LabelSelector{}}},
      {"keys are merged with the pod's values, if it has them",
       R"({"labelSelector":{"matchLabels":{"app":"web"}},"matchLabelKeys":["rev","missing"],
           "mismatchLabelKeys":["app"]})",
       {.selector = {.all = {in("app", {"web"}),
                             in("rev", {"7"}),
                             {.key = "app", .op = Op::not_in, .values = {"web"}}}},
        .namespaces = {"ml"}}},
      {"keys that are merged already are not merged again",
       R"({"labelSelector":{"matchExpressions":[{"key":"rev","operator":"In","values":["7"]},
           {"key":"app","operator":"NotIn","values":["web"]}]},
           "matchLabelKeys":["rev","rev"],"mismatchLabelKeys":["app"]})",
       {.selector = {.all = {in("rev", {"7"}),
                             {.key = "app", .op = Op::not_in, .values = {"web"}}}},
        .namespaces = {"ml"}}},
      {"another requirement of the same key is no merged one",
       R"({"labelSelector":{"matchExpressions":[{"key":"rev","operator":"In","values":["6","7"]}]},
           "matchLabelKeys":["rev"]})",
       {.selector = {.all = {in("rev", {"6", "7"}), in("rev", {"7"})}}, .namespaces = {"ml"}}},
      {"keys do not make a selector that is absent",
       R"({"matchLabelKeys":["rev"]})",
       {.selector = nothing, .namespaces = {"ml"}}},
  };
  for (const auto& row : rows) EXPECT_EQ(required_term(row.term), row.expected) << row.name;
}

TEST(DecodePodConstraints, ReadsTheFourKindsOfTermsApart) {
  const auto constraints = constraints_of(R"("affinity":{
    "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a"}],
      "preferredDuringSchedulingIgnoredDuringExecution":[
        {"weight":5,"podAffinityTerm":{"topologyKey":"b","matchLabelKeys":["rev"],
                                       "labelSelector":{}}}]},
    "podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"c"},
      {"topologyKey":"d"}],"preferredDuringSchedulingIgnoredDuringExecution":[
        {"podAffinityTerm":{"topologyKey":"e","namespaces":["x"]},"weight":100}]}})");
  const LabelSelector nothing{.nothing = true};
  const PodTerm base{.selector = nothing, .namespaces = {"ml"}};
  PodTerm a = base;
  a.topology_key = "a";
  PodTerm b = base;
  b.topology_key = "b";
  b.weight = 5;
  b.selector = {.all = {in("rev", {"7"})}};
  PodTerm c = base;
  c.topology_key = "c";
  PodTerm d = base;
  d.topology_key = "d";
  PodTerm e = base;
  e.topology_key = "e";
  e.weight = 100;
  e.namespaces = {"x"};
  EXPECT_EQ(
      constraints,
      (PodConstraints{
          .affinity = {a}, .anti_affinity = {c, d}, .preferred = {b}, .preferred_anti = {e}}));
}

TEST(DecodePodConstraints, ReadsSpreadConstraints) {
  const LabelSelector nothing{.nothing = true};
  const struct {
    const char* name;
    const char* rule;
    SpreadRule expected;
  } rows[] = {
      {"the defaults of the API",
       R"({"topologyKey":"zone","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"})",
       {.topology_key = "zone", .selector = nothing}},
      {"everything said",
       R"({"topologyKey":"zone","maxSkew":3,"minDomains":4,"whenUnsatisfiable":"ScheduleAnyway",
           "nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor","matchLabelKeys":["rev"],
           "labelSelector":{"matchLabels":{"app":"web"}}})",
       {.topology_key = "zone",
        .max_skew = 3,
        .min_domains = 4,
        .hard = false,
        .honour_affinity = false,
        .honour_taints = true,
        .selector = {.all = {in("app", {"web"}), in("rev", {"7"})}}}},
      {"the defaults said, and an empty selector",
       R"({"topologyKey":"zone","maxSkew":2,"nodeAffinityPolicy":"Honor",
           "nodeTaintsPolicy":"Ignore","labelSelector":{}})",
       {.topology_key = "zone", .max_skew = 2}},
      {"keys that the server has merged already",
       R"({"topologyKey":"zone","matchLabelKeys":["rev"],
           "labelSelector":{"matchExpressions":[{"key":"rev","operator":"In","values":["7"]}]}})",
       {.topology_key = "zone", .selector = {.all = {in("rev", {"7"})}}}},
  };
  for (const auto& row : rows) {
    const auto constraints =
        constraints_of(fmt::format(R"("topologySpreadConstraints":[{}])", row.rule));
    EXPECT_EQ(constraints, PodConstraints{.spread = {row.expected}}) << row.name;
  }
}

TEST(DecodePodConstraints, ReadsPortsOfTheHost) {
  const auto constraints = constraints_of(R"("initContainers":[
      {"name":"i","ports":[{"hostPort":1}]},
      {"name":"s","ports":[{"hostPort":2,"protocol":"UDP"}],"restartPolicy":"Always"}],
    "containers":[{"ports":[{"containerPort":80},{"hostPort":0},{"hostPort":8080,"hostIP":"::1"}]},
      {"ports":[{"hostPort":53,"protocol":"SCTP","hostIP":"0.0.0.0"}]}])");
  EXPECT_EQ(constraints,
            (PodConstraints{.ports = {{.protocol = "UDP", .port = 2},
                                      {.ip = "::1", .protocol = "TCP", .port = 8080},
                                      {.ip = "0.0.0.0", .protocol = "SCTP", .port = 53}}}));
}

TEST(DecodePodConstraints, ReadsVolumesThatBindAPodToNodes) {
  const auto constraints = constraints_of(R"("volumes":[
    {"persistentVolumeClaim":{"claimName":"data","readOnly":true},"name":"a"},
    {"name":"again","persistentVolumeClaim":{"claimName":"data"}},
    {"ephemeral":{"volumeClaimTemplate":{"spec":{}}},"name":"scratch"},
    {"name":"e","emptyDir":{}},{"name":"c","configMap":{"name":"x"}},
    {"name":"g","gcePersistentDisk":{"pdName":"disk-1","readOnly":true}},
    {"name":"w","awsElasticBlockStore":{"volumeID":"vol-1"}},
    {"name":"i","iscsi":{"targetPortal":"10.0.0.1","iqn":"iqn.x","lun":3}},
    {"name":"r","rbd":{"monitors":["m1","m2"],"image":"img","readOnly":true}},
    {"name":"q","rbd":{"monitors":["m1"],"image":"img","pool":"fast"}}])");
  using Kind = core::Disk::Kind;
  EXPECT_EQ(
      constraints,
      (PodConstraints{
          .claims = {{.name = "data"}, {.name = "p-scratch", .ephemeral = true}},
          .disks = {
              {.kind = Kind::gce, .id = "disk-1", .read_only = true},
              {.kind = Kind::aws, .id = "vol-1"},
              {.kind = Kind::iscsi, .id = "iqn.x"},
              {.kind = Kind::rbd, .id = "rbd/img", .monitors = {"m1", "m2"}, .read_only = true},
              {.kind = Kind::rbd, .id = "fast/img", .monitors = {"m1"}}}}));
}

TEST(DecodePodConstraints, NamesThePlaceOfWhatIsWrong) {
  const struct {
    const char* spec;
    const char* message;
  } rows[] = {
      {R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{},
          {"labelSelector":{"matchLabels":{"a":1}}}]}})",
       "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].labelSelector."
       "matchLabels.a: expected a string"},
      {R"("topologySpreadConstraints":[{"maxSkew":"1"}])",
       "spec.topologySpreadConstraints[0].maxSkew: expected a whole number"},
      {R"("containers":[{"ports":[{"hostPort":99999999999}]}])",
       "spec.containers[0].ports[0].hostPort: 99999999999 is out of range"},
      {R"("volumes":[{"persistentVolumeClaim":"c"}])",
       "spec.volumes[0].persistentVolumeClaim: expected an object"},
      {R"("volumes":[{"rbd":{"monitors":"m"}}])",
       "spec.volumes[0].rbd.monitors: expected an array"},
      {R"("resources":{"requests":{"cpu":"much"}})",
       "spec.resources.requests.cpu: \"much\" is not a quantity; write a number such as 2, 250m, "
       "1.5Gi or 1e3"},
  };
  for (const auto& row : rows) {
    Decoder decoder;
    const auto pod = decoder.pod(fmt::format(R"({{"spec":{{{}}}}})", row.spec));
    ASSERT_FALSE(pod) << row.spec;
    EXPECT_EQ(pod.error().message, row.message);
  }
}

TEST(DecodePodConstraints, OfARepeatedKeyTheLastCounts) {
  const auto constraints =
      constraints_of(R"("volumes":[{"name":"a","persistentVolumeClaim":{"claimName":
    "x"}}],"volumes":[],"containers":[{"ports":[{"hostPort":1}],"ports":[{"hostPort":2}]}],
    "topologySpreadConstraints":[{"topologyKey":"a"}],"topologySpreadConstraints":null)");
  EXPECT_EQ(constraints.claims.size(), 0U);
  EXPECT_EQ(constraints.ports, (std::vector<core::HostPort>{{.protocol = "TCP", .port = 2}}));
}

}  // namespace
}  // namespace stowage::codec
