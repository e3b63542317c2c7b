#include "core/price/blocks.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/testing/builders.h"
#include "core/testing/random.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

constexpr double kLeaving = 1.0;  // as many pods leave as arrive

// Pods of these shapes arrive one after another, `times` times.
struct Crowd {
  Demand demand;
  std::vector<Shape> shapes;
  std::vector<std::uint32_t> kinds;

  void arrive(const PodSpec& spec, Ledger& ledger, int times) {
    shapes.push_back(make_shape(spec, ledger));
    kinds.push_back(0);
    for (int i = 0; i < times; ++i) kinds.back() = demand.arrived(shapes.back(), ledger).kind;
  }
};

// Takes the first `count` cards of the node wholly.
PodIndex occupy(Ledger& ledger, const std::string& uid, const std::string& name,
                std::uint32_t count) {
  Assignment cards{.containers = {{}}};
  for (std::uint32_t i = 0; i < count; ++i) {
    cards.containers[0].push_back({.card = i, .milli = kMilliPerCard, .memory_mib = 16384});
  }
  return ledger.seen_bound(pod(uid).gpus(static_cast<std::int32_t>(count)), name, cards);
}

// Two nodes with four cards each; half of the demand is for four cards at once.
class BlocksTest : public ::testing::Test {
 protected:
  BlocksTest() {
    for (const char* name : {"a", "b"}) ledger_.upsert_node(node(name).cards(4));
    crowd_.arrive(pod("four").gpus(4), ledger_, 1);
    crowd_.arrive(pod("one").gpus(1), ledger_, 4);
  }
  [[nodiscard]] const Shape& four() const { return crowd_.shapes[0]; }
  [[nodiscard]] const Shape& one() const { return crowd_.shapes[1]; }
  [[nodiscard]] Blocks::Rules rules(const Shape& shape) {
    blocks_.catch_up(ledger_);
    return blocks_.rules_for(shape, crowd_.kinds[&shape == &crowd_.shapes[0] ? 0 : 1]);
  }
  // True if a pod with one card may take card 0 of the node.
  [[nodiscard]] bool allows_one(const std::string& name) {
    const auto now = rules(one());
    return blocks_.allows(ledger_, one(), ledger_.nodes().find(name), 0b1, now);
  }

  Ledger ledger_;
  Crowd crowd_;
  Blocks blocks_;
};

TEST_F(BlocksTest, NoRuleWhileNoPodLeaves) {
  blocks_.learn(crowd_.demand, ledger_, 0.0);
  EXPECT_FALSE(rules(one()).any());
  EXPECT_FALSE(rules(four()).any());
  for (int i = 0; i < 50; ++i) {
    blocks_.refused(crowd_.kinds[0], crowd_.demand.kinds()[crowd_.kinds[0]], ledger_);
  }
  EXPECT_FALSE(rules(one()).any()) << "however many large pods are refused";
  EXPECT_FALSE(rules(four()).any());
  EXPECT_TRUE(blocks_.state(ledger_).drains.empty());
}

TEST_F(BlocksTest, KeepsBlocksOnceFewAreLeft) {
  blocks_.learn(crowd_.demand, ledger_, kLeaving);
  ASSERT_EQ(blocks_.state(ledger_).groups.size(), 1U);
  EXPECT_GE(blocks_.state(ledger_).groups[0].quota, 2.0);
  EXPECT_TRUE(rules(one()).quotas);
  EXPECT_FALSE(allows_one("a")) << "a is one of two blocks";
  EXPECT_FALSE(rules(four()).quotas) << "the blocks are for these";
}

TEST_F(BlocksTest, ABrokenBlockIsFreeForAll) {
  blocks_.learn(crowd_.demand, ledger_, kLeaving);
  occupy(ledger_, "small", "a", 1);
  EXPECT_TRUE(rules(one()).any());
  const auto now = rules(one());
  EXPECT_TRUE(blocks_.allows(ledger_, one(), ledger_.nodes().find("a"), 0b10, now));
  EXPECT_FALSE(blocks_.allows(ledger_, one(), ledger_.nodes().find("b"), 0b10, now));
  EXPECT_FALSE(blocks_.touches(ledger_.nodes().find("a")));
  EXPECT_TRUE(blocks_.touches(ledger_.nodes().find("b")));
  ledger_.release(ledger_.pods().find("small"));
  EXPECT_FALSE(allows_one("a")) << "a is a block again";
}

TEST_F(BlocksTest, RunningPodsCountAgainstTheQuota) {
  blocks_.learn(crowd_.demand, ledger_, kLeaving);
  const PodKind kind = crowd_.demand.kinds()[crowd_.kinds[0]];
  const double before = blocks_.state(ledger_).groups[0].quota;
  blocks_.accepted(crowd_.kinds[0], kind);
  EXPECT_EQ(blocks_.state(ledger_).groups[0].use, 1);
  EXPECT_LT(blocks_.state(ledger_).groups[0].quota, before);
  blocks_.departed(crowd_.kinds[0]);
  EXPECT_EQ(blocks_.state(ledger_).groups[0].use, 0);
}

TEST_F(BlocksTest, CpuCanBreakABlockToo) {
  Crowd crowd;
  crowd.arrive(pod("four").gpus(4).cpu_milli(100000), ledger_, 1);
  crowd.arrive(pod("cpu").cpu_milli(60000), ledger_, 1);
  blocks_.learn(crowd.demand, ledger_, kLeaving);
  const auto now = blocks_.rules_for(crowd.shapes[1], crowd.kinds[1]);
  ASSERT_TRUE(now.quotas);
  EXPECT_FALSE(blocks_.allows(ledger_, crowd.shapes[1], ledger_.nodes().find("a"), 0, now));
}

// Pods with two cards may break blocks of four only while they have less than their share.
TEST(Blocks, LargerPodsGoBeforeSmallerOnesThatHaveTheirShare) {
  Ledger ledger;
  for (int i = 0; i < 4; ++i) ledger.upsert_node(node("n" + std::to_string(i)).cards(4));
  Crowd crowd;
  crowd.arrive(pod("four").gpus(4), ledger, 3);
  crowd.arrive(pod("two").gpus(2), ledger, 3);
  Blocks blocks;
  blocks.learn(crowd.demand, ledger, kLeaving);
  EXPECT_FALSE(blocks.rules_for(crowd.shapes[1], crowd.kinds[1]).quotas);
  EXPECT_EQ(blocks.state(ledger).groups.size(), 2U);
  // A third of 16 cards is for pods with two cards: two or three such pods at once.
  for (int i = 0; i < 3; ++i) {
    blocks.accepted(crowd.kinds[1], crowd.demand.kinds()[crowd.kinds[1]]);
  }
  EXPECT_TRUE(blocks.rules_for(crowd.shapes[1], crowd.kinds[1]).quotas);
  EXPECT_FALSE(blocks.rules_for(crowd.shapes[0], crowd.kinds[0]).quotas);
}

// A pod that no node accepts is refused before the blocks are updated.
TEST(Blocks, ARefusalMayComeBeforeANewNodeWasCounted) {
  Ledger ledger;
  Crowd crowd;
  for (int i = 0; i < 10; ++i) {
    const std::string name = "n" + std::to_string(i);
    ledger.upsert_node(node(name).cards(4));
    occupy(ledger, "p" + std::to_string(i), name, 2);
  }
  crowd.arrive(pod("four").gpus(4), ledger, 10);
  Blocks blocks;
  blocks.learn(crowd.demand, ledger, kLeaving);
  for (int i = 10; i < 20; ++i) ledger.upsert_node(node("n" + std::to_string(i)).cards(4));
  const PodKind kind = crowd.demand.kinds()[crowd.kinds[0]];
  blocks.refused(crowd.kinds[0], kind, ledger);
  EXPECT_EQ(blocks.state(ledger).drains.size(), 1U);
  for (int i = 0; i < 10; ++i) blocks.accepted(crowd.kinds[0], kind);
  blocks.catch_up(ledger);
  EXPECT_TRUE(blocks.state(ledger).drains.empty());
}

// A node is drained if refusals show that too few blocks are left: half of a hundred nodes are in
// use, and every refused pod needs a whole node.
TEST(Blocks, DrainsANodeAndForgetsItWithTheNode) {
  Ledger ledger;
  Crowd crowd;
  for (int i = 0; i < 10; ++i) ledger.upsert_node(node("n" + std::to_string(i)).cards(4));
  for (int i = 0; i < 10; ++i) {
    occupy(ledger, "p" + std::to_string(i), "n" + std::to_string(i), i == 3 ? 1 : 2);
  }
  crowd.arrive(pod("four").gpus(4), ledger, 10);
  crowd.arrive(pod("one").gpus(1), ledger, 1);
  Blocks blocks;
  blocks.learn(crowd.demand, ledger, kLeaving);
  EXPECT_TRUE(blocks.state(ledger).drains.empty());
  blocks.refused(crowd.kinds[0], crowd.demand.kinds()[crowd.kinds[0]], ledger);
  using Drains = std::map<std::string, std::int32_t>;
  EXPECT_EQ(blocks.state(ledger).drains, (Drains{{"n3", 4}})) << "the least is missing there";
  const auto rules = blocks.rules_for(crowd.shapes[1], crowd.kinds[1]);
  EXPECT_TRUE(rules.drains);
  EXPECT_FALSE(blocks.allows(ledger, crowd.shapes[1], ledger.nodes().find("n3"), 0b1000, rules));
  EXPECT_TRUE(blocks.allows(ledger, crowd.shapes[1], ledger.nodes().find("n4"), 0b1000, rules));

  ledger.remove_node("n3");
  ledger.release(ledger.pods().find("p3"));
  blocks.catch_up(ledger);
  EXPECT_TRUE(blocks.state(ledger).drains.empty()) << "the node is gone";
  EXPECT_FALSE(blocks.rules_for(crowd.shapes[1], crowd.kinds[1]).drains);
}

TEST(Blocks, ADrainedNodeThatIsEmptyIsABlock) {
  Ledger ledger;
  Crowd crowd;
  ledger.upsert_node(node("a").cards(4));
  const PodIndex small = occupy(ledger, "small", "a", 1);
  crowd.arrive(pod("four").gpus(4), ledger, 10);
  crowd.arrive(pod("one").gpus(1), ledger, 1);
  Blocks blocks;
  blocks.learn(crowd.demand, ledger, kLeaving);
  blocks.refused(crowd.kinds[0], crowd.demand.kinds()[crowd.kinds[0]], ledger);
  EXPECT_EQ(blocks.state(ledger).drains.size(), 1U);
  ledger.release(small);
  blocks.catch_up(ledger);
  EXPECT_TRUE(blocks.state(ledger).drains.empty());
}

// ---- incremental counts equal a recount ---------------------------------------------------------

using Step = std::pair<std::uint8_t, std::uint16_t>;

void change(Ledger& ledger, const Step& step) {
  testing::Dice dice(step.second);
  const std::string name = "n" + std::to_string(dice.below(4));
  const std::string uid = "p" + std::to_string(dice.below(6));
  switch (step.first % 5) {
    case 0:
      ledger.upsert_node(node(name)
                             .cards(2 + 2 * dice.below(3))
                             .cpu_milli(static_cast<std::int64_t>(4000 + 4000 * dice.below(2))));
      break;
    case 1:
      if (dice.one_in(3)) ledger.remove_node(name);
      break;
    case 2:
    case 3: occupy(ledger, uid, name, static_cast<std::uint32_t>(dice.below(4))); break;
    default:
      if (ledger.pods().find(uid).valid()) ledger.release(ledger.pods().find(uid));
      break;
  }
}

// The verdicts of the rules on these shapes, for every node.
std::vector<int> opinions(const Blocks& blocks, const Ledger& ledger, const Crowd& crowd) {
  std::vector<int> said;
  for (std::size_t s = 0; s < crowd.shapes.size(); ++s) {
    const auto rules = blocks.rules_for(crowd.shapes[s], crowd.kinds[s]);
    said.push_back(rules.quotas ? 1 : 0);
    said.push_back(rules.drains ? 1 : 0);
    if (!rules.any()) continue;
    for (std::size_t n = 0; n < ledger.nodes().rows(); ++n) {
      const NodeIndex index(n);
      if (!ledger.nodes().present(index)) continue;
      said.push_back(blocks.touches(index) ? 1 : 0);
      for (const CardMask used : {0b0U, 0b1U, 0b11U, 0b1100U}) {
        said.push_back(blocks.allows(ledger, crowd.shapes[s], index, used, rules) ? 1 : 0);
      }
    }
  }
  return said;
}

RC_GTEST_PROP(BlocksProperty, CountingAlongEqualsCountingAnew,
              (const std::vector<Step>& steps, std::uint8_t learn_every)) {
  Ledger ledger;
  for (int i = 0; i < 4; ++i) ledger.upsert_node(node("n" + std::to_string(i)).cards(4));
  Crowd crowd;
  crowd.arrive(pod("four").gpus(4).cpu_milli(3000), ledger, 3);
  crowd.arrive(pod("two").gpus(2).cpu_milli(2000), ledger, 5);
  crowd.arrive(pod("one").gpus(1).cpu_milli(1000), ledger, 9);
  crowd.arrive(pod("cpu").cpu_milli(3000), ledger, 1);
  Blocks along;
  along.learn(crowd.demand, ledger, kLeaving);
  std::size_t count = 0;
  for (const Step& step : steps) {
    change(ledger, step);
    if (learn_every > 0 && ++count % learn_every == 0) {
      along.learn(crowd.demand, ledger, kLeaving);
    } else {
      along.catch_up(ledger);
    }
  }
  along.learn(crowd.demand, ledger, kLeaving);  // keeps its counts and reads the demand again
  Blocks anew;
  anew.learn(crowd.demand, ledger, kLeaving);
  RC_ASSERT(opinions(along, ledger, crowd) == opinions(anew, ledger, crowd));
}

}  // namespace
}  // namespace stowage::core
