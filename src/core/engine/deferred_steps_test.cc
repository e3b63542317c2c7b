#include "core/engine/deferred_steps.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/engine/engine.h"
#include "core/record/decision.h"
#include "core/testing/builders.h"
#include "core/testing/script.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;
using testing::policy;

constexpr int kPods = 500;

std::string uid(int i) { return "p" + std::to_string(1000 + i); }

// Pods that no node takes yet; every fifth one has a high priority.
Engine with_parked_pods(EngineOptions options = {}) {
  Engine engine({policy("binpack")}, options);
  for (int i = 0; i < kPods; ++i) {
    (void)engine.handle(PodPending{pod(uid(i)).cpu_milli(10).priority(i % 5 == 0 ? 9 : 0)}, {});
  }
  EXPECT_EQ(engine.counters().waiting, static_cast<std::size_t>(kPods));
  return engine;
}

NodeChanged room_for_all() {
  NodeSpec spec = node("a").cards(1);
  spec.allocatable.cpu_milli = 1'000'000;
  spec.allocatable.pods = 1000;
  return {spec};
}

std::vector<std::string> bound(const Commands& commands) {
  std::vector<std::string> uids;
  for (const auto& command : commands) {
    if (const auto* bind = std::get_if<Bind>(&command)) uids.push_back(bind->uid);
  }
  return uids;
}

TEST(DeferredSteps, OneEventPlacesSomeAndTheNextOnesTheRest) {
  Engine engine = with_parked_pods();
  std::vector<std::string> placed;
  Event event = room_for_all();
  int events = 0;
  do {
    const auto some = bound(engine.handle(event, {}));
    EXPECT_GT(some.size(), 0U);
    EXPECT_LE(some.size(), 4096 / kJudgementsPerTry);
    placed.insert(placed.end(), some.begin(), some.end());
    event = Continue{};
  } while (engine.unfinished() && ++events < kPods);
  ASSERT_EQ(placed.size(), static_cast<std::size_t>(kPods));
  std::vector<std::string> expected;
  for (int i = 0; i < kPods; i += 5) expected.push_back(uid(i));
  for (int i = 0; i < kPods; ++i) {
    if (i % 5 != 0) expected.push_back(uid(i));
  }
  EXPECT_EQ(placed, expected) << "the most important first, then by arrival";
  EXPECT_EQ(engine.counters().waiting, 0U);
  EXPECT_TRUE(engine.audit().empty());
}

TEST(DeferredSteps, AnyEventGoesOnWithIt) {
  Engine engine = with_parked_pods();
  (void)engine.handle(room_for_all(), {});
  ASSERT_TRUE(engine.unfinished());
  const std::size_t waiting = engine.counters().waiting;
  (void)engine.handle(BindDone{uid(0)}, {});
  EXPECT_LT(engine.counters().waiting, waiting);
}

TEST(DeferredSteps, QuestionsAreAnsweredBetween) {
  Engine engine = with_parked_pods();
  (void)engine.handle(room_for_all(), {});
  ASSERT_TRUE(engine.unfinished());
  Commands out;
  const auto answer =
      engine.filter({.pod = pod("guest").gpus(1), .nodes = {"a"}, .until = {1}}, {}, out);
  ASSERT_TRUE(answer.held);
  EXPECT_EQ(answer.held->node, "a");
  EXPECT_TRUE(out.empty());
  EXPECT_TRUE(engine.unfinished());
}

TEST(DeferredSteps, NothingIsLeftOfANodeThatGoesOrOfALeadThatEnds) {
  Engine engine = with_parked_pods();
  (void)engine.handle(room_for_all(), {});
  ASSERT_TRUE(engine.unfinished());
  EXPECT_TRUE(bound(engine.handle_all(NodeGone{"a"}, {})).size() <= 64);
  EXPECT_FALSE(engine.unfinished());
  EXPECT_TRUE(engine.audit().empty());
  Engine other = with_parked_pods();
  (void)other.handle(room_for_all(), {});
  (void)other.handle(StandDown{}, {});
  EXPECT_FALSE(other.unfinished());
}

// ---- the outcome in pieces is the same ----------------------------------------------------------

std::vector<std::string> answers(const std::string& name, const std::vector<Event>& events,
                                 std::uint64_t judgements) {
  Engine engine({policy(name)}, {.judgements_per_event = judgements});
  std::vector<std::string> said;
  std::int64_t now = 0;
  for (const Event& event : events) {
    said.push_back(to_text(engine.handle_all(event, {now += 1'000'000'000})));
    RC_ASSERT(!engine.unfinished());
    RC_ASSERT(engine.audit().empty());
  }
  return said;
}

RC_GTEST_PROP(DeferredSteps, InPiecesItComesToTheSame,
              (std::uint8_t nodes, const std::vector<testing::Step>& steps)) {
  const auto events = testing::script_of(nodes, steps);
  RC_ASSERT(answers("binpack", events, 1) == answers("binpack", events, 1'000'000'000));
}

RC_GTEST_PROP(DeferredSteps, InPiecesItComesToTheSameUnderChurn, (std::uint16_t seed)) {
  const auto events = testing::churn_of(seed);
  RC_ASSERT(answers("dual-price", events, 1) == answers("dual-price", events, 1'000'000'000));
}

// ---- searches for cards -------------------------------------------------------------------------

// Asks for the capacity of eight cards or slightly less, but no card can hold two of the ten large
// shares.
PodSpec scattered(const std::string& name) {
  auto builder = pod(name);
  builder.container("small").milli(500).container("whole").gpus(1);
  for (int i = 0; i < 10; ++i) builder.container("c" + std::to_string(i)).milli(600 - i);
  return builder;
}

// A node that can hold this pod, but not with each container on its first choice of card.
void add_fitting_node(Engine& engine, const std::string& name) {
  testing::add(engine, node(name).cards(12));
  testing::occupy(engine, name, 1, {.milli = 500});
  for (std::uint32_t card = 2; card < 12; ++card) {
    testing::occupy(engine, name, card, {.milli = 400});
  }
}

class SearchOfManyNodes : public ::testing::Test {
 protected:
  static constexpr int kNodes = 40;
  void SetUp() override {
    for (int i = 0; i < kNodes; ++i) {
      testing::add(engine_, node("n" + std::to_string(100 + i)).cards(8));
    }
  }
  Engine engine_{policy("first")};
};

TEST_F(SearchOfManyNodes, ThatFailsIsCutAndTheRefusalSaysSo) {
  const Commands commands = engine_.handle(PodPending{scattered("p")}, {});
  ASSERT_EQ(commands.size(), 1U);
  const Refusal& refusal = std::get<Refuse>(commands[0]).refusal;
  ASSERT_EQ(refusal.counts.size(), 2U);
  EXPECT_EQ(refusal.counts[0].code, ReasonCode::search);
  EXPECT_GE(refusal.counts[0].nodes, kNodes - 2) << "an event has steps for two such nodes";
  EXPECT_EQ(refusal.counts[1].code, ReasonCode::cards);
  EXPECT_TRUE(engine_.unfinished()) << "it goes on at once";
}

TEST_F(SearchOfManyNodes, EndsWhenAllNodesWereSearched) {
  (void)engine_.handle_all(PodPending{scattered("p")}, {});
  EXPECT_FALSE(engine_.unfinished()) << "rationed: the rest takes its time";
  std::uint64_t decisions = engine_.counters().decisions;
  for (std::int64_t second = 1; second <= 10; ++second) {
    (void)engine_.handle_all(Tick{.parked = false}, {second * 1'000'000'000});
  }
  EXPECT_GT(engine_.counters().decisions, decisions);
  EXPECT_LE(engine_.counters().decisions, decisions + kNodes);
  decisions = engine_.counters().decisions;
  for (std::int64_t second = 11; second <= 20; ++second) {
    (void)engine_.handle_all(Tick{.parked = false}, {second * 1'000'000'000});
  }
  EXPECT_EQ(engine_.counters().decisions, decisions) << "nothing is left to be searched";
  EXPECT_EQ(engine_.counters().waiting, 1U);
}

TEST_F(SearchOfManyNodes, FindsTheOnlyNodeThatWillDo) {
  add_fitting_node(engine_, "z");
  std::vector<std::string> placed = bound(engine_.handle_all(PodPending{scattered("p")}, {}));
  EXPECT_TRUE(placed.empty()) << "other nodes have their turn first";
  for (std::int64_t second = 1; second <= 10 && placed.empty(); ++second) {
    placed = bound(engine_.handle_all(Tick{.parked = false}, {second * 1'000'000'000}));
  }
  EXPECT_EQ(placed, std::vector<std::string>{"p"});
  EXPECT_TRUE(engine_.audit().empty());
}

// A changed node wakes pods whose search was cut, even if this event cannot afford the search.
TEST_F(SearchOfManyNodes, IsNotForgottenWhenANodeChanges) {
  for (int i = 0; i < 20; ++i) {
    (void)engine_.handle_all(PodPending{scattered("p" + std::to_string(i))}, {});
  }
  add_fitting_node(engine_, "z");
  std::vector<std::string> placed;
  for (std::int64_t second = 1; second <= 60 && placed.empty(); ++second) {
    placed = bound(engine_.handle_all(Tick{.parked = false}, {second * 1'000'000'000}));
  }
  EXPECT_EQ(placed, std::vector<std::string>{"p0"});
}

TEST_F(SearchOfManyNodes, TakesABoundedNumberOfStepsOfOneEvent) {
  Engine engine({policy("first")}, {.search_per_event = 100});
  for (int i = 0; i < kNodes; ++i) {
    testing::add(engine, node("n" + std::to_string(100 + i)).cards(8));
  }
  const Commands commands = engine.handle(PodPending{scattered("p")}, {});
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(std::get<Refuse>(commands[0]).refusal.counts[0].nodes, kNodes)
      << "not one was searched";
}

}  // namespace
}  // namespace stowage::core
