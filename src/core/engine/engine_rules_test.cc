// Node rules (selector, affinity, taints, cordons) and profiles, through the whole engine.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/explain/render.h"
#include "core/record/decision.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;
using testing::policy;

constexpr const char* kPolicies[] = {"dual-price", "fgd", "binpack", "tightest", "most-used"};

std::string outcome(Engine& engine, const PodSpec& spec) {
  const Commands commands = engine.handle(PodPending{spec}, base::Instant{});
  EXPECT_EQ(engine.ledger().audit(), std::vector<std::string>{});
  if (commands.size() != 1) return std::to_string(commands.size()) + " commands";
  if (const auto* bind = std::get_if<Bind>(&commands[0])) return bind->node;
  if (const auto* refuse = std::get_if<Refuse>(&commands[0])) return render(refuse->refusal);
  return std::get<Reject>(commands[0]).why;
}

NodeSpec labelled(const std::string& name, Labels labels, std::vector<Taint> taints = {}) {
  NodeSpec spec = node(name).cards(2).memory_mib(1000);
  spec.labels = std::move(labels);
  spec.taints = std::move(taints);
  return spec;
}

PodSpec with_rules(const std::string& uid, NodeRules rules) {
  PodSpec spec = pod(uid).gpus(1);
  spec.rules = std::move(rules);
  return spec;
}

TEST(EngineRules, SelectorsAndTaintsDecideUnderEveryPolicy) {
  const Taint guard{.key = "guard", .value = "on", .effect = TaintEffect::no_schedule};
  for (const char* name : kPolicies) {
    SCOPED_TRACE(name);
    Engine engine(policy(name));
    for (const auto& spec : {labelled("a", {{"zone", "x"}}), labelled("b", {{"zone", "y"}}),
                             labelled("c", {{"zone", "z"}}, {guard})}) {
      ASSERT_TRUE(engine.handle(NodeChanged{spec}, {}).empty());
    }
    EXPECT_EQ(outcome(engine, with_rules("1", {.selector = {{"zone", "y"}}})), "b");
    EXPECT_EQ(outcome(engine, with_rules("2", {.selector = {{"zone", "z"}}})),
              "0/3 nodes are available: 2 node(s) didn't match the pod's node selector or "
              "affinity, 1 node(s) had taints that the pod does not tolerate.");
    const Toleration tolerant{.key = "guard", .op = Toleration::Op::exists};
    EXPECT_EQ(
        outcome(engine, with_rules("3", {.selector = {{"zone", "z"}}, .tolerations = {tolerant}})),
        "c");
    const NodeTerm by_name{.labels = {}, .fields = {{"metadata.name", Requirement::Op::in, {"a"}}}};
    EXPECT_EQ(outcome(engine, with_rules("4", {.required = {{by_name}}})), "a");
  }
}

TEST(EngineRules, ACordonedNodeTakesOnlyPodsThatTolerateIt) {
  Engine engine(policy("dual-price"));
  NodeSpec cordoned = labelled("a", {});
  cordoned.schedulable = false;
  (void)engine.handle(NodeChanged{cordoned}, {});
  EXPECT_EQ(outcome(engine, pod("p").gpus(1)),
            "0/1 nodes are available: 1 node(s) were unschedulable.");
  const Toleration tolerant{.key = kUnschedulableTaint, .op = Toleration::Op::exists};
  EXPECT_EQ(outcome(engine, with_rules("q", {.tolerations = {tolerant}})), "a");
}

TEST(EngineRules, ALabelOrATaintThatChangesWakesThePod) {
  for (const char* name : kPolicies) {
    SCOPED_TRACE(name);
    Engine engine(policy(name));
    const Taint guard{.key = "guard", .value = "", .effect = TaintEffect::no_execute};
    (void)engine.handle(NodeChanged{labelled("a", {{"zone", "x"}}, {guard})}, {});
    (void)outcome(engine, with_rules("p", {.selector = {{"zone", "y"}}}));
    EXPECT_TRUE(engine.handle(NodeChanged{labelled("a", {{"zone", "y"}}, {guard})}, {}).empty());
    const Commands commands = engine.handle(NodeChanged{labelled("a", {{"zone", "y"}})}, {});
    ASSERT_EQ(commands.size(), 1U);
    EXPECT_EQ(std::get<Bind>(commands[0]).node, "a");
  }
}

TEST(EngineRules, AnExtendedResourceIsNamedInTheRefusal) {
  Engine engine(policy("dual-price"));
  (void)engine.handle(NodeChanged{labelled("a", {})}, {});
  PodSpec spec = pod("p").cpu_milli(1);
  spec.containers[0].resources.extended["example.com/dongle"] = 3;
  EXPECT_EQ(outcome(engine, spec),
            "0/1 nodes are available: 1 insufficient example.com/dongle (most free 0, asked 3).");
}

TEST(EngineRules, APodGoesWhereItsWayToGetCardsIsOffered) {
  for (const char* name : kPolicies) {
    SCOPED_TRACE(name);
    Engine engine(policy(name));
    NodeSpec plugin_a = labelled("a", {});
    plugin_a.offers = {"one"};
    NodeSpec plugin_b = labelled("b", {});
    plugin_b.offers = {"one", "two"};
    for (const auto& spec : {plugin_a, plugin_b}) (void)engine.handle(NodeChanged{spec}, {});
    PodSpec needs_two = pod("p").gpus(1);
    needs_two.needs = "two";
    EXPECT_EQ(outcome(engine, needs_two), "b");
    PodSpec needs_three = pod("q").gpus(1);
    needs_three.needs = "three";
    EXPECT_EQ(
        outcome(engine, needs_three),
        "0/2 nodes are available: 2 node(s) didn't offer the GPU resource that the pod names.");
    plugin_a.offers = {"three"};
    EXPECT_EQ(engine.handle(NodeChanged{plugin_a}, {}).size(), 1U) << "a new plugin wakes the pod";
  }
}

TEST(EngineRules, ARecordedDecisionKeepsTheRules) {
  Engine engine(policy("dual-price"));
  (void)engine.handle(NodeChanged{labelled("a", {{"zone", "x"}})}, {});
  (void)engine.handle(NodeChanged{labelled("b", {{"zone", "y"}})}, {});
  const NodeTerm term{.labels = {{"zone", Requirement::Op::in, {"y"}}}, .fields = {}};
  const auto replay = replay_decision(engine.record_decision(
      with_rules("p", {.required = {{term}}, .tolerations = {{.key = "k"}}})));
  ASSERT_TRUE(replay) << replay.error().message;
  EXPECT_EQ(replay->recorded, replay->replayed);
  EXPECT_EQ(std::get<Bind>(replay->commands.at(0)).node, "b");
}

TEST(EngineProfiles, EachPodIsPlacedByThePolicyOfItsProfile) {
  Engine engine(std::vector<PolicyOptions>{policy("binpack"), policy("spread")});
  for (const char* name : {"a", "b"}) {
    (void)engine.handle(NodeChanged{node(name).cards(4).memory_mib(1000)}, {});
  }
  const auto in_profile = [](const std::string& uid, std::uint32_t profile) {
    PodSpec spec = pod(uid).gpus(1);
    spec.profile = profile;
    return spec;
  };
  EXPECT_EQ(outcome(engine, in_profile("1", 0)), "a");
  EXPECT_EQ(outcome(engine, in_profile("2", 0)), "a");
  EXPECT_EQ(outcome(engine, in_profile("3", 1)), "b") << "one ledger: spread sees binpack's pods";
  EXPECT_EQ(outcome(engine, in_profile("4", 1)), "b");
  EXPECT_EQ(outcome(engine, in_profile("5", 2)), "pod 5 has an unknown profile");
}

TEST(EngineProfiles, TwinsInDifferentProfilesWaitApartAndAreBothWoken) {
  Engine engine(std::vector<PolicyOptions>{policy("dual-price"), policy("most-used")});
  PodSpec first = pod("1").gpus(1);
  PodSpec second = pod("2").gpus(1);
  second.profile = 1;
  (void)engine.handle(PodPending{first}, {});
  (void)engine.handle(PodPending{second}, {});
  EXPECT_EQ(engine.counters().waiting, 2U);
  EXPECT_EQ(engine.handle(NodeChanged{node("a").cards(2)}, {}).size(), 2U);
  EXPECT_EQ(engine.counters().waiting, 0U);
}

}  // namespace
}  // namespace stowage::core
