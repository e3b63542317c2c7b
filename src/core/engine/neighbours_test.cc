// Rules between pods, ports, and soft preferences, as the engine decides by them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/engine/engine.h"
#include "core/explain/render.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::end;
using testing::engine_with;
using testing::node;
using testing::place;
using testing::pod;

NodeSpec in_zone(NodeSpec spec, const std::string& zone) {
  spec.labels["zone"] = zone;
  spec.labels["host"] = spec.name;
  return spec;
}

PodSpec labelled(const std::string& name, Labels labels) {
  PodSpec spec = pod("ns/" + name).cpu_milli(100);
  spec.constraints.labels = std::move(labels);
  return spec;
}

LabelSelector app(const std::string& value) {
  return {.all = {{.key = "app", .op = Requirement::Op::in, .values = {value}}}};
}

PodTerm near_app(const std::string& value, const std::string& key) {
  return {.selector = app(value), .namespaces = {"ns"}, .topology_key = key};
}

Engine four_nodes() {
  return engine_with("first", {in_zone(node("a"), "1"), in_zone(node("b"), "1"),
                               in_zone(node("c"), "2"), in_zone(node("d"), "2")});
}

TEST(Neighbours, APodGoesOnlyWhereItsAffinityIsSatisfied) {
  Engine engine = four_nodes();
  PodSpec wants = labelled("wants", {});
  wants.constraints.affinity = {near_app("db", "zone")};
  const auto refused = place(engine, wants);
  ASSERT_TRUE(refused.refusal);
  EXPECT_EQ(refused.refusal->counts.at(0).code, ReasonCode::pod_affinity);
  PodSpec db = labelled("db", {{"app", "db"}});
  db.rules.selector = {{"host", "d"}};
  EXPECT_EQ(place(engine, db).node, "d");
  EXPECT_EQ(place(engine, wants).node, "c");
}

TEST(Neighbours, TheFirstOfASeriesMayBeginIt) {
  Engine engine = four_nodes();
  PodSpec first = labelled("x0", {{"app", "x"}});
  first.constraints.affinity = {near_app("x", "zone")};
  EXPECT_EQ(place(engine, first).node, "a");
  PodSpec second = labelled("x1", {{"app", "x"}});
  second.constraints.affinity = first.constraints.affinity;
  second.rules.selector = {{"zone", "2"}};
  EXPECT_FALSE(place(engine, second).placed());
}

TEST(Neighbours, AntiAffinityHoldsBothWays) {
  Engine engine = four_nodes();
  PodSpec loner = labelled("loner", {{"app", "loner"}});
  loner.constraints.anti_affinity = {near_app("web", "zone")};
  EXPECT_EQ(place(engine, loner).node, "a");
  EXPECT_EQ(place(engine, labelled("web", {{"app", "web"}})).node, "c") << "the loner minds";
  PodSpec again = labelled("loner2", {{"app", "loner"}});
  again.constraints.anti_affinity = loner.constraints.anti_affinity;
  EXPECT_EQ(place(engine, again).node, "a") << "web is in zone 2";
  end(engine, "ns/loner");
  end(engine, "ns/loner2");
  EXPECT_EQ(place(engine, labelled("web2", {{"app", "web"}})).node, "a");
}

TEST(Neighbours, AWaitingPodIsWokenByThePodThatItWantsToBeNear) {
  Engine engine = four_nodes();
  PodSpec wants = labelled("wants", {});
  wants.constraints.affinity = {near_app("db", "zone")};
  (void)engine.handle(PodPending{wants}, base::Instant{});
  EXPECT_EQ(engine.counters().by_others, 1U);
  const Commands other = engine.handle(PodPending{labelled("web", {{"app", "web"}})}, {});
  EXPECT_EQ(other.size(), 1U) << "nobody else is concerned";
  const Commands commands =
      engine.handle(PodPending{labelled("db", {{"app", "db"}})}, base::Instant{200'000'000});
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(std::get<Bind>(commands[1]).uid, "ns/wants");
}

TEST(Neighbours, AWaitingPodIsWokenWhenThePodThatWasInItsWayLeaves) {
  Engine engine = engine_with("first", {in_zone(node("a"), "1")});
  PodSpec loner = labelled("loner", {});
  loner.constraints.anti_affinity = {near_app("web", "zone")};
  ASSERT_TRUE(place(engine, loner).placed());
  (void)engine.handle(PodPending{labelled("web", {{"app", "web"}})}, base::Instant{});
  const Commands commands = engine.handle(PodGone{"ns/loner"}, base::Instant{});
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(std::get<Bind>(commands[0]).uid, "ns/web");
}

TEST(Neighbours, HostPortsOfOneNodeAreGivenOnce) {
  Engine engine = engine_with("first", {node("a"), node("b")});
  const auto with_port = [](const std::string& name, HostPort port) {
    PodSpec spec = pod(name).cpu_milli(1);
    spec.constraints.ports = {std::move(port)};
    return spec;
  };
  EXPECT_EQ(place(engine, with_port("p1", {.protocol = "TCP", .port = 80})).node, "a");
  EXPECT_EQ(place(engine, with_port("p2", {.protocol = "UDP", .port = 80})).node, "a");
  EXPECT_EQ(place(engine, with_port("p3", {.ip = "10.0.0.1", .protocol = "TCP", .port = 80})).node,
            "b");
  EXPECT_EQ(place(engine, with_port("p4", {.ip = "10.0.0.2", .protocol = "TCP", .port = 80})).node,
            "b");
  const auto last = place(engine, with_port("p5", {.protocol = "TCP", .port = 80}));
  ASSERT_TRUE(last.refusal);
  EXPECT_EQ(sentence(*last.refusal), "0/2 nodes are available: 2 host port in use.");
}

SpreadRule over(const std::string& key, std::int32_t skew) {
  return {.topology_key = key, .max_skew = skew, .selector = app("s")};
}

TEST(Neighbours, SpreadKeepsDomainsEven) {
  Engine engine = four_nodes();
  std::map<char, int> zones;
  for (int i = 0; i < 6; ++i) {
    PodSpec spec = labelled("s" + std::to_string(i), {{"app", "s"}});
    spec.constraints.spread = {over("zone", 1)};
    ++zones[place(engine, spec).node.at(0) <= 'b' ? '1' : '2'];
  }
  EXPECT_EQ(zones['1'], 3);
  EXPECT_EQ(zones['2'], 3);
}

TEST(Neighbours, SpreadOverTooFewDomainsWaits) {
  Engine engine = four_nodes();
  PodSpec spec = labelled("s", {{"app", "s"}});
  spec.constraints.spread = {over("zone", 1)};
  spec.constraints.spread[0].min_domains = 3;
  EXPECT_TRUE(place(engine, spec).placed()) << "the first makes no skew";
  PodSpec second = spec;
  second.uid = second.name = "ns/s2";
  EXPECT_TRUE(place(engine, second).placed());
  PodSpec third = spec;
  third.uid = third.name = "ns/s3";
  const auto refused = place(engine, third);
  ASSERT_TRUE(refused.refusal);
  EXPECT_EQ(refused.refusal->counts.at(0).code, ReasonCode::spread);
}

TEST(Neighbours, PreferencesDecideAmongNodesThatThePolicyFindsEqual) {
  Engine engine = four_nodes();
  PodSpec likes = labelled("likes", {});
  likes.rules.preferred = {
      {.weight = 10, .term = {.labels = {{.key = "host", .values = {"c"}}}, .fields = {}}}};
  EXPECT_EQ(place(engine, likes).node, "c") << "the policy `first` finds all nodes equal";
  Engine packing =
      engine_with("most-free", {in_zone(node("a").cards(2), "1"), in_zone(node("c").cards(2), "2"),
                                in_zone(node("d").cards(1), "2")});
  PodSpec gpu = pod("ns/g").gpus(1);
  gpu.rules.preferred = likes.rules.preferred;
  EXPECT_EQ(place(packing, gpu).node, "c");
  PodSpec vain = pod("ns/v").gpus(1);
  vain.rules.preferred = {
      {.weight = 100, .term = {.labels = {{.key = "host", .values = {"d"}}}, .fields = {}}}};
  EXPECT_EQ(place(packing, vain).node, "a") << "the GPU policy comes first";
}

TEST(Neighbours, ANodeWithASoftTaintIsTheLastAmongEquals) {
  NodeSpec tainted = node("a").cards(1);
  tainted.taints = {{.key = "k", .value = "v", .effect = TaintEffect::prefer_no_schedule}};
  Engine engine = engine_with("most-free", {tainted, node("b").cards(1)});
  EXPECT_EQ(place(engine, pod("p").gpus(1)).node, "b");
  EXPECT_EQ(place(engine, pod("q").gpus(1)).node, "a");
}

TEST(Neighbours, NamespacesOfATermMayBeSelectedByTheirLabels) {
  Engine engine = four_nodes();
  (void)engine.handle(AuxObjectChanged{Namespace{.name = "prod", .labels = {{"tier", "1"}}}}, {});
  PodSpec db = pod("prod/db").cpu_milli(1);
  db.constraints.labels = {{"app", "db"}};
  ASSERT_EQ(place(engine, db).node, "a");
  PodSpec away = labelled("away", {});
  away.constraints.anti_affinity = {
      {.selector = app("db"),
       .namespaces = {},
       .namespace_selector = LabelSelector{.all = {{.key = "tier", .values = {"1"}}}},
       .topology_key = "zone"}};
  EXPECT_EQ(place(engine, away).node, "c");
  end(engine, "ns/away");
  (void)engine.handle(AuxObjectChanged{Namespace{.name = "prod", .labels = {}}}, {});
  EXPECT_EQ(place(engine, away).node, "a");
}

// The counters agree with a recount for any sequence of changes, and pods are placed as a simple
// implementation of the same rules says.
RC_GTEST_PROP(Neighbours, CountersAgreeWithARecount, (std::vector<std::uint16_t> steps)) {
  Engine engine = four_nodes();
  int number = 0;
  std::vector<std::string> placed;
  for (const std::uint16_t step : steps) {
    const std::string name = "p" + std::to_string(number++);
    if (step % 5 == 0 && !placed.empty()) {
      end(engine, placed[step % placed.size()]);
      continue;
    }
    if (step % 11 == 0) {
      NodeSpec moved = in_zone(node(std::string(1, static_cast<char>('a' + step % 4))),
                               std::to_string(step % 3));
      (void)engine.handle(NodeChanged{moved}, {});
      continue;
    }
    PodSpec spec = labelled(name, {{"app", std::string(1, static_cast<char>('x' + step % 3))}});
    const std::string other(1, static_cast<char>('x' + step / 3 % 3));
    const std::string key = step / 9 % 2 == 0 ? "zone" : "host";
    if (step / 18 % 4 == 0) spec.constraints.affinity = {near_app(other, key)};
    if (step / 18 % 4 == 1) spec.constraints.anti_affinity = {near_app(other, key)};
    if (step / 18 % 4 == 2) {
      spec.constraints.spread = {
          {.topology_key = key, .max_skew = 1 + step % 2, .selector = app(other)}};
    }
    if (place(engine, spec).placed()) placed.push_back("ns/" + name);
    const auto wrong = engine.audit();
    if (!wrong.empty()) RC_FAIL(wrong.front());
  }
}

}  // namespace
}  // namespace stowage::core
