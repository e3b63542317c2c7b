// The card policy `topology`: one whole card from the smallest linked group, several from the best
// connected group, shares on the fullest card, as in gpu-manager.
#include <bit>

#include <gtest/gtest.h>

#include "core/place/topology_tree.h"
#include "core/testing/builders.h"

namespace stowage::core::testing {
namespace {

constexpr std::int32_t kCardMib = 1024;
constexpr std::int32_t kBlockMib = 256;

// Three pairs behind switches; the first two share a host bridge.
LinkMatrix three_pairs() {
  return links(6)
      .join(link::kSingleSwitch, {{0, 1}, {2, 3}, {4, 5}})
      .within({0, 1, 2, 3}, link::kHostBridge)
      .rest(link::kCrossCpu);
}

NodeBuilder six_cards() { return node("n").cards(6).memory_mib(kCardMib).linked(three_pairs()); }

TEST(TopologyCards, ChoosesTheCardsOfOneContainer) {
  struct Case {
    std::string name;
    NodeSpec node;
    std::vector<std::pair<std::uint32_t, Use>> used;
    PodSpec pod;
    std::string cards;
  };
  const Use whole{.milli = 1000, .memory_mib = kCardMib};
  const Use half{.milli = 500, .memory_mib = kBlockMib};
  const PodSpec share50 = pod("p").milli(500).memory_mib(kBlockMib);
  const PodSpec share60 = pod("p").milli(600).memory_mib(kBlockMib);
  const std::vector<Case> rows{
      {"one card completes the pair that is broken",
       six_cards(),
       {{4, whole}},
       pod("p").gpus(1),
       "5"},
      {"the only card", node("n").cards(1).linked(links(1)), {}, pod("p").gpus(1), "0"},
      {"three cards lie under one host bridge", six_cards(), {}, pod("p").gpus(3), "0,1,2"},
      {"two cards are a pair that is whole", six_cards(), {{2, whole}}, pod("p").gpus(2), "0,1"},
      {"a share takes the first of equal cards", six_cards(), {}, share50, "0"},
      {"a share takes the next card where the used one is too full",
       six_cards(),
       {{0, half}},
       share60,
       "1"},
      {"a share takes the fullest card that holds it", six_cards(), {{5, half}}, share50, "5"},
      {"a full card is passed over, and free ones go by index",
       six_cards(),
       {{5, whole}},
       share50,
       "0"},
  };
  for (const Case& row : rows) {
    Engine engine = engine_with("tightest/topology", {row.node});
    for (const auto& [card, use] : row.used) occupy(engine, "n", card, use);
    EXPECT_EQ(place(engine, row.pod).cards_text(), row.cards) << row.name;
  }
}

// Two cards are chosen as a group (above). If they are chosen as fragments, a pair outside any
// larger group is taken first.
TEST(TopologyCards, FragmentTakesTheSmallestGroup) {
  EXPECT_EQ(choose_fragment(three_pairs(), first_cards(6), 2), CardMask{0b110000});
}

TEST(TopologyCards, CountsFreeCards) {
  for (const std::size_t cards : {std::size_t{1}, std::size_t{6}}) {
    for (const std::int32_t milli : {500, 1000}) {
      Engine engine = engine_with("tightest/topology", {node("n").cards(cards)});
      const auto free = [&] {
        const NodeIndex index = engine.ledger().nodes().find("n");
        return static_cast<std::size_t>(std::popcount(engine.ledger().nodes().state(index).whole));
      };
      EXPECT_EQ(free(), cards);
      const std::string holder = occupy(engine, "n", 0, {.milli = milli, .memory_mib = 1});
      EXPECT_EQ(free(), cards - 1) << milli << " milli in use";
      end(engine, holder);
      EXPECT_EQ(free(), cards) << milli << " milli freed again";
    }
  }
}

TEST(TopologyCards, FollowsPodsComingAndGoing) {
  struct Move {
    std::string pod;
    PodSpec wants;  // without containers: the pod ends
    std::string cards;
  };
  const auto share = [](const std::string& name, std::int32_t milli) {
    return pod(name).milli(milli).memory_mib(kBlockMib);
  };
  const std::vector<Move> steps{
      {"pod-1", pod("pod-1").gpus(3).container("idle"), "0,1,2|-"},
      {"pod-2", pod("pod-2").gpus(1).container("second").gpus(1), "3|4"},
      {"pod-3", pod("pod-3").gpus(1), "5"},
      {"pod-2", pod("pod-2"), ""},
      {"pod-4", share("pod-4", 500), "3"},
      {"pod-5", share("pod-5", 600), "4"},
      {"pod-6", share("pod-6", 500), "3"},
      {"pod-5", pod("pod-5"), ""},
      {"pod-7", pod("pod-7").gpus(1), "4"},
  };
  Engine engine = engine_with("tightest/topology", {six_cards()});
  for (const Move& step : steps) {
    if (step.wants.containers.empty()) {
      end(engine, step.pod);
    } else {
      EXPECT_EQ(place(engine, step.wants).cards_text(), step.cards) << step.pod;
    }
  }
  for (const CardState& card : engine.ledger().nodes().cards(engine.ledger().nodes().find("n"))) {
    EXPECT_EQ(card.milli_free, 0);
  }
}

TEST(TopologyCards, ChargesAPodOnceHoweverOftenItIsOffered) {
  Engine engine = engine_with("tightest/topology", {six_cards()});
  const PodSpec all = pod("p").gpus(6);
  EXPECT_EQ(place(engine, all).cards_text(), "0,1,2,3,4,5");
  EXPECT_TRUE(engine.handle(PodPending{all}, base::Instant{}).empty());
  EXPECT_EQ(engine.ledger().pods().count(), 1U);
  EXPECT_TRUE(engine.ledger().nodes().debts().empty());
}

}  // namespace
}  // namespace stowage::core::testing
