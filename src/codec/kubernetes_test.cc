#include "codec/kubernetes.h"

#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace stowage::codec {
namespace {

using core::Requirement;
using core::TaintEffect;
using core::Toleration;

std::string file(const std::string& name) {
  std::ifstream in("src/codec/testdata/" + name);  // tests run in the root of the source tree
  std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

dialect::PodObject pod_of(std::string_view json) {
  Decoder decoder;
  auto pod = decoder.pod(json);
  EXPECT_TRUE(pod) << pod.error().message;
  return pod.value_or(dialect::PodObject());
}

std::string pod_error(std::string_view json) {
  Decoder decoder;
  const auto pod = decoder.pod(json);
  return pod ? "no error" : pod.error().message;
}

base::Quantity quantity(const char* text) { return *base::Quantity::parse(text); }

TEST(DecodePod, ReadsACapturedPod) {
  const auto pod = pod_of(file("pod.json"));
  EXPECT_EQ(pod.name, "p2");
  EXPECT_EQ(pod.ns, "t1");
  EXPECT_EQ(pod.uid, "f8be12a3-feee-456c-bb34-e19f89dcb9a9");
  EXPECT_EQ(pod.resource_version, "208");
  EXPECT_EQ(pod.created, "2026-11-15T07:35:46Z");
  EXPECT_EQ(pod.scheduler, "default-scheduler");
  EXPECT_EQ(pod.phase, "Pending");
  EXPECT_EQ(pod.node, "");
  ASSERT_EQ(pod.containers.size(), 1U);
  EXPECT_EQ(pod.containers[0].name, "c");
  EXPECT_EQ(pod.containers[0].requests,
            (dialect::Quantities{{"cpu", quantity("1")}, {"example.com/gpu", quantity("2")}}));
  EXPECT_EQ(pod.containers[0].limits, (dialect::Quantities{{"example.com/gpu", quantity("2")}}));
  ASSERT_EQ(pod.rules.tolerations.size(), 2U);
  EXPECT_EQ(pod.rules.tolerations[0], (Toleration{.key = "node.kubernetes.io/not-ready",
                                                  .op = Toleration::Op::exists,
                                                  .effect = TaintEffect::no_execute}));
  EXPECT_TRUE(pod.unsupported.empty());
}

TEST(DecodePod, ReadsEveryFieldThatSchedulingLooksAt) {
  const auto pod = pod_of(file("pod_full.json"));
  EXPECT_EQ(pod.constraints.labels, (core::Labels{{"app", "train"}, {"job-name", "train"}}));
  EXPECT_EQ(pod.annotations.at("note"), "a \"quoted\" w\xC3\xB6rd\n");
  EXPECT_EQ(pod.scheduler, "stowage");
  EXPECT_EQ(pod.priority, 1000);
  EXPECT_TRUE(pod.has_priority);
  EXPECT_EQ(pod.owner_kinds, std::vector<std::string>{"Job"});
  EXPECT_TRUE(pod.never_preempts);
  EXPECT_EQ(pod.nominated, "n9");
  EXPECT_EQ(pod.gates, std::vector<std::string>{"example.com/quota"});
  EXPECT_EQ(pod.overhead.at("memory"), quantity("120Mi"));
  EXPECT_EQ(pod.unscheduled_reason, "Unschedulable");
  EXPECT_EQ(pod.unscheduled_message, "0/3 nodes are available");
  EXPECT_EQ(pod.unscheduled_since, "2026-11-15T08:03:23Z");
  EXPECT_FALSE(pod.deleting);
  ASSERT_EQ(pod.containers.size(), 3U);
  EXPECT_EQ(pod.containers[0].name, "fetch");
  EXPECT_TRUE(pod.containers[0].init);
  EXPECT_FALSE(pod.containers[0].sidecar);
  EXPECT_TRUE(pod.containers[1].sidecar);
  EXPECT_EQ(pod.containers[2].name, "main");
  EXPECT_FALSE(pod.containers[2].init);
  EXPECT_EQ(pod.containers[2].requests.at("hugepages-2Mi"), quantity("64Mi"));
  EXPECT_EQ(pod.containers[2].limits.at("nvidia.com/gpu"), quantity("2"));
  EXPECT_TRUE(pod.unsupported.empty()) << pod.unsupported.front();

  const core::NodeRules& rules = pod.rules;
  EXPECT_EQ(rules.selector, (core::Labels{{"pool", "gpu"}}));
  ASSERT_TRUE(rules.required);
  ASSERT_EQ(rules.required->size(), 2U);
  EXPECT_EQ(
      rules.required->at(0).labels,
      (std::vector<Requirement>{{.key = "zone", .op = Requirement::Op::in, .values = {"a", "b"}},
                                {.key = "cards", .op = Requirement::Op::gt, .values = {"4"}}}));
  EXPECT_EQ(rules.required->at(1).fields,
            (std::vector<Requirement>{
                {.key = "metadata.name", .op = Requirement::Op::in, .values = {"n7"}}}));
  ASSERT_EQ(rules.preferred.size(), 1U);
  EXPECT_EQ(rules.preferred[0].weight, 30);
  EXPECT_EQ(rules.preferred[0].term.labels[0].op, Requirement::Op::exists);
  EXPECT_EQ(
      rules.tolerations,
      (std::vector<Toleration>{{.key = "gpu", .value = "true", .effect = TaintEffect::no_schedule},
                               {.op = Toleration::Op::exists, .effect = TaintEffect::no_execute}}));
}

TEST(DecodePod, TakesFieldsInAnyOrderAndPassesOverNullsAndUnknowns) {
  const auto pod = pod_of(R"({"status":{"phase":"Running","conditions":null},"x":[[[{}]]],
    "spec":{"containers":[{"resources":null,"name":"c"}],"initContainers":null,"nodeName":"n1",
    "priority":null,"nodeSelector":{"a":null,"b":"c"},"affinity":{"nodeAffinity":null}},
    "metadata":{"name":"p","deletionTimestamp":"2026-11-15T07:35:46Z","labels":null}, "y":1e9})");
  EXPECT_EQ(pod.name, "p");
  EXPECT_EQ(pod.node, "n1");
  EXPECT_EQ(pod.phase, "Running");
  EXPECT_TRUE(pod.deleting);
  EXPECT_EQ(pod.containers.size(), 1U);
  EXPECT_EQ(pod.rules.selector, (core::Labels{{"b", "c"}}));
  EXPECT_FALSE(pod.rules.required);
}

TEST(DecodePod, TellsAPriorityOfZeroFromNone) {
  EXPECT_FALSE(pod_of(R"({"spec":{}})").has_priority);
  EXPECT_FALSE(pod_of(R"({"spec":{"priority":null}})").has_priority);
  const auto pod = pod_of(R"({"spec":{"priority":0}})");
  EXPECT_TRUE(pod.has_priority);
  EXPECT_EQ(pod.priority, 0);
}

TEST(DecodePod, ReadsTheKindsOfItsOwners) {
  const auto pod = pod_of(R"({"metadata":{"ownerReferences":[
    {"name":"a","kind":"ReplicaSet"},{"controller":true},{"kind":"StatefulSet"}]}})");
  EXPECT_EQ(pod.owner_kinds, (std::vector<std::string>{"ReplicaSet", "", "StatefulSet"}));
  EXPECT_EQ(pod_error(R"({"metadata":{"ownerReferences":[{"kind":7}]}})"),
            "metadata.ownerReferences[0].kind: expected a string");
}

TEST(DecodePod, KeepsWhenItWasFoundUnschedulableOnlyWhileItIs) {
  const auto scheduled = pod_of(R"({"status":{"conditions":[{"type":"PodScheduled",
    "status":"True","lastTransitionTime":"2026-11-15T08:03:23Z"}]}})");
  EXPECT_EQ(scheduled.unscheduled_since, "");
  const auto other = pod_of(R"({"status":{"conditions":[{"type":"Ready","status":"False",
    "lastTransitionTime":"2026-11-15T08:03:23Z"},{"lastTransitionTime":"2026-11-15T09:00:00Z",
    "status":"False","type":"PodScheduled"}]}})");
  EXPECT_EQ(other.unscheduled_since, "2026-11-15T09:00:00Z");
}

TEST(DecodePod, OfARepeatedKeyTheLastCounts) {
  const auto pod = pod_of(R"({"metadata":{"name":"a","name":"b"},
    "spec":{"containers":[{"name":"x"}],"containers":[{"name":"y"},{"name":"z"}],
            "nodeSelector":{"k":"1","k":"2"}}})");
  EXPECT_EQ(pod.name, "b");
  ASSERT_EQ(pod.containers.size(), 2U);
  EXPECT_EQ(pod.containers[0].name, "y");
  EXPECT_EQ(pod.rules.selector.at("k"), "2");
}

TEST(DecodePod, ReadsKeysThatAreWrittenWithEscapes) {
  const auto pod = pod_of(R"({"m\u0065tadata":{"nam\u0065":"\u00e4\ud83d\udea2"}})");
  EXPECT_EQ(pod.name, "\xC3\xA4\xF0\x9F\x9A\xA2");
}

TEST(DecodePod, QuantitiesMayBeNumbers) {
  const auto pod = pod_of(
      R"({"spec":{"containers":[{"resources":{"requests":{"cpu":1.5,"memory": 2e3 ,"x":-1}}}]}})");
  EXPECT_EQ(pod.containers[0].requests.at("cpu"), quantity("1500m"));
  EXPECT_EQ(pod.containers[0].requests.at("memory"), quantity("2000"));
  EXPECT_EQ(pod.containers[0].requests.at("x"), quantity("-1"));
}

TEST(DecodePod, ReadsWhatTheKubeletHasGiven) {
  const auto pod = pod_of(R"({"status":{"containerStatuses":[{"ready":true,"name":"c",
    "allocatedResources":{"cpu":"2","memory":"1Gi"},
    "resources":{"limits":{"cpu":"9"},"requests":{"cpu":"3"}}},{"name":"ghost"},
    {"name":"old","allocatedResources":{"cpu":"8"}}],
    "initContainerStatuses":[{"name":"side","resources":{"requests":{"cpu":"4"}}},
                             {"name":"init","resources":{"requests":{"cpu":"5"}}}]},
    "spec":{"nodeName":"n","initContainers":[{"name":"init"},
            {"name":"side","restartPolicy":"Always"}],
            "containers":[{"name":"b"},{"name":"c","resources":{"requests":{"cpu":"1"}}},
                          {"name":"old"}]}})");
  EXPECT_TRUE(pod.containers[0].given.empty()) << "a plain init container is not resized";
  EXPECT_EQ(pod.containers[1].given, (dialect::Quantities{{"cpu", quantity("4")}}));
  EXPECT_TRUE(pod.containers[2].given.empty());
  EXPECT_EQ(pod.containers[3].given,
            (dialect::Quantities{{"cpu", quantity("3")}, {"memory", quantity("1Gi")}}));
  EXPECT_FALSE(pod.containers[3].only_given);
  EXPECT_TRUE(pod.containers[4].given.empty()) << "without resources the kubelet says nothing";
}

TEST(DecodePod, AResizeThatIsInfeasibleLeavesWhatWasGiven) {
  const char* text = R"({{"status":{{"conditions":[
    {{"type":"PodResizePending","status":"True","reason":"{}"}}],
    "containerStatuses":[{{"name":"c","resources":{{"requests":{{"cpu":"3"}}}}}}]}},
    "spec":{{{}"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"9"}}}}}}]}}}})";
  const char* on_node = R"("nodeName":"n",)";
  EXPECT_TRUE(
      pod_of(fmt::format(fmt::runtime(text), "Infeasible", on_node)).containers[0].only_given);
  EXPECT_FALSE(
      pod_of(fmt::format(fmt::runtime(text), "Deferred", on_node)).containers[0].only_given);
  const auto unbound = pod_of(fmt::format(fmt::runtime(text), "Infeasible", ""));
  EXPECT_FALSE(unbound.containers[0].only_given);
  EXPECT_TRUE(unbound.containers[0].given.empty()) << "nobody can have given it anything";
}

TEST(DecodePod, ReadsRequestsOfThePodAsAWholeAndWhenItStarted) {
  const auto pod = pod_of(R"({"spec":{"resources":{"limits":{"cpu":"9"},"requests":{"cpu":"2",
    "hugepages-2Mi":"4Mi"}}},"status":{"startTime":"2026-11-15T07:35:46Z"}})");
  EXPECT_EQ(pod.pod_requests,
            (dialect::Quantities{{"cpu", quantity("2")}, {"hugepages-2Mi", quantity("4Mi")}}));
  EXPECT_EQ(pod.started, "2026-11-15T07:35:46Z");
}

TEST(DecodePod, NamesThePlaceOfWhatIsWrong) {
  const struct {
    const char* json;
    const char* message;
  } rows[] = {
      {R"({"spec":{"containers":[{},{},{"resources":{"limits":[]}}]}})",
       "spec.containers[2].resources.limits: expected an object"},
      {R"({"spec":{"containers":{}}})", "spec.containers: expected an array"},
      {R"({"spec":{"containers":[null]}})", "spec.containers[0]: expected an object"},
      {R"({"metadata":{"labels":{"a":1}}})", "metadata.labels.a: expected a string"},
      {R"({"metadata":[]})", "metadata: expected an object"},
      {R"({"spec":{"priority":"high"}})", "spec.priority: expected a whole number"},
      {R"({"spec":{"priority":1.5}})", "spec.priority: expected a whole number"},
      {R"({"spec":{"priority":99999999999999999999999}})",
       "spec.priority: expected a whole number"},
      {R"({"spec":{"priority":4294967296}})", "spec.priority: 4294967296 is out of range"},
      {R"({"spec":{"overhead":{"cpu":"two"}}})",
       "spec.overhead.cpu: \"two\" is not a quantity; write a number such as 2, 250m, 1.5Gi or "
       "1e3"},
      {R"({"spec":{"overhead":{"cpu":true}}})", "spec.overhead.cpu: expected a string"},
      {R"({"spec":{"nodeName":nope}})", "spec.nodeName: malformed JSON"},
      {R"({"spec":{"nodeName":"a\x"}})", "spec.nodeName: a string has a malformed escape"},
      {R"([])", "expected an object"},
      {R"("pod")", "expected an object"},
      {R"(12)", "expected an object"},
      {"", "the text is empty"},
      {" ", "the text is empty"},
      {"{\"a\":\"\xFF\"}", "the text is not UTF-8"},
      {R"({"a":"b)", "a string has no end"},
      {R"({} {})", "unexpected text after the object"},
      {R"({"a" 1})", "malformed JSON"},
      {R"({"a":1 "b":2})", "malformed JSON"},
      {R"({"a":1,})", "malformed JSON"},
      {R"({a:1})", "malformed JSON"},
  };
  for (const auto& row : rows) EXPECT_EQ(pod_error(row.json), row.message) << row.json;
}

TEST(DecodePod, ListsTheHardRulesThatAreNotSupported) {
  const struct {
    const char* spec;
    const char* words;  // empty: supported, or only a preference
  } rows[] = {
      {R"("resourceClaims":[{"name":"gpu"}])", "resource claims"},
      {R"("resourceClaims":[])", ""},
      {R"("containers":[{"resources":{"claims":[{"name":"gpu"}]}}])", "resource claims"},
      {R"("resources":{"requests":{"cpu":"1"}})", ""},
      {R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
         {"labelSelector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}}]}})",
       "label selector operator \"Gt\""},
      {R"("affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
         {"namespaceSelector":{"matchExpressions":[{"key":"a"}]}}]}})",
       "label selector operator \"\""},
      {R"("affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,
         "podAffinityTerm":{"labelSelector":{"matchExpressions":[{"operator":"Near"}]}}}]}})",
       ""},
      {R"("topologySpreadConstraints":[{"labelSelector":{"matchExpressions":[{"operator":"Near"}]},
         "topologyKey":"zone"}])",
       "label selector operator \"Near\""},
      {R"("topologySpreadConstraints":[{"labelSelector":{"matchExpressions":[{"operator":"Near"}]},
         "whenUnsatisfiable":"ScheduleAnyway"}])",
       ""},
      {R"("schedulingGroup":{"podGroupName":"g"})", "a scheduling group"},
      {R"("workloadRef":{"name":"w"})", "a workload reference"},
      {R"("tolerations":[{"key":"a","operator":"Gt","value":"3"}])", "toleration operator \"Gt\""},
      {R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
         {"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Near"}]}]}}})",
       "node affinity operator \"Near\""},
      {R"("affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":
         [{"weight":1,"preference":{"matchExpressions":[{"key":"a","operator":"Near"}]}}]}})",
       ""},
      {R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
         {"nodeSelectorTerms":[{"matchFields":[{"key":"spec.x","operator":"In"}]}]}}})",
       "node affinity to the field \"spec.x\""},
  };
  for (const auto& row : rows) {
    const auto pod = pod_of(fmt::format(R"({{"spec":{{{}}}}})", row.spec));
    const std::string words = pod.unsupported.empty() ? "" : pod.unsupported[0];
    EXPECT_EQ(words, row.words) << row.spec;
    EXPECT_LE(pod.unsupported.size(), 1U);
  }
}

TEST(DecodePod, SurvivesEveryTruncation) {
  const std::string text = file("pod_full.json");
  const std::string whole = text.substr(0, text.find_last_not_of('\n') + 1);
  Decoder decoder;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(decoder.pod(std::string_view(whole).substr(0, length))) << length;
  }
  EXPECT_TRUE(decoder.pod(whole));
}

TEST(DecodePod, SurvivesChangesOfOneByte) {
  const std::string text = file("pod_full.json");
  Decoder decoder;
  for (const char c : {'{', '}', '[', ']', '"', ',', ':', '\\', '\0', '9', 'n', '\xFF'}) {
    for (std::size_t at = 0; at < text.size(); at += 11) {  // the fuzzer covers the rest
      std::string changed = text;
      changed[at] = c;
      static_cast<void>(decoder.pod(changed));
    }
  }
  EXPECT_TRUE(decoder.pod(text));
}

TEST(DecodePod, DepthCostsNoStack) {
  constexpr std::size_t kDepth = 500'000;
  const std::string open(kDepth, '[');
  const std::string close(kDepth, ']');
  EXPECT_EQ(pod_of(R"({"x":)" + open + close + R"(,"metadata":{"name":"p"}})").name, "p");
  EXPECT_NE(pod_error(R"({"x":)" + open + "}"), "no error");
  EXPECT_NE(pod_error(R"({"spec":{"containers":)" + open + close + "}}"), "no error");
}

TEST(DecodePod, RefusesWhatIsTooLarge) {
  const std::string large = R"({"x":")" + std::string(17U << 20U, 'a') + R"("})";
  EXPECT_EQ(pod_error(large), "the text has 17825800 bytes; the limit is 16777216");
}

TEST(DecodeNode, ReadsACapturedNode) {
  Decoder decoder;
  const auto node = decoder.node(file("node.json"));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->name, "n3");
  EXPECT_EQ(node->labels, (core::Labels{{"kubernetes.io/hostname", "n3"}}));
  EXPECT_EQ(node->allocatable.at("memory"), quantity("256Gi"));
  EXPECT_EQ(node->capacity.at("example.com/gpu"), quantity("8"));
  EXPECT_FALSE(node->unschedulable);
}

TEST(DecodeNode, ReadsTaintsAndTakesAnUnknownEffectForNoSchedule) {
  Decoder decoder;
  const auto node = decoder.node(R"({"spec":{"unschedulable":true,"taints":[
    {"key":"a","value":"b","effect":"NoExecute","timeAdded":"x"},
    {"key":"c","effect":"PreferNoSchedule"},{"key":"d","effect":"Sometimes"}]}})");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_TRUE(node->unschedulable);
  EXPECT_EQ(node->taints,
            (std::vector<core::Taint>{{.key = "a", .value = "b", .effect = TaintEffect::no_execute},
                                      {.key = "c", .effect = TaintEffect::prefer_no_schedule},
                                      {.key = "d", .effect = TaintEffect::no_schedule}}));
}

TEST(DecodeList, GivesTheItemsAsTheyStandInTheText) {
  const std::string text =
      R"({"kind":"PodList","metadata":{"resourceVersion":"7","continue":"abc"},"items":[ {"a":1} ,
         {"b":{"c":[]}}, {} ]})";
  Decoder decoder;
  const auto page = decoder.list(text);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->resource_version, "7");
  EXPECT_EQ(page->continue_token, "abc");
  EXPECT_EQ(page->items, (std::vector<std::string_view>{R"({"a":1})", R"({"b":{"c":[]}})", "{}"}));
  for (const auto item : page->items) {
    EXPECT_GE(item.data(), text.data());
    EXPECT_LE(item.data() + item.size(), text.data() + text.size());
  }
  EXPECT_TRUE(decoder.list(R"({"items":null})"));
  EXPECT_EQ(decoder.list(R"({"items":[{},3]})").error().message, "items[1]: expected an object");
  EXPECT_FALSE(decoder.list(R"({"items":[{},{})"));
  EXPECT_FALSE(decoder.list(R"({"items":[{"a":1 ]})")) << "another bracket ends no object";
}

TEST(DecodeWatchEvent, ReadsACapturedStream) {
  const std::string text = file("watch_nodes.jsonl");
  Decoder decoder;
  std::vector<std::string> names;
  std::string_view rest = text;
  WatchEvent last;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    const auto event = decoder.watch_event(line);
    ASSERT_TRUE(event) << event.error().message;
    last = *event;
    if (event->type != WatchEvent::Type::added) continue;
    const auto node = decoder.node(event->object);
    ASSERT_TRUE(node) << node.error().message;
    names.push_back(node->name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"n1", "n2", "n3"}));
  EXPECT_EQ(last.type, WatchEvent::Type::bookmark);
  EXPECT_EQ(last.resource_version, "202");
  EXPECT_TRUE(last.initial_events_end);
}

TEST(DecodeWatchEvent, KnowsItsTypesAndRefusesOthers) {
  Decoder decoder;
  EXPECT_EQ(decoder.watch_event(R"({"object":{"a":1},"type":"MODIFIED"})")->object, R"({"a":1})");
  EXPECT_EQ(decoder.watch_event(R"({"object":{},"type":"DELETED"})")->type,
            WatchEvent::Type::deleted);
  const auto error = decoder.watch_event(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->type, WatchEvent::Type::error);
  EXPECT_EQ(decoder.status(error->object)->code, 410);
  EXPECT_EQ(decoder.watch_event(R"({"object":{},"type":"GONE"})").error().message,
            "type: \"GONE\" is not a type of watch event");
  EXPECT_FALSE(decoder.watch_event(R"({"object":{}})"));
  EXPECT_FALSE(decoder.watch_event(R"({"type":"ADDED"})"));
  EXPECT_FALSE(decoder.watch_event(R"({"type":"ADDED","object":[]})"));
  EXPECT_FALSE(decoder.watch_event(R"({"type":"ADDED","object":{})"));
  EXPECT_FALSE(decoder.watch_event(std::string_view("{\"type\":\"ERROR\",\"object\":{\0\r}", 29)));
}

TEST(DecodeStatus, ReadsDetails) {
  Decoder decoder;
  const auto status = decoder.status(R"({"kind":"Status","apiVersion":"v1",
    "metadata":{"continue":"tok"},"status":"Failure","message":"Too large resource version: 9",
    "reason":"Timeout","details":{"kind":"pods","name":"p","causes":[{"reason":
    "ResourceVersionTooLarge","message":"Too large resource version","field":"f"}],
    "retryAfterSeconds":1},"code":504})");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(*status, (StatusObject{.code = 504,
                                   .status = "Failure",
                                   .reason = "Timeout",
                                   .message = "Too large resource version: 9",
                                   .retry_after_seconds = 1,
                                   .kind = "pods",
                                   .name = "p",
                                   .causes = {{.reason = "ResourceVersionTooLarge",
                                               .message = "Too large resource version",
                                               .field = "f"}},
                                   .own_kind = "Status",
                                   .continue_token = "tok"}));
  const auto made = decoder.status(
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})");
  EXPECT_EQ(made->code, 201);
  EXPECT_EQ(decoder.status("404 page not found\n").error().message, "expected an object");
}

}  // namespace
}  // namespace stowage::codec
