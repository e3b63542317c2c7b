#include "codec/extender.h"

#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/testing/json_check.h"
#include "codec/kubernetes.h"

namespace stowage::codec {
namespace {

using Names = std::vector<std::string>;
using Views = std::vector<std::string_view>;

std::string file(const std::string& name) {
  std::ifstream in("src/codec/testdata/extender/" + name);  // tests run in the root of the tree
  std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

// Without the blanks after commas and colons, the only whitespace in the captured answers.
std::string packed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ') out += c;
  }
  return out;
}

ExtenderArgs args_of(std::string_view body) {
  ExtenderDecoder decoder;
  auto args = decoder.args(body);
  EXPECT_TRUE(args) << args.error().message;
  return args.value_or(ExtenderArgs());
}

PreemptionArgs preemption_of(std::string_view body) {
  ExtenderDecoder decoder;
  auto args = decoder.preemption(body);
  EXPECT_TRUE(args) << args.error().message;
  return args.value_or(PreemptionArgs());
}

TEST(ExtenderArgs, ReadsCapturedNames) {
  for (const char* name : {"filter_names.json", "filter_names_1_34.json"}) {
    const ExtenderArgs args = args_of(file(name));
    ASSERT_TRUE(args.pod);
    EXPECT_EQ(args.pod->name, "p1");
    EXPECT_EQ(args.pod->ns, "t1");
    EXPECT_EQ(args.pod->containers.at(0).limits.at("example.com/gpu"), *base::Quantity::parse("2"));
    EXPECT_EQ(args.node_names, (Names{"n1", "n2", "n3"}));
    EXPECT_FALSE(args.nodes);
  }
}

TEST(ExtenderArgs, ReadsCapturedNodesAndLeavesThemAsTheyAre) {
  const std::string body = file("filter_full.json");
  const ExtenderArgs args = args_of(body);
  EXPECT_EQ(args.pod->name, "p2");
  EXPECT_FALSE(args.node_names);
  ASSERT_EQ(args.nodes->size(), 3U);
  Views nodes;
  for (const RawNode& node : *args.nodes) {
    EXPECT_EQ(Decoder().node(node.json)->name, node.name);
    EXPECT_GE(node.json.data(), body.data());
    EXPECT_LE(node.json.data() + node.json.size(), body.data() + body.size());
    nodes.push_back(node.json);
  }
  EXPECT_EQ(nodes.at(0).substr(0, 24), R"({"metadata":{"name":"n3")");
  // The nodes are returned byte for byte.
  const std::string answer = encode({.nodes = &nodes});
  const std::size_t begin = body.find(R"({"metadata":{},"items":)");
  const std::size_t end = body.find(R"(,"NodeNames")");
  EXPECT_EQ(answer, R"({"Nodes":)" + body.substr(begin, end - begin) +
                        R"(,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},)"
                        R"("Error":""})");
}

TEST(ExtenderArgs, ThePodIsTheOneThatTheDecoderOfPodsReads) {
  const std::string body = file("filter_full.json");
  const std::size_t begin = body.find(':') + 1;
  const std::string pod = body.substr(begin, body.find(R"(,"Nodes":)") - begin);
  EXPECT_EQ(args_of(body).pod, *Decoder().pod(pod));
}

TEST(ExtenderArgs, ReadsABodyInPlace) {
  std::string body = file("filter_full.json");
  const ExtenderArgs copied = args_of(body);
  std::string other = body;
  other.shrink_to_fit();
  ExtenderDecoder decoder;
  const auto args = decoder.args(other);
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(other, body);
  EXPECT_EQ(args->pod, copied.pod);
  ASSERT_EQ(args->nodes->size(), copied.nodes->size());
  for (std::size_t i = 0; i < args->nodes->size(); ++i) {
    EXPECT_EQ(args->nodes->at(i).json, copied.nodes->at(i).json);
    EXPECT_GE(args->nodes->at(i).json.data(), other.data());
  }
}

TEST(ExtenderArgs, TakesKeysInAnyCaseAndAnyOrder) {
  const struct {
    const char* body;
    const char* pod;
    Names names;
  } rows[] = {
      {R"({"pod":{"metadata":{"name":"p"}},"nodes":null,"nodenames":["a"]})", "p", {"a"}},
      {R"({"nodeNames":["a","b"],"POD":{"metadata":{"name":"p"}}})", "p", {"a", "b"}},
      {R"({"extra":[{}],"NODENAMES":[],"Pod":{"metadata":{"name":"p"}},"x":{"Pod":3}})", "p", {}},
      {R"({"Pod":{"metadata":{"name":"a"}},"pod":{"metadata":{"name":"b"}},
           "NodeNames":["x","y"],"nodenames":["z"]})",
       "b",
       {"z"}},
      {R"({"P\u006fd":{"metadata":{"name":"\u00e4"}},"NodeNames":["\"\\\u0000"]})",
       "\xC3\xA4",
       {std::string("\"\\\0", 3)}},
  };
  for (const auto& row : rows) {
    const ExtenderArgs args = args_of(row.body);
    ASSERT_TRUE(args.pod && args.node_names) << row.body;
    EXPECT_EQ(args.pod->name, row.pod);
    EXPECT_EQ(*args.node_names, row.names);
  }
  const ExtenderArgs nodes = args_of(
      R"({"nodes":{"Items":[ {"spec":{},"metadata":{"labels":{"name":"x"},"name":"n"}} ,
         {"metadata": {"name":"m"} } ]}})");
  ASSERT_EQ(nodes.nodes->size(), 2U);
  EXPECT_EQ(nodes.nodes->at(0).json,
            R"({"spec":{},"metadata":{"labels":{"name":"x"},"name":"n"}})");
  EXPECT_EQ(nodes.nodes->at(1).name, "m");
  EXPECT_EQ(nodes.nodes->at(1).json.substr(0, 12), R"({"metadata":)");
  EXPECT_EQ(nodes.nodes->at(1).json.back(), '}');
}

TEST(ExtenderArgs, NullAndMissingAreAbsent) {
  for (const char* body : {"{}", R"({"Pod":null,"Nodes":null,"NodeNames":null})", R"({"a":1})"}) {
    const ExtenderArgs args = args_of(body);
    EXPECT_FALSE(args.pod || args.nodes || args.node_names) << body;
  }
  EXPECT_TRUE(args_of(R"({"Nodes":{}})").nodes->empty());
  EXPECT_TRUE(args_of(R"({"Nodes":{"items":null}})").nodes->empty());
  EXPECT_TRUE(args_of(R"({"NodeNames":[]})").node_names->empty());
}

TEST(ExtenderArgs, NamesThePlaceOfWhatIsWrong) {
  const struct {
    const char* body;
    const char* message;
  } rows[] = {
      {"", "the text is empty"},
      {"[]", "expected an object"},
      {"null", "expected an object"},
      {"\"x\"", "expected an object"},
      {"{} {}", "unexpected text after the object"},
      {R"({"Pod":[]})", "Pod: expected an object"},
      {R"({"pod":{"spec":{"containers":7}}})", "pod.spec.containers: expected an array"},
      {R"({"NodeNames":{}})", "NodeNames: expected an array"},
      {R"({"NodeNames":["a",1]})", "NodeNames[1]: expected a string"},
      {R"({"NodeNames":["a",null]})", "NodeNames[1]: expected a string"},
      {R"({"NodeNames":["a",""]})", "NodeNames[1]: is empty"},
      {R"({"Nodes":[]})", "Nodes: expected an object"},
      {R"({"Nodes":{"items":{}}})", "Nodes.items: expected an array"},
      {R"({"Nodes":{"items":["n1"]}})", "Nodes.items[0]: expected an object"},
      {R"({"Nodes":{"items":[{}]}})", "Nodes.items[0]: the node has no metadata.name"},
      {R"({"Nodes":{"items":[{"metadata":{"name":{}}}]}})",
       "Nodes.items[0].metadata.name: expected a string"},
      {R"({"Nodes":{"items":[{"metadata":{"name":""}}]}})",
       "Nodes.items[0].metadata.name: is empty"},
      {R"({"Nodes":{},"NodeNames":[]})", "Nodes and NodeNames: only one may be given"},
      {"{\"NodeNames\":[\"\xFF\"]}", "the text is not UTF-8"},
      {"{\"NodeNames\":[\"\xED\xA0\x80\"]}", "the text is not UTF-8"},
      {R"({"NodeNames":["\ud800"]})", "NodeNames[0]: a string has a malformed escape"},
      {R"({"Pod":{"spec":{"priority":1e999999}}})", "Pod.spec.priority: expected a whole number"},
  };
  ExtenderDecoder decoder;
  for (const auto& row : rows) {
    const auto args = decoder.args(std::string_view(row.body));
    EXPECT_EQ(args ? "no error" : args.error().message, row.message) << row.body;
  }
}

TEST(ExtenderArgs, RefusesWhatIsTooMuch) {
  const auto error = [](std::string_view body) {
    const auto args = ExtenderDecoder().args(body);
    return args ? "no error" : args.error().message;
  };
  std::string names = R"({"NodeNames":["a")";
  for (std::size_t i = 1; i < kMaxExtenderNodes; ++i) names += R"(,"a")";
  EXPECT_EQ(error(names + "]}"), "no error");
  EXPECT_EQ(error(names + R"(,"a"]})"), "NodeNames: more than 100000 are given");
  std::string nodes = R"({"Nodes":{"items":[{"metadata":{"name":"a"}})";
  for (std::size_t i = 0; i < kMaxExtenderNodes; ++i) nodes += R"(,{"metadata":{"name":"a"}})";
  EXPECT_EQ(error(nodes + "]}}"), "Nodes.items: more than 100000 are given");
  EXPECT_EQ(error(std::string(kMaxExtenderBytes + 1, ' ')),
            "the text has 67108865 bytes; the limit is 67108864");
}

TEST(ExtenderArgs, DepthCostsNoStack) {
  constexpr std::size_t kDepth = 500'000;
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  const ExtenderArgs args = args_of(R"({"x":)" + deep + R"(,"Nodes":{"items":[{"x":)" + deep +
                                    R"(,"metadata":{"name":"n"}}]}})");
  EXPECT_EQ(args.nodes->at(0).name, "n");
  ExtenderDecoder decoder;
  EXPECT_FALSE(decoder.args(R"({"Pod":)" + deep + "}"));
  EXPECT_FALSE(decoder.args(R"({"NodeNames":)" + deep + "}"));
}

// Hundreds of each; the fuzzers cover the rest.
TEST(Extender, SurvivesTruncationsAndChangesOfOneByte) {
  ExtenderDecoder decoder;
  for (const char* name :
       {"filter_names.json", "filter_full.json", "bind.json", "preempt_full.json"}) {
    const std::string whole = file(name);
    const std::size_t step = whole.size() / 400 + 1;
    for (std::size_t length = 0; length < whole.size(); length += step) {
      const auto part = std::string_view(whole).substr(0, length);
      const auto args = decoder.args(part);
      const auto binding = decoder.binding(part);
      const auto preemption = decoder.preemption(part);
      ASSERT_FALSE(args || binding || preemption) << name << " " << length;
      ASSERT_FALSE(args.error().message.empty());
    }
    for (const char c : {'{', ']', '"', ',', '\\', '\0', '9', '\xFF'}) {
      for (std::size_t at = 0; at < whole.size(); at += 3 * step) {
        std::string changed = whole;
        changed[at] = c;
        static_cast<void>(decoder.args(changed));
        static_cast<void>(decoder.binding(changed));
        static_cast<void>(decoder.preemption(changed));
      }
    }
  }
}

TEST(ExtenderBinding, ReadsTheCapturedBodyAndTheOldForm) {
  ExtenderDecoder decoder;
  const auto args = decoder.binding(file("bind.json"));
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(*args, (BindingArgs{.pod_name = "p1",
                                .pod_namespace = "t1",
                                .pod_uid = "76ae1737-cb7c-4a27-80c0-068e0dadf674",
                                .node = "n3"}));
  const auto old =
      decoder.binding(R"({"podname":"p","podnamespace":"t","poduid":null,"node":"n","other":[]})");
  EXPECT_EQ(*old, (BindingArgs{.pod_name = "p", .pod_namespace = "t", .node = "n"}));
}

TEST(ExtenderBinding, RefusesWhatIsNotComplete) {
  const struct {
    const char* body;
    const char* message;
  } rows[] = {
      {"", "the text is empty"},
      {"{}", "PodName: missing or empty"},
      {R"({"PodName":"p"})", "PodNamespace: missing or empty"},
      {R"({"PodName":{}})", "PodName: expected a string"},
      {R"({"Node":12})", "Node: expected a string"},
  };
  ExtenderDecoder decoder;
  for (const auto& row : rows) {
    const auto args = decoder.binding(row.body);
    EXPECT_EQ(args ? "no error" : args.error().message, row.message) << row.body;
  }
}

TEST(ExtenderPreemption, ReadsTheCapturedBodyAndAnswersInTheShortForm) {
  const PreemptionArgs args = preemption_of(file("preempt_full.json"));
  EXPECT_TRUE(args.given);
  EXPECT_EQ(args.pod->name, "vip");
  EXPECT_EQ(args.pod->priority, 1000);
  ASSERT_EQ(args.victims.size(), 3U);
  const Victims& second = args.victims.at("n2");
  ASSERT_EQ(second.pods.size(), 2U);
  EXPECT_EQ(second.pods[1].uid, second.uids.at(1));
  EXPECT_EQ(second.pods[1].node, "n2");
  EXPECT_EQ(second.pdb_violations, 2);
  EXPECT_EQ(encode_preemption_result(args.victims), packed(file("preempt_answer.json")));
}

TEST(ExtenderPreemption, ReadsTheShortForm) {
  const PreemptionArgs args = preemption_of(R"({"Pod":null,"NodeNameToVictims":null,
    "nodenametometavictims":{"a":{"pods":[{"uid":"u1"},{"UID":"u2","x":1}],"numPDBViolations":3},
                             "b":{"Pods":[]},"c":null,"d":{}}})");
  EXPECT_TRUE(args.given);
  EXPECT_EQ(args.victims,
            (std::map<std::string, Victims>{
                {"a", {.uids = {"u1", "u2"}, .pdb_violations = 3}}, {"b", {}}, {"d", {}}}));
  EXPECT_FALSE(preemption_of(R"({"NodeNameToVictims":null})").given);
  EXPECT_TRUE(preemption_of(R"({"NodeNameToMetaVictims":{}})").given);
}

TEST(ExtenderPreemption, TheFullFormCountsWhereABodyHasBoth) {
  const PreemptionArgs args = preemption_of(R"({
    "NodeNameToVictims":{"a":{"Pods":[{"metadata":{"uid":"u1"}}]}},
    "NodeNameToMetaVictims":{"b":{"Pods":[{"UID":"u2"}]}}})");
  ASSERT_EQ(args.victims.size(), 1U);
  EXPECT_EQ(args.victims.at("a").uids, Names{"u1"});
}

TEST(ExtenderPreemption, NamesThePlaceOfWhatIsWrong) {
  const struct {
    const char* map;
    const char* message;
  } rows[] = {
      {"[]", "NodeNameToMetaVictims: expected an object"},
      {R"({"a":[]})", "NodeNameToMetaVictims.a: expected an object"},
      {R"({"":{}})", "NodeNameToMetaVictims: a node has an empty name"},
      {R"({"a":{"Pods":{}}})", "NodeNameToMetaVictims.a.Pods: expected an array"},
      {R"({"a":{"Pods":[{}]}})", "NodeNameToMetaVictims.a.Pods[0]: the pod has no UID"},
      {R"({"a":{"Pods":[{"UID":""}]}})", "NodeNameToMetaVictims.a.Pods[0].UID: is empty"},
      {R"({"a":{"Pods":["u"]}})", "NodeNameToMetaVictims.a.Pods[0]: expected an object"},
      {R"({"a":{"NumPDBViolations":-1}})",
       "NodeNameToMetaVictims.a.NumPDBViolations: -1 is negative"},
      {R"({"a":{"NumPDBViolations":99999999999999999999}})",
       "NodeNameToMetaVictims.a.NumPDBViolations: expected a whole number"},
  };
  ExtenderDecoder decoder;
  for (const auto& row : rows) {
    const auto args = decoder.preemption(fmt::format(R"({{"NodeNameToMetaVictims":{}}})", row.map));
    EXPECT_EQ(args ? "no error" : args.error().message, row.message) << row.map;
  }
  const auto full = decoder.preemption(R"({"NodeNameToVictims":{"a":{"Pods":[{}]}}})");
  EXPECT_EQ(full.error().message, "NodeNameToVictims.a.Pods[0]: the pod has no metadata.uid");
}

TEST(ExtenderPreemption, RefusesTooManyVictims) {
  std::string body = R"({"NodeNameToMetaVictims":{)";
  for (int node = 0; node < 2; ++node) {
    body += fmt::format(R"({}"n{}":{{"Pods":[{{"UID":"u"}})", node == 0 ? "" : ",", node);
    for (std::size_t i = 0; i < kMaxExtenderVictims / 2; ++i) body += R"(,{"UID":"u"})";
    body += "]}";
  }
  const auto args = ExtenderDecoder().preemption(body + "}}");
  EXPECT_EQ(args ? "no error" : args.error().message,
            "NodeNameToMetaVictims.n1.Pods: more than 100000 are given");
}

TEST(ExtenderAnswers, AreWrittenAsTheSchedulerReadsThem) {
  const Views names = {"n1", "a\"b"};
  EXPECT_EQ(encode({.node_names = &names,
                    .failed = {{"n2", "no room"}, {"n3", "a \"quoted\" word"}},
                    .unresolvable = {{"n4", "never here"}},
                    .error = ""}),
            R"({"Nodes":null,"NodeNames":["n1","a\"b"],"FailedNodes":{"n2":"no room",)"
            R"("n3":"a \"quoted\" word"},"FailedAndUnresolvableNodes":{"n4":"never here"},)"
            R"("Error":""})");
  const Views none;
  EXPECT_EQ(encode({.nodes = &none, .error = "boom\n"}),
            R"({"Nodes":{"metadata":{},"items":[]},"NodeNames":null,"FailedNodes":{},)"
            R"("FailedAndUnresolvableNodes":{},"Error":"boom\n"})");
  EXPECT_EQ(encode_priorities({{"n1", 0}, {"n2", 0}, {"n3", 10}}),
            packed(file("prioritize_answer.json")));
  EXPECT_EQ(encode_priorities({}), "[]");
  EXPECT_EQ(encode_priorities({{"\\", -3}}), R"([{"Host":"\\","Score":-3}])");
  EXPECT_EQ(encode_binding_result(""), packed(file("bind_answer.json")));
  EXPECT_EQ(encode_binding_result("\xFF\x01"), "{\"Error\":\"\xEF\xBF\xBD\\u0001\"}");
  EXPECT_EQ(encode_preemption_result({}), R"({"NodeNameToMetaVictims":{}})");
}

RC_GTEST_PROP(ExtenderAnswers, AreJsonWhateverTheNamesAre,
              (const std::vector<std::string>& names, const std::string& words)) {
  Views views(names.begin(), names.end());
  FilterResult result{.node_names = &views, .error = words};
  std::vector<HostScore> scores;
  std::map<std::string, Victims> victims;
  for (const std::string& name : names) {
    result.failed.emplace_back(name, words);
    scores.push_back({.host = name, .score = static_cast<std::int64_t>(name.size())});
    victims[name].uids.push_back(words);
  }
  RC_ASSERT(base::JsonCheck::valid(encode(result)));
  RC_ASSERT(base::JsonCheck::valid(encode_priorities(scores)));
  RC_ASSERT(base::JsonCheck::valid(encode_binding_result(words)));
  RC_ASSERT(base::JsonCheck::valid(encode_preemption_result(victims)));
}

RC_GTEST_PROP(ExtenderAnswers, OfAPreemptionCanBeReadBack, ()) {
  const auto text = rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~'));
  const auto name = rc::gen::suchThat(text, [](const std::string& made) { return !made.empty(); });
  std::map<std::string, Victims> victims;
  for (const std::string& node : *rc::gen::container<std::vector<std::string>>(name)) {
    victims[node] = {.uids = *rc::gen::container<std::vector<std::string>>(name),
                     .pdb_violations = *rc::gen::inRange<std::int64_t>(0, INT64_MAX)};
  }
  const auto read = ExtenderDecoder().preemption(encode_preemption_result(victims));
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->victims == victims);
}

TEST(ExtenderAnswers, ArgsAreWrittenAgainWithFewerNodes) {
  ExtenderDecoder decoder;
  const std::string body =
      R"({"nodes":null,"Pod":{"metadata":{"name":"p", "x":[1,{}]}} ,"NodeNames":["a","b\"c"]})";
  auto args = decoder.args(std::string_view(body));
  ASSERT_TRUE(args) << args.error().message;
  EXPECT_EQ(args->pod_json, R"({"metadata":{"name":"p", "x":[1,{}]}})");
  args->node_names->erase(args->node_names->begin());
  EXPECT_EQ(encode_args(*args),
            R"({"Pod":{"metadata":{"name":"p", "x":[1,{}]}},"Nodes":null,"NodeNames":["b\"c"]})");

  const std::string full =
      R"({"Nodes":{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"y":1}]}})";
  auto nodes = decoder.args(std::string_view(full));
  ASSERT_TRUE(nodes) << nodes.error().message;
  nodes->nodes->erase(nodes->nodes->begin());
  EXPECT_EQ(encode_args(*nodes), R"({"Pod":null,"Nodes":{"metadata":{},"items":[)"
                                 R"({"metadata":{"name":"b"},"y":1}]},"NodeNames":null})");
}

TEST(ExtenderAnswers, AreReadBack) {
  ExtenderDecoder decoder;
  const std::vector<std::string_view> names = {"a", "b"};
  const auto answer = decoder.filter_answer(encode({.node_names = &names,
                                                    .failed = {{"c", "full"}},
                                                    .unresolvable = {{"d", "no cards"}},
                                                    .error = "e"}));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->node_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(answer->nodes);
  EXPECT_EQ(answer->failed, (std::map<std::string, std::string>{{"c", "full"}}));
  EXPECT_EQ(answer->unresolvable, (std::map<std::string, std::string>{{"d", "no cards"}}));
  EXPECT_EQ(answer->error, "e");
  EXPECT_TRUE(decoder.filter_answer("{}"));
  EXPECT_FALSE(decoder.filter_answer("[]"));
  EXPECT_FALSE(decoder.filter_answer(R"({"FailedNodes":{"a":1}})"));

  const auto scores = decoder.priorities(encode_priorities({{"a", 7}, {"b", 0}}));
  ASSERT_TRUE(scores) << scores.error().message;
  EXPECT_EQ(*scores, (std::vector<NodeScore>{{"a", 7}, {"b", 0}}));
  EXPECT_TRUE(decoder.priorities("null").value().empty());
  for (const char* bad : {"", "{}", "[1]", R"([{"Host":""}])", R"([],"list":[])", "[]} {"}) {
    EXPECT_FALSE(decoder.priorities(bad)) << bad;
  }
}

}  // namespace
}  // namespace stowage::codec
