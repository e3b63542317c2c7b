#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/testing/json_check.h"
#include "dialect/dialect.h"
#include "dialect/testing.h"

namespace stowage::dialect {
namespace {

using core::Assignment;
using testing::container;
using testing::pod;

core::NodeSpec two_cards(std::int32_t memory_mib = 16384) {
  return {.name = "n1",
          .cards = {{.id = "GPU-a", .index = 0, .memory_mib = memory_mib},
                    {.id = "GPU-b", .index = 1, .memory_mib = memory_mib}}};
}

core::PodSpec spec_of(const PodObject& object) {
  auto spec = to_spec(object, {});
  EXPECT_TRUE(spec) << spec.error().message;
  return spec.value_or(core::PodSpec());
}

Answer full_answer(const PodObject& object, const core::NodeSpec& node, const Assignment& cards) {
  const auto spec = spec_of(object);
  return answer(
      {.object = object, .pod = spec, .node = node, .cards = cards, .unix_nanos = 1700000000123});
}

Annotations answer_of(const PodObject& object, const core::NodeSpec& node,
                      const Assignment& cards) {
  return full_answer(object, node, cards).annotations;
}

// The pod after the binding.
PodObject bound(PodObject object, const Annotations& annotations, const std::string& node = "n1") {
  object.node = node;
  for (const auto& [key, value] : annotations) object.annotations[key] = value;
  return object;
}

TEST(Answer, NamesTheCardsOfEachContainer) {
  const auto object = pod({container("side", {}), container("main", {{"nvidia.com/gpu", "2"}})});
  const Assignment cards{{{},
                          {{.card = 0, .milli = 1000, .memory_mib = 16384},
                           {.card = 1, .milli = 1000, .memory_mib = 16384}}}};
  EXPECT_EQ(
      answer_of(object, two_cards(), cards),
      (Annotations{{"stowage.dev/gpus",
                    R"({"version":1,"node":"n1","decided":"1700000000123","containers":{"main":[)"
                    R"({"id":"GPU-a","index":0,"milli":1000,"memoryMiB":16384},)"
                    R"({"id":"GPU-b","index":1,"milli":1000,"memoryMiB":16384}]}})"}}));
}

TEST(Answer, OfAPodWithoutCardsIsEmpty) {
  const auto object = pod({container("main", {{"cpu", "1"}})});
  EXPECT_TRUE(answer_of(object, two_cards(), {{{}}}).empty());
}

TEST(Answer, OfAPodThatWasPlacedByNumberIsEmpty) {
  const auto object = pod({container("main", {{"nvidia.com/gpu", "2"}})});
  const auto written = full_answer(object, two_cards(), {{{}}});
  EXPECT_TRUE(written.annotations.empty());
  EXPECT_TRUE(written.labels.empty());
}

TEST(Answer, HasTheLabelsThatTheDialectsAgentsLookFor) {
  const struct {
    const char* name;
    testing::Amounts amounts;
    Annotations labels;
  } rows[] = {
      {"our own has none", {{"stowage.dev/gpu", "1"}}, {}},
      {"plain cards have none", {{"nvidia.com/gpu", "1"}}, {}},
      {"vcuda has none", {{"tencent.com/vcuda-core", "100"}}, {}},
      {"its fork tells phase and time",
       {{"nvidia.com/vcuda-core", "100"}},
       {{"tydic.io/bind-time", "1700000000123"}, {"tydic.io/bind-phase", "allocating"}}},
      {"elastic is assumed",
       {{"elasticgpu.io/gpu-core", "100"}},
       {{"elasticgpu.io/assumed", "true"}}},
      {"under its other spelling too",
       {{"elasticgpu.com/gpu-core", "100"}},
       {{"elasticgpu.io/assumed", "true"}}},
      {"nano is assumed", {{"nano-gpu/gpu-percent", "100"}}, {{"nano-gpu/assume", "true"}}},
      {"vgpu tells phase and node",
       {{"nvidia.com/vgpu-number", "1"}},
       {{"nvidia.com/assigned-phase", "allocating"}, {"nvidia.com/metrics-node", "n1"}}},
  };
  const Assignment cards{{{{.card = 0, .milli = 1000, .memory_mib = 16384}}}};
  for (const auto& row : rows) {
    const auto object = pod({container("main", row.amounts)});
    EXPECT_EQ(full_answer(object, two_cards(), cards).labels, row.labels) << row.name;
  }
}

TEST(Answer, LeavesOutALabelThatIsTooLong) {
  auto node = two_cards();
  node.name = std::string(64, 'n');
  const auto object = pod({container("main", {{"nvidia.com/vgpu-number", "1"}})});
  const Assignment cards{{{{.card = 0, .milli = 1000, .memory_mib = 16384}}}};
  EXPECT_EQ(full_answer(object, node, cards).labels,
            (Annotations{{"nvidia.com/assigned-phase", "allocating"}}));
}

// As in nano-gpu: the result is not checked against the capacity of the cards.
TEST(Answer, OfNanoIsByContainerNameAndReadBack) {
  const auto node = two_cards(0);
  const struct {
    const char* name;
    const char* percent[2];
    Assignment cards;
    Annotations written;
  } rows[] = {
      {"two cards",
       {"100", "100"},
       {{{{.card = 0, .milli = 1000}}, {{.card = 1, .milli = 1000}}}},
       {{"nano-gpu/container-a", "0"}, {"nano-gpu/container-b", "1"}}},
      {"a half and a whole of one card",
       {"50", "100"},
       {{{{.card = 0, .milli = 500}}, {{.card = 0, .milli = 1000}}}},
       {{"nano-gpu/container-a", "0"}, {"nano-gpu/container-b", "0"}}},
      {"one card twice",
       {"100", "100"},
       {{{{.card = 0, .milli = 1000}}, {{.card = 0, .milli = 1000}}}},
       {{"nano-gpu/container-a", "0"}, {"nano-gpu/container-b", "0"}}},
      {"one container alone",
       {"0", "40"},
       {{{}, {{.card = 1, .milli = 400}}}},
       {{"nano-gpu/container-b", "1"}}},
  };
  for (const auto& row : rows) {
    const auto object = pod({container("a", {{"nano-gpu/gpu-percent", row.percent[0]}}),
                             container("b", {{"nano-gpu/gpu-percent", row.percent[1]}})});
    auto written = answer_of(object, node, row.cards);
    EXPECT_EQ(written.erase("stowage.dev/gpus"), 1U);
    const auto back = read_answer(bound(object, written), spec_of(object), &node);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, row.cards) << row.name;
    EXPECT_EQ(written.erase("nano-gpu/assume"), 1U);
    EXPECT_EQ(written, row.written) << row.name;
  }
}

// As in gpu-admission.
TEST(Answer, OfVcudaIsWhatItsAgentReads) {
  auto init = container("init", {});
  init.init = true;
  const auto share = [](const char* name, const char* core, const char* memory) {
    return container(name,
                     {{"tencent.com/vcuda-core", core}, {"tencent.com/vcuda-memory", memory}});
  };
  const auto object =
      pod({init, share("a", "100", "3"), container("b", {}), share("c", "80", "3")});
  auto written = answer_of(object, two_cards(1024),
                           {{{},
                             {{.card = 0, .milli = 1000, .memory_mib = 1024}},
                             {},
                             {{.card = 1, .milli = 800, .memory_mib = 768}}}});
  EXPECT_EQ(written.erase("stowage.dev/gpus"), 1U);
  EXPECT_EQ(written, (Annotations{{"tencent.com/predicate-gpu-idx-0", "0"},
                                  {"tencent.com/predicate-gpu-idx-2", "1"},
                                  {"tencent.com/predicate-node", "n1"},
                                  {"tencent.com/predicate-time", "1700000000123"},
                                  {"tencent.com/gpu-assigned", "false"}}));
  const auto both = pod({share("a", "200", "10")});
  const auto whole = answer_of(both, two_cards(1024),
                               {{{{.card = 0, .milli = 1000, .memory_mib = 1024},
                                  {.card = 1, .milli = 1000, .memory_mib = 1024}}}});
  EXPECT_EQ(whole.at("tencent.com/predicate-gpu-idx-0"), "0,1");
}

TEST(Answer, OfElasticIsByContainerName) {
  const std::string long_name(60, 'x');
  const auto object =
      pod({container("main", {{"elasticgpu.io/gpu-core", "200"}}), container("side", {}),
           container(long_name.c_str(), {{"elasticgpu.io/gpu-core", "10"}})});
  auto written = answer_of(object, two_cards(),
                           {{{{.card = 0, .milli = 1000, .memory_mib = 16384},
                              {.card = 1, .milli = 1000, .memory_mib = 16384}},
                             {},
                             {{.card = 0, .milli = 100}}}});
  written.erase("stowage.dev/gpus");
  EXPECT_EQ(written, (Annotations{{"elasticgpu.io/assumed", "true"},
                                  {"elasticgpu.io/container-main", "0,1"}}));
}

TEST(Answer, OfAlnairNamesTheCardForEveryContainerThatUsesIt) {
  const auto object = pod({container("a", {{"alnair/vgpu-memory", "8"}}), container("x", {}),
                           container("b", {{"alnair/vgpu-memory", "4"}})});
  const Assignment cards{{{{.card = 1, .memory_mib = 12288}}, {}, {}}};
  const auto written = answer_of(object, two_cards(), cards);
  EXPECT_EQ(written.at("ai.centaurus.io/scheduler-timestamp"), "1700000000123");
  EXPECT_EQ(written.at("stowage.dev/gpus"),
            R"({"version":1,"node":"n1","decided":"1700000000123","containers":{)"
            R"("a":[{"id":"GPU-b","index":1,"milli":0,"memoryMiB":12288}],)"
            R"("b":[{"id":"GPU-b","index":1,"milli":0,"memoryMiB":0}]}})");
  const auto node = two_cards();
  const auto back = read_answer(bound(object, written), spec_of(object), &node);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, cards);
}

class ReadAnswer : public ::testing::Test {
 protected:
  [[nodiscard]] Result<std::optional<Assignment>> read(const Annotations& annotations) const {
    return read_answer(bound(object_, annotations), spec_of(object_), &node_);
  }
  [[nodiscard]] std::string error(const std::string& text) const {
    const auto cards = read({{"stowage.dev/gpus", text}});
    return cards ? "no error" : cards.error().message;
  }

  core::NodeSpec node_ = two_cards();
  PodObject object_ =
      pod({container("main", {{"stowage.dev/gpu-core", "50"}}), container("side", {})});
};

TEST_F(ReadAnswer, FindsCardsById) {
  const auto cards = read({{"stowage.dev/gpus",
                            R"({"version":1,"node":"n1","containers":{"main":[
      {"id":"GPU-b","index":0,"milli":500,"memoryMiB":0}]}})"}});
  ASSERT_TRUE(cards) << cards.error().message;
  EXPECT_EQ(*cards, (Assignment{{{{.card = 1, .milli = 500}}, {}}}));
}

// Version 0.1.0 charged no memory; later versions do, unless the profile says otherwise. The
// original charge of a pod counts, whatever would be charged now.
TEST_F(ReadAnswer, AShareOfComputeKeepsTheMemoryThatItWasCharged) {
  const std::int32_t half = node_.cards[1].memory_mib / 2;
  const struct {
    MemoryWithCore rule;
    std::int32_t written;
    std::int32_t charged;  // -1: not accepted
  } rows[] = {
      {MemoryWithCore::proportional, 0, 0},
      {MemoryWithCore::proportional, half, half},
      {MemoryWithCore::proportional, half - 1,
       half},  // the card had less memory when the pod was bound
      {MemoryWithCore::none, 0, 0},
      {MemoryWithCore::none, half, half},
      {MemoryWithCore::none, half - 1, -1},
  };
  for (const auto& row : rows) {
    const auto spec = to_spec(object_, {.memory_with_core = row.rule});
    const std::string text = R"({"version":1,"node":"n1","containers":{"main":[
      {"id":"GPU-b","index":1,"milli":500,"memoryMiB":)" +
                             std::to_string(row.written) + "}]}}";
    const auto cards = read_answer(bound(object_, {{"stowage.dev/gpus", text}}), *spec, &node_);
    ASSERT_EQ(cards.has_value(), row.charged >= 0) << row.written;
    if (!cards) continue;
    EXPECT_EQ(**cards, (Assignment{{{{.card = 1, .milli = 500, .memory_mib = row.charged}}, {}}}));
  }
}

TEST_F(ReadAnswer, OfANewerControllerIsReadIfItSaysThatItCanBe) {
  const auto cards = read({{"stowage.dev/gpus",
                            R"({"version":3,"compatible":1,"node":"n1","new":{"x":[1]},
      "containers":{"main":[{"id":"GPU-b","index":1,"milli":500,"memoryMiB":0,"newer":true}]}})"}});
  ASSERT_TRUE(cards) << cards.error().message;
  EXPECT_EQ(*cards, (Assignment{{{{.card = 1, .milli = 500}}, {}}}));
}

TEST_F(ReadAnswer, FindsCardsByIdAlone) {
  const char* synthetic = R"({"version":1,"node":"n1","containers":{"main":[
      {"id":"n1/1","index":1,"milli":500,"memoryMiB":0}]}})";
  EXPECT_EQ(
      error(synthetic),
      "pod ml/train: stowage.dev/gpus: container \"main\": node n1 has no card n1/1 (index 1)")
      << "its cards were only counted then: their indexes may be others now";
  const char* real = R"({"version":1,"node":"n1","containers":{"main":[
      {"id":"GPU-z","index":1,"milli":500,"memoryMiB":0}]}})";
  EXPECT_EQ(error(real),
            "pod ml/train: stowage.dev/gpus: container \"main\": node n1 has no card "
            "GPU-z (index 1)");
  // While the node only counts its cards, it is unknown which of them that is.
  node_.cards[1].id = "n1/1";
  EXPECT_EQ(error(real),
            "pod ml/train: stowage.dev/gpus: container \"main\": node n1 has no card "
            "GPU-z (index 1)");
  EXPECT_EQ(read({{"stowage.dev/gpus", synthetic}})->value().containers[0][0].card, 1U);
}

TEST_F(ReadAnswer, IsUnsetWhereNothingIsSaid) {
  EXPECT_EQ(*read({}), std::optional<Assignment>());
  const Annotations good{{"stowage.dev/gpus", R"({"version":1,"node":"n1","containers":{"main":[
      {"id":"GPU-b","index":1,"milli":500,"memoryMiB":0}]}})"}};
  const auto spec = spec_of(object_);
  EXPECT_EQ(*read_answer(bound(object_, good), spec, nullptr), std::optional<Assignment>());
  // A pod that is not bound has no cards, whatever its annotations say.
  EXPECT_EQ(*read_answer(bound(object_, good, ""), spec, &node_), std::optional<Assignment>());
  EXPECT_TRUE(read_answer(bound(object_, good), spec, &node_)->has_value());
}

TEST_F(ReadAnswer, RefusesWhatCanNotBeTrue) {
  const auto with = [](const std::string& cards) {
    return R"({"version":1,"node":"n1","containers":{"main":)" + cards + "}}";
  };
  const std::string start = "pod ml/train: stowage.dev/gpus: ";
  const struct {
    std::string text;
    const char* words;
  } rows[] = {
      {"", "not JSON: character 1 is unexpected"},
      {std::string(300000, ' '), "300000 bytes are too many; the limit is 262144"},
      {std::string(40, '['), "not JSON: character 34 is unexpected"},
      {R"({"version":7})", "version 7 is not supported; write version 1"},
      {R"({"version":7,"compatible":2})", "version 7 is not supported; write version 1"},
      {R"({"version":7,"compatible":"1"})", "version 7 is not supported; write version 1"},
      {R"({"version":0,"compatible":1})", "version 0 is not supported; write version 1"},
      {R"({"version":1,"node":"n2","containers":{}})",
       "it names node \"n2\", but the pod is on n1"},
      {R"({"version":1,"node":"n1"})", "\"containers\" is missing or not an object"},
      {R"({"version":1,"node":"n1","containers":{}})", "container \"main\" is missing"},
      {with("{}"), "container \"main\": expected an array of cards"},
      {with("[]"), "container \"main\": 0 cards, but the container asks for 1"},
      {with("[3]"), "container \"main\": a card is not an object"},
      {with(R"([{"id":"GPU-a"}])"), "container \"main\": \"milli\" is missing"},
      {with(R"([{"id":7}])"), "container \"main\": \"id\" is not a string"},
      {with(R"([{"index":1,"milli":500,"memoryMiB":0}])"),
       "container \"main\": a card has no \"id\""},
      {with(R"([{"id":"GPU-z","index":9}])"),
       "container \"main\": node n1 has no card GPU-z (index 9)"},
      {with(R"([{"id":"GPU-a","milli":1001,"memoryMiB":0}])"),
       "container \"main\": \"milli\" is not a whole number from 0 to 1000"},
      {with(R"([{"id":"GPU-a","milli":-1,"memoryMiB":0}])"),
       "container \"main\": \"milli\" is not a whole number from 0 to 1000"},
      {with(R"([{"id":"GPU-a","milli":1,"memoryMiB":0}])"),
       "container \"main\": 1 milli and 0 MiB of a card are not what the container asks for"},
      {with(R"([{"id":"GPU-a","milli":500,"memoryMiB":99999}])"),
       "container \"main\": 500 milli and 99999 MiB of a card are not what the container asks for"},
      {with(R"([{"id":"GPU-a","milli":500,"memoryMiB":0},
                {"id":"GPU-a","milli":500,"memoryMiB":0}])"),
       "container \"main\": card GPU-a appears twice"},
      {with(R"([{"id":"GPU-a","milli":500,"memoryMiB":0},
                {"id":"GPU-b","milli":500,"memoryMiB":0}])"),
       "container \"main\": 2 cards, but the container asks for 1"},
      {with(R"([{"id":"GPU-a","milli":500,"memoryMiB":0}],"ghost":[])"),
       "it names a container that the pod does not have"},
      {with(R"([{"id":"GPU-a","milli":500,"memoryMiB":0}],
              "side":[{"id":"GPU-b","milli":500,"memoryMiB":0}])"),
       "container \"side\": the container does not ask for cards"},
  };
  for (const auto& row : rows) EXPECT_EQ(error(row.text), start + row.words) << row.text;
}

// As in gpu-admission.
TEST(ReadAnswerOfVcuda, FollowsTheIndexesOfTheAnnotation) {
  const auto object =
      pod({container("a", {{"tencent.com/vcuda-core", "50"}, {"tencent.com/vcuda-memory", "2"}})});
  const auto spec = spec_of(object);
  const auto node = two_cards(2048);
  const auto read_with = [&](const Annotations& annotations) {
    return read_answer(bound(object, annotations), spec, &node);
  };
  const auto cards =
      read_with({{"tencent.com/predicate-gpu-idx-0", "1"}, {"tencent.com/predicate-node", "n1"}});
  EXPECT_EQ(*cards, (Assignment{{{{.card = 1, .milli = 500, .memory_mib = 512}}}}));
  EXPECT_EQ(*read_with({}), std::optional<Assignment>());
  for (const char* list : {"7", "", "0,1", "x", "-1", "0,0", "99999999999"}) {
    EXPECT_FALSE(read_with(
        {{"tencent.com/predicate-gpu-idx-0", list}, {"tencent.com/predicate-node", "n1"}}))
        << list;
  }
  EXPECT_EQ(
      read_with({{"tencent.com/predicate-gpu-idx-0", "0"}, {"tencent.com/predicate-node", "n2"}})
          .error()
          .message,
      "pod ml/train: annotations of the node's agent: tencent.com/predicate-node is n2, but "
      "the pod is on n1");
}

TEST(ReadAnswerOfVcuda, OfAWholeCardChargesAllOfIt) {
  const auto object = pod({container("a", {{"tencent.com/vcuda-core", "150"}})});
  const auto spec = to_spec(object, {.floor_whole_cards = true});
  const auto node = two_cards(2048);
  const auto cards = read_answer(bound(object, {{"tencent.com/predicate-gpu-idx-0", "0"},
                                                {"tencent.com/predicate-node", "n1"}}),
                                 *spec, &node);
  EXPECT_EQ(*cards, (Assignment{{{{.card = 0, .milli = 1000, .memory_mib = 2048}}}}));
}

TEST(ReadAnswerOfElastic, FollowsTheIndexesByContainerName) {
  const auto object =
      pod({container("side", {}), container("main", {{"elasticgpu.io/gpu-core", "200"}})});
  const auto spec = spec_of(object);
  const auto node = two_cards(12);
  const auto cards = read_answer(
      bound(object, {{"elasticgpu.io/assumed", "true"}, {"elasticgpu.io/container-main", "0,1"}}),
      spec, &node);
  EXPECT_EQ(*cards, (Assignment{{{},
                                 {{.card = 0, .milli = 1000, .memory_mib = 12},
                                  {.card = 1, .milli = 1000, .memory_mib = 12}}}}));
  EXPECT_FALSE(read_answer(bound(object, {{"elasticgpu.io/assumed", "true"}}), spec, &node));
}

// Unlike in Alnair, chunks of two cards with the same number count as two.
TEST(ReadAnswerOfAlnair, CountsTheChunksOfEachCard) {
  const auto object = pod({container("a", {{"alnair/vgpu-memory", "3"}})});
  const auto spec = spec_of(object);
  const auto node = two_cards();
  const auto read_with = [&](const char* ids) {
    return read_answer(bound(object, {{"ai.centaurus.io/alnair-gpu-id", ids}}), spec, &node);
  };
  EXPECT_EQ(*read_with("GPU-a_0,GPU-a_1,GPU-a_5"),
            (Assignment{{{{.card = 0, .memory_mib = 3072}}}}));
  EXPECT_EQ(*read_with("GPU-a_0,GPU-b_0"),
            (Assignment{{{{.card = 0, .memory_mib = 1024}, {.card = 1, .memory_mib = 1024}}}}));
  EXPECT_EQ(*read_with(""), std::optional<Assignment>());
  EXPECT_FALSE(read_with("GPU-z_0"));
}

// After a restart, the engine's decision is read back unchanged.
RC_GTEST_PROP(Answer, IsReadBackAsItWasGiven, ()) {
  core::NodeSpec node{.name = "n1"};
  const auto cards = *rc::gen::inRange<std::int32_t>(1, 9);
  for (std::int32_t i = 0; i < cards; ++i) {
    node.cards.push_back({.id = "GPU-" + std::to_string(i),
                          .index = cards - i,
                          .memory_mib = *rc::gen::inRange(0, 100000)});
  }
  PodObject object = pod({});
  Assignment given;
  const auto containers = *rc::gen::inRange(1, 5);
  for (int c = 0; c < containers; ++c) {
    auto& shares = given.containers.emplace_back();
    const std::string name = "c" + std::to_string(c);
    const auto first = *rc::gen::inRange<std::int32_t>(0, cards);
    const auto one = static_cast<std::uint32_t>(first);
    switch (*rc::gen::inRange(0, 5)) {
      case 0: object.containers.push_back(container(name.c_str(), {{"cpu", "1"}})); break;
      case 1: {
        const auto count = cards - first;
        object.containers.push_back(
            container(name.c_str(), {{"stowage.dev/gpu", std::to_string(count).c_str()}}));
        for (std::int32_t i = 0; i < count; ++i) {
          const auto card = static_cast<std::uint32_t>(first + i);
          shares.push_back(
              {.card = card, .milli = 1000, .memory_mib = node.cards[card].memory_mib});
        }
        break;
      }
      case 2:
        object.containers.push_back(container(name.c_str(), {{"stowage.dev/gpu-core", "7"}}));
        shares.push_back({.card = one, .milli = 70});
        break;
      case 3:
        object.containers.push_back(container(name.c_str(), {{"stowage.dev/gpu-memory", "9"}}));
        shares.push_back({.card = one, .memory_mib = 9});
        break;
      default:
        object.containers.push_back(container(
            name.c_str(), {{"stowage.dev/gpu-core", "7"}, {"stowage.dev/gpu-memory", "9"}}));
        shares.push_back({.card = one, .milli = 70, .memory_mib = 9});
    }
  }
  const auto spec = to_spec(object, {});
  RC_ASSERT(spec);
  const auto written =
      answer({.object = object, .pod = *spec, .node = node, .cards = given}).annotations;
  const bool any = std::any_of(given.containers.begin(), given.containers.end(),
                               [](const auto& shares) { return !shares.empty(); });
  RC_ASSERT(written.empty() == !any);
  if (!any) return;
  RC_ASSERT(base::JsonCheck::valid(written.at("stowage.dev/gpus")));
  const auto back = read_answer(bound(object, written), *spec, &node);
  RC_ASSERT(back);
  RC_ASSERT(*back == given);
  RC_ASSERT(core::validate(*spec, *back));
}

}  // namespace
}  // namespace stowage::dialect
