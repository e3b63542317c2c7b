// Input that makes no sense is answered with a Reject and changes nothing.
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/model/limits.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::pod;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
constexpr std::int32_t kHugeInt = std::numeric_limits<std::int32_t>::max();

struct AbsurdPod {
  const char* name;
  const char* why;  // part of the message
  std::function<void(PodSpec&)> spoil;
};

const std::vector<AbsurdPod>& absurd_pods() {
  static const std::vector<AbsurdPod> kRows{
      {"no uid", "no uid", [](PodSpec& p) { p.uid.clear(); }},
      {"negative cpu", "cpu is negative: -1",
       [](PodSpec& p) { p.containers[0].resources.cpu_milli = -1; }},
      {"negative memory", "memory is negative",
       [](PodSpec& p) { p.containers[0].resources.memory_bytes = -kHuge; }},
      {"huge ephemeral storage", "is too large",
       [](PodSpec& p) { p.containers[0].resources.ephemeral_bytes = kHuge; }},
      {"huge overhead", "overhead", [](PodSpec& p) { p.overhead.memory_bytes = kHuge; }},
      {"negative extended resource", "nic is negative",
       [](PodSpec& p) { p.containers[0].resources.extended["nic"] = -4; }},
      {"containers that are huge together", "is too large",
       [](PodSpec& p) {
         p.containers.resize(256);
         for (auto& c : p.containers) c.resources.cpu_milli = std::int64_t{1} << 49U;
       }},
      {"too many containers", "more than 256 containers",
       [](PodSpec& p) { p.containers.resize(257); }},
      {"negative number of cards", "card count is negative",
       [](PodSpec& p) { p.containers[0].gpu.count = -1; }},
      {"more cards than a node can have", "asks for 65 cards",
       [](PodSpec& p) { p.containers[0].gpu.count = 65; }},
      {"a share of no card", "for no card",
       [](PodSpec& p) { p.containers[0].gpu = {.count = 0, .milli = 500}; }},
      {"more than a card of compute", "asks for 1500 milli",
       [](PodSpec& p) { p.containers[0].gpu.milli = 1500; }},
      {"negative compute", "asks for -1 milli", [](PodSpec& p) { p.containers[0].gpu.milli = -1; }},
      {"negative card memory", "asks for -3 MiB",
       [](PodSpec& p) { p.containers[0].gpu.memory_mib = -3; }},
      {"card memory by compute, without any", "memory in proportion to its compute",
       [](PodSpec& p) {
         p.containers[0].gpu.milli.reset();
         p.containers[0].gpu.memory_mib = kMemoryWithCore;
       }},
      {"huge card memory", "MiB of card memory",
       [](PodSpec& p) { p.containers[0].gpu.memory_mib = kHugeInt; }},
      {"a list without end", "more than 256 entries",
       [](PodSpec& p) { p.containers[0].gpu.filter.models_any.resize(300, "T4"); }},
  };
  return kRows;
}

std::string reject_of(Engine& engine, const Event& event) {
  const Commands commands = engine.handle(event, base::Instant{});
  EXPECT_EQ(commands.size(), 1U);
  if (commands.size() != 1 || !std::holds_alternative<Reject>(commands[0])) return "not rejected";
  return std::get<Reject>(commands[0]).why;
}

TEST(EngineReject, AbsurdPods) {
  for (const auto& row : absurd_pods()) {
    SCOPED_TRACE(row.name);
    Engine engine = engine_with("dual-price", {node("n").cards(2)});
    PodSpec spec = pod("p").gpus(1);
    row.spoil(spec);
    EXPECT_NE(reject_of(engine, PodPending{spec}).find(row.why), std::string::npos)
        << reject_of(engine, PodPending{spec});
    EXPECT_NE(reject_of(engine, PodSeenBound{spec, "n", std::nullopt}), "not rejected");
    EXPECT_EQ(engine.ledger().pods().count(), 0U);
    EXPECT_EQ(engine.counters().decisions, 0U);
    EXPECT_EQ(engine.counters().waiting, 0U);
  }
}

TEST(EngineReject, AnAbsurdUpdateLeavesAParkedPodAsItWas) {
  Engine engine = engine_with("binpack");
  (void)engine.handle(PodPending{pod("p").gpus(1)}, {});
  EXPECT_NE(reject_of(engine, PodPending{pod("p").gpus(-1)}), "not rejected");
  EXPECT_EQ(engine.counters().waiting, 1U);
}

struct AbsurdNode {
  const char* name;
  const char* why;
  std::function<void(NodeSpec&)> spoil;
};

TEST(EngineReject, AbsurdNodes) {
  const AbsurdNode rows[] = {
      {"no name", "no name", [](NodeSpec& n) { n.name.clear(); }},
      {"negative cpu", "cpu is negative", [](NodeSpec& n) { n.allocatable.cpu_milli = -1; }},
      {"huge memory", "is too large", [](NodeSpec& n) { n.allocatable.memory_bytes = kHuge; }},
      {"negative pods", "pods is negative", [](NodeSpec& n) { n.allocatable.pods = -1; }},
      {"65 cards", "65 cards",
       [](NodeSpec& n) {
         const std::string name = n.name;
         n = node(name).cards(65);
       }},
      {"a card without id", "empty or repeated id", [](NodeSpec& n) { n.cards[0].id.clear(); }},
      {"two cards with one id", "repeated id", [](NodeSpec& n) { n.cards[1].id = n.cards[0].id; }},
      {"two cards with one index", "index 0", [](NodeSpec& n) { n.cards[1].index = 0; }},
      {"negative card memory", "invalid memory", [](NodeSpec& n) { n.cards[0].memory_mib = -1; }},
      {"huge card memory", "invalid memory", [](NodeSpec& n) { n.cards[0].memory_mib = kHugeInt; }},
      {"negative slots", "slots", [](NodeSpec& n) { n.cards[1].slots = -1; }},
      {"a link matrix of another size", "link matrix",
       [](NodeSpec& n) { n.links = testing::links(3); }},
      {"a link matrix that is cut off", "link matrix",
       [](NodeSpec& n) {
         n.links = testing::links(2);
         n.links.score.pop_back();
       }},
      {"links that differ by direction", "symmetric",
       [](NodeSpec& n) {
         n.links = testing::links(2);
         n.links.score[1] = 10;
       }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Engine engine = engine_with("dual-price", {node("n").cards(2)});
    const NodeSpec before = engine.ledger().nodes().spec(engine.ledger().nodes().find("n"));
    NodeSpec spec = before;
    row.spoil(spec);
    EXPECT_NE(reject_of(engine, NodeChanged{spec}).find(row.why), std::string::npos)
        << reject_of(engine, NodeChanged{spec});
    EXPECT_EQ(engine.ledger().nodes().count(), 1U);
    EXPECT_EQ(engine.ledger().nodes().spec(engine.ledger().nodes().find("n")), before);
    EXPECT_EQ(testing::place(engine, pod("p").gpus(2)).text(), "n 0,1");
  }
}

TEST(EngineReject, AbsurdCardsOfAPodThatOthersPlaced) {
  const std::pair<const char*, Assignment> rows[] = {
      {"for another number of containers", {.containers = {{}, {}}}},
      {"negative compute", {.containers = {{{.card = 0, .milli = -1000, .memory_mib = 0}}}}},
      {"negative memory", {.containers = {{{.card = 0, .milli = 0, .memory_mib = -1}}}}},
      {"endless compute", {.containers = {{{.card = 0, .milli = kHugeInt, .memory_mib = 0}}}}},
      {"endless memory", {.containers = {{{.card = 0, .milli = 0, .memory_mib = kHugeInt}}}}},
      {"endless memory in pieces",
       {.containers = {std::vector<CardShare>(300, {.memory_mib = kMaxCardMemoryMib})}}},
  };
  for (const auto& [name, cards] : rows) {
    SCOPED_TRACE(name);
    Engine engine = engine_with("dual-price", {node("n").cards(2)});
    const PodSeenBound event{pod("p").gpus(1), "n", testing::named("n", cards)};
    EXPECT_NE(reject_of(engine, event), "not rejected");
    EXPECT_EQ(engine.ledger().pods().count(), 0U);
  }
}

TEST(EngineReject, TheLargestAmountsThatMakeSenseAreCounted) {
  Engine engine = engine_with("dual-price", {node("n").cards(1).memory_mib(kMaxCardMemoryMib)});
  PodSpec large = pod("large");
  Assignment cards;
  for (int i = 0; i < 256; ++i) {
    large.containers.push_back(
        {.gpu = {
             .count = 1, .milli = 0, .memory_mib = i % 2 == 0 ? kWholeMemory : kMaxCardMemoryMib}});
    cards.containers.push_back({{.card = 0, .milli = 999, .memory_mib = kMaxCardMemoryMib}});
  }
  large.containers[0].resources.memory_bytes = std::int64_t{1} << 50U;
  PodSpec pending = large;  // a pending pod may have fewer of them
  pending.containers.resize(kMaxCardContainers);
  EXPECT_EQ(testing::place(engine, pending).text(), "none");
  (void)engine.handle(PodGone{pending.uid}, {});
  for (int i = 0; i < 4; ++i) {
    large.uid = "unknown" + std::to_string(i);
    EXPECT_TRUE(engine.handle(PodSeenBound{large, "n", std::nullopt}, {}).empty());
    large.uid = "known" + std::to_string(i);
    EXPECT_TRUE(engine.handle(PodSeenBound{large, "n", testing::named("n", cards)}, {}).empty());
  }
  EXPECT_EQ(engine.ledger().audit(), std::vector<std::string>{});
  ASSERT_EQ(engine.ledger().nodes().debts().size(), 1U);
  EXPECT_GT(engine.ledger().nodes().debts()[0].excess.memory_mib, kMaxCardMemoryMib);
  EXPECT_EQ(testing::place(engine, pod("p").milli(1)).text(), "none");
}

// More card sizes, models and kinds of nodes than the ledger can distinguish.
TEST(EngineReject, AnyNumberOfKindsOfNodesIsSurvived) {
  Engine engine = engine_with("dual-price");
  for (int i = 0; i < 1500; ++i) {
    testing::add(engine, node("n" + std::to_string(i % 3))
                             .cards(2)
                             .memory_mib(1000 + i * 7)
                             .model("m" + std::to_string(i))
                             .memory_bytes((std::int64_t{4} << 30U) * (i + 1)));
    const std::string uid = "p" + std::to_string(i % 4);
    testing::end(engine, uid);
    const PodSpec spec =
        i % 2 == 0 ? pod(uid).milli(100).whole_memory() : pod(uid).milli(300).memory_mib(500);
    (void)engine.handle(PodPending{spec}, base::Instant{});
  }
  EXPECT_EQ(engine.ledger().audit(), std::vector<std::string>{});
  EXPECT_EQ(engine.ledger().nodes().count(), 3U);
}

}  // namespace
}  // namespace stowage::core
