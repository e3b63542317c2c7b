// Charges on cards with unknown positions: by number, and when the cards of a node change.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/engine/engine.h"
#include "core/ledger/survey.h"
#include "core/testing/builders.h"
#include "core/testing/random.h"

namespace stowage::core {
namespace {

using testing::add;
using testing::Dice;
using testing::end;
using testing::engine_with;
using testing::node;
using testing::place;
using testing::pod;

NodeSpec counted(std::size_t cards) { return node("n").cards(cards).memory_mib(1000); }

NodeSpec named(std::size_t cards) {
  NodeSpec spec = counted(cards);
  for (Card& card : spec.cards) card.id = "GPU-" + std::to_string(card.index);
  return spec;
}

PodSpec by_number(const std::string& uid, Naming naming, int cards = 1) {
  PodSpec spec = pod(uid).gpus(cards);
  spec.naming = naming;
  return spec;
}

void see(Engine& engine, const PodSpec& spec) {
  const PodSeenBound event{.pod = spec, .node = "n", .cards = std::nullopt};
  EXPECT_TRUE(engine.handle(event, {}).empty());
  EXPECT_EQ(engine.audit(), std::vector<std::string>{});
}

// ---- the cards of a node change -----------------------------------------------------------------

struct ShrinkRow {
  const char* name;
  Naming naming;
};

TEST(CountedCards, AFifthPodIsRefusedWhenFourCardsBecomeThreeAndOneOfFourPodsEnds) {
  for (const auto& row : {ShrinkRow{"named", Naming::always},
                          {"named where they can be", Naming::if_known},
                          {"by number", Naming::never}}) {
    for (const char* ends : {"p0", "p1", "p2", "p3"}) {
      SCOPED_TRACE(std::string(row.name) + ", " + ends + " ends");
      Engine engine = engine_with("first", {counted(4)});
      for (const char* uid : {"p0", "p1", "p2", "p3"}) {
        ASSERT_TRUE(place(engine, by_number(uid, row.naming)).placed());
      }
      add(engine, counted(3));
      EXPECT_FALSE(place(engine, by_number("fifth", row.naming)).placed());
      end(engine, ends);
      EXPECT_FALSE(place(engine, by_number("fifth", row.naming)).placed());
      EXPECT_EQ(engine.audit(), std::vector<std::string>{});
      add(engine, counted(4));  // and everything is as before
      EXPECT_TRUE(place(engine, by_number("fifth", row.naming)).placed());
      EXPECT_FALSE(place(engine, by_number("sixth", row.naming)).placed());
      EXPECT_EQ(engine.audit(), std::vector<std::string>{});
    }
  }
}

TEST(CountedCards, TwoOfFourPodsHaveToEndWhenFourCardsBecomeThree) {
  Engine engine = engine_with("first", {counted(4)});
  for (const char* uid : {"p0", "p1", "p2", "p3"}) {
    ASSERT_TRUE(place(engine, by_number(uid, Naming::if_known)).placed());
  }
  add(engine, counted(3));
  end(engine, "p0");
  end(engine, "p1");
  EXPECT_TRUE(place(engine, by_number("fifth", Naming::if_known)).placed());
  EXPECT_FALSE(place(engine, by_number("sixth", Naming::if_known)).placed());
}

TEST(CountedCards, ADevicePluginThatRestartsFindsItsPodsCharged) {
  Engine engine = engine_with("first", {counted(4)});
  for (const char* uid : {"p0", "p1", "p2"}) ASSERT_TRUE(place(engine, pod(uid).gpus(1)).placed());
  add(engine, counted(0));
  add(engine, counted(1));
  EXPECT_FALSE(place(engine, pod("p").gpus(1)).placed());
  add(engine, counted(4));
  EXPECT_EQ(place(engine, pod("p").gpus(1)).text(), "n 3");
  EXPECT_EQ(engine.audit(), std::vector<std::string>{});
}

TEST(CountedCards, AShareOnAVanishedCardCountsOnEveryCard) {
  Engine engine = engine_with("first", {counted(2)});
  ASSERT_TRUE(place(engine, pod("a").milli(800)).placed());
  ASSERT_EQ(place(engine, pod("b").milli(300).memory_mib(100)).text(), "n 1");
  add(engine, counted(1));
  EXPECT_FALSE(place(engine, pod("c").milli(200)).placed()) << "1100 of 1000 are given";
  end(engine, "a");
  EXPECT_FALSE(place(engine, pod("c").milli(701)).placed());
  EXPECT_FALSE(place(engine, pod("c").milli(700).memory_mib(901)).placed());
  EXPECT_TRUE(place(engine, pod("c").milli(700).memory_mib(900)).placed());
  EXPECT_EQ(engine.audit(), std::vector<std::string>{});
}

TEST(CountedCards, AWholeCardThatFindsNoCardFreeClosesThoseThatAreShared) {
  Engine engine = engine_with("first", {counted(2)});
  ASSERT_TRUE(place(engine, pod("share").milli(500)).placed());
  ASSERT_EQ(place(engine, pod("whole").gpus(1)).text(), "n 1");
  add(engine, counted(1));
  EXPECT_FALSE(place(engine, pod("p").milli(500)).placed()) << "1500 of 1000 are given";
  end(engine, "whole");
  EXPECT_TRUE(place(engine, pod("p").milli(500)).placed());
}

TEST(NamedCards, ACardThatLeavesTakesItsChargesAlong) {
  Engine engine = engine_with("first", {named(4)});
  for (const char* uid : {"p0", "p1", "p2", "p3"}) {
    ASSERT_TRUE(place(engine, pod(uid).gpus(1)).placed());
  }
  add(engine, named(3));
  end(engine, "p1");
  EXPECT_EQ(place(engine, pod("fifth").gpus(1)).text(), "n 1") << "p3 has GPU-3, which is gone";
  EXPECT_EQ(engine.audit(), std::vector<std::string>{});
}

// A counted card may be any of those that the node reports by id later; their order is unknown.
TEST(CountedCards, OneMayBeAnyOfThoseThatAreListedLater) {
  Engine engine = engine_with("first", {counted(3)});
  ASSERT_TRUE(place(engine, pod("p0").gpus(1)).placed());
  ASSERT_TRUE(place(engine, pod("p1").gpus(1).milli(400)).placed());
  end(engine, "p0");
  add(engine, named(3));  // the agent starts
  EXPECT_FALSE(place(engine, pod("p2").gpus(1)).placed());
  EXPECT_FALSE(place(engine, pod("p3").gpus(1).milli(700)).placed());
  EXPECT_TRUE(place(engine, pod("p4").gpus(1).milli(600)).placed());
  EXPECT_TRUE(place(engine, by_number("p5", Naming::if_known)).placed());
  EXPECT_FALSE(place(engine, by_number("p6", Naming::if_known)).placed());
  add(engine, counted(3));  // and stops: p1 is on the same card as before
  EXPECT_EQ(engine.audit(), std::vector<std::string>{});
  end(engine, "p4");
  end(engine, "p5");
  EXPECT_EQ(place(engine, pod("p7").gpus(2)).cards_text(), "0,2");
  EXPECT_EQ(engine.audit(), std::vector<std::string>{});
}

// When the cards have ids again, an index may belong to another card.
TEST(NamedCards, OneMayBeAnyOfThoseThatAreOnlyCounted) {
  Engine engine = engine_with("first", {named(3)});
  ASSERT_TRUE(place(engine, pod("p0").gpus(1)).placed());
  ASSERT_TRUE(place(engine, pod("p1").gpus(1)).placed());
  end(engine, "p0");
  add(engine, counted(3));  // the agent stops
  EXPECT_FALSE(place(engine, pod("p2").gpus(1)).placed());
  EXPECT_TRUE(place(engine, by_number("p3", Naming::if_known, 2)).placed());
  EXPECT_FALSE(place(engine, by_number("p4", Naming::if_known)).placed());
  EXPECT_EQ(engine.audit(), std::vector<std::string>{});
  end(engine, "p3");
  add(engine, named(3));
  EXPECT_EQ(place(engine, pod("p5").gpus(2)).cards_text(), "0,2");
  EXPECT_EQ(engine.audit(), std::vector<std::string>{});
}

// The ids of the cards are not reported for a while; afterwards the cards have other indexes.
TEST(NamedCards, AChargeFollowsItsNameWhenTheCardsWereOnlyCountedForAWhile) {
  for (const bool gone : {false, true}) {
    SCOPED_TRACE(gone ? "the node was away" : "its inventory was away");
    Engine engine = engine_with("first", {named(2)});
    ASSERT_EQ(place(engine, pod("p").gpus(1)).text(), "n 0");
    if (gone) (void)engine.handle(NodeGone{"n"}, {});
    for (const std::size_t cards : {2U, 1U, 3U}) add(engine, counted(cards));
    NodeSpec turned = named(2);
    std::swap(turned.cards[0].id, turned.cards[1].id);
    add(engine, turned);
    EXPECT_EQ(place(engine, pod("q").gpus(1)).text(), "n 0") << "p has GPU-0, which is second now";
    EXPECT_FALSE(place(engine, pod("r").gpus(1)).placed());
    EXPECT_EQ(engine.audit(), std::vector<std::string>{});
  }
}

TEST(NamedCards, OneThatWasReplacedWhileTheCardsWereOnlyCountedIsReleased) {
  Engine engine = engine_with("first", {named(2)});
  ASSERT_EQ(place(engine, pod("p").gpus(1)).text(), "n 0");
  add(engine, counted(2));
  NodeSpec other = named(2);
  other.cards[0].id = "GPU-new";
  add(engine, other);
  EXPECT_TRUE(place(engine, pod("q").gpus(2)).placed());
  add(engine, named(2));
  EXPECT_FALSE(place(engine, pod("r").gpus(1)).placed()) << "it is back, and p has it";
  EXPECT_EQ(engine.audit(), std::vector<std::string>{});
}

// The same for external pods: a pre-allocated card is identified by its id.
TEST(NamedCards, AHoldFollowsItsNameToo) {
  Engine engine = engine_with("first", {named(3)});
  Commands out;
  const auto held = [&](const std::string& uid) {
    return *engine.filter({.pod = pod(uid).gpus(1), .nodes = {"n"}, .until = {1}}, {}, out).held;
  };
  ASSERT_EQ(held("x").cards.containers[0][0].card, "GPU-0");
  const CardPlacement pre_allocated = held("p");
  ASSERT_EQ(pre_allocated.cards.containers[0][0].card, "GPU-1");
  (void)engine.handle(NodeGone{"n"}, {});
  add(engine, counted(2));
  EXPECT_FALSE(engine.holds("p", pre_allocated)) << "nobody knows which one it is";
  NodeSpec left = named(3);
  left.cards.erase(left.cards.begin());
  for (Card& card : left.cards) --card.index;
  add(engine, left);
  EXPECT_TRUE(engine.holds("p", pre_allocated));
  EXPECT_EQ(held("r").cards.containers[0][0].card, "GPU-2");
  end(engine, "x");
  EXPECT_FALSE(place(engine, pod("s").gpus(1)).placed()) << "x had the one that has gone";
  EXPECT_EQ(engine.audit(), std::vector<std::string>{});
}

TEST(CountedCards, AHoldOfANumberIsNoneOnceTheCardsHaveNames) {
  Engine engine = engine_with("first", {counted(2)});
  Commands out;
  const FilterRequest ask{.pod = pod("p").gpus(1), .nodes = {"n"}, .until = {1}};
  const CardPlacement place = *engine.filter(ask, {}, out).held;
  EXPECT_TRUE(engine.holds("p", place));
  add(engine, named(2));
  EXPECT_FALSE(engine.holds("p", place));
  const ReserveAnswer claimed = engine.reserve({.pod = ask.pod, .node = "n"}, {}, out);
  EXPECT_EQ(claimed.place->cards.containers[0][0].card, "GPU-0");
}

TEST(NamedCards, OneThatIsNotAmongTheCountedOnesMayBeAnyOfThem) {
  Engine engine = engine_with("first", {named(3)});
  ASSERT_EQ(place(engine, pod("p0").gpus(2)).cards_text(), "0,1");
  ASSERT_EQ(place(engine, pod("p1").gpus(1)).cards_text(), "2");
  add(engine, counted(2));
  end(engine, "p0");
  EXPECT_FALSE(place(engine, pod("p").gpus(1)).placed());
  EXPECT_EQ(place(engine, by_number("q", Naming::never)).text(), "n -");
  EXPECT_FALSE(place(engine, by_number("r", Naming::never)).placed());
}

// ---- by number ----------------------------------------------------------------------------------

TEST(ByNumber, APodCountsAllCardsThatItHasAShareOf) {
  Engine engine = engine_with("first", {counted(4)});
  see(engine, pod("u").gpus(3).milli(300));
  EXPECT_FALSE(place(engine, by_number("p", Naming::never, 2)).placed());
  EXPECT_TRUE(place(engine, by_number("p", Naming::never)).placed());
  EXPECT_FALSE(place(engine, by_number("q", Naming::never)).placed());
}

TEST(ByNumber, EveryContainerCountsByItsPhase) {
  Engine engine = engine_with("first", {counted(8)});
  see(engine, pod("u")
                  .init("i")
                  .gpus(3)
                  .milli(100)
                  .sidecar("s")
                  .gpus(1)
                  .container("a")
                  .gpus(1)
                  .milli(500)
                  .container("b")
                  .gpus(1)
                  .milli(500));
  // The sidecar has one whole card; the init container, or the other two, have at most three cards.
  EXPECT_FALSE(place(engine, by_number("p", Naming::never, 5)).placed());
  EXPECT_TRUE(place(engine, by_number("p", Naming::never, 4)).placed());
}

TEST(ByNumber, AnInitContainerHasTheCardsThatItsPodHasLater) {
  Engine engine = engine_with("first", {counted(2)});
  PodSpec two = pod("p").init("i").gpus(1).container("c").gpus(1);
  two.naming = Naming::never;
  EXPECT_EQ(place(engine, two).text(), "n -|-");
  EXPECT_TRUE(place(engine, by_number("q", Naming::never)).placed());
  EXPECT_FALSE(place(engine, by_number("r", Naming::never)).placed());
}

TEST(ByNumber, ASurveyCountsAllUnnamedShares) {
  Engine engine = engine_with("first", {counted(4)});
  see(engine, pod("u").gpus(3).milli(300));
  EXPECT_EQ(take_survey(engine.ledger()).models.at(0).given_milli, 900);
}

// ---- comparison with a model --------------------------------------------------------------------

// One node. Pods have whole cards or a share of one. The model adds up the charges of each pod and
// uses only the cards that the pod names.
class OneNode {
 public:
  using Step = std::pair<std::uint8_t, std::uint16_t>;

  void step(const Step& step) {
    Dice dice(step.second);
    const std::string uid = "p" + std::to_string(dice.below(8));
    switch (step.first % 8) {
      case 0: show(dice); break;
      case 1:
      case 2: put(dice, uid); break;
      case 3: seen_unknown(dice, uid); break;
      case 4: named_later(dice, uid); break;
      case 5:
      case 6:
        end(engine_, uid);
        pods_.erase(uid);
        break;
      default:
        (void)engine_.handle(NodeGone{"n"}, {});
        shown_.reset();
        break;
    }
    RC_ASSERT(engine_.audit().empty());
    check();
  }

 private:
  struct Has {
    int milli = 0;                   // per card
    int cards = 0;                   // number of cards
    std::vector<std::string> named;  // ids; empty: unknown
  };

  void show(Dice& dice) {  // shrinks, grows, permutes, replaces
    names_ = names_come_ ? dice.one_in(2) : names_;
    NodeSpec spec = node("n").cards(dice.below(5)).memory_mib(1000);
    const std::size_t from = dice.below(3);
    for (Card& card : spec.cards) {
      if (names_) card.id = "GPU-" + std::to_string(from + static_cast<std::size_t>(card.index));
    }
    if (spec.cards.size() > 1 && dice.one_in(2)) std::swap(spec.cards.front(), spec.cards.back());
    add(engine_, spec);
    shown_ = spec;
  }

  void put(Dice& dice, const std::string& uid) {
    if (pods_.contains(uid)) return;
    const int milli = dice.pick({kMilliPerCard, kMilliPerCard, 300, 500});
    const int cards = dice.pick({1, 1, 2});
    PodSpec spec = pod(uid).gpus(cards);
    if (milli < kMilliPerCard) spec.containers[0].gpu.milli = milli;
    spec.naming = dice.pick({Naming::always, Naming::if_known, Naming::never});
    const auto placed = place(engine_, spec);
    if (!placed.placed()) return;
    Has has{.milli = milli, .cards = cards};
    for (const auto card : placed.cards[0]) has.named.push_back(shown_->cards[card].id);
    must_fit(has);
    pods_[uid] = has;
  }

  void seen_unknown(Dice& dice, const std::string& uid) {
    if (pods_.contains(uid)) return;
    const int milli = dice.pick({kMilliPerCard, 200});
    const int cards = dice.pick({1, 2});
    PodSpec spec = pod(uid).gpus(cards);
    if (milli < kMilliPerCard) spec.containers[0].gpu.milli = milli;
    (void)engine_.handle(PodSeenBound{.pod = spec, .node = "n", .cards = std::nullopt}, {});
    pods_[uid] = {.milli = milli, .cards = cards};
  }

  // The cards of the pod become known.
  void named_later(Dice& dice, const std::string& uid) {
    const auto found = pods_.find(uid);
    if (found == pods_.end() || !shown_ || !found->second.named.empty()) return;
    Has& has = found->second;
    if (shown_->cards.size() < static_cast<std::size_t>(has.cards)) return;
    PodSpec spec = pod(uid).gpus(has.cards);
    if (has.milli < kMilliPerCard) spec.containers[0].gpu.milli = has.milli;
    Assignment cards{.containers = {{}}};
    const std::size_t from = dice.below(shown_->cards.size());
    for (int i = 0; i < has.cards; ++i) {
      const auto at = (from + static_cast<std::size_t>(i)) % shown_->cards.size();
      const bool whole = has.milli == kMilliPerCard;
      cards.containers[0].push_back({.card = static_cast<std::uint32_t>(at),
                                     .milli = has.milli,
                                     .memory_mib = whole ? 1000 : 0});
      has.named.push_back(shown_->cards[at].id);
    }
    (void)engine_.handle(PodSeenBound{.pod = spec, .node = "n", .cards = by_id(cards, *shown_)},
                         {});
  }

  [[nodiscard]] bool shows(const std::string& id) const {
    return shown_ && std::any_of(shown_->cards.begin(), shown_->cards.end(),
                                 [&](const Card& card) { return card.id == id; });
  }

  struct Sum {
    std::map<std::string, int> milli;  // by id
    int whole = 0;                     // unnamed
    int shares = 0;                    // unnamed: cards
    int share_milli = 0;               // on any single card
  };
  [[nodiscard]] Sum add_up() const {
    Sum sum;
    for (const auto& [uid, has] : pods_) {
      const bool whole = has.milli == kMilliPerCard;
      for (const std::string& id : has.named) {
        if (shows(id)) {
          sum.milli[id] += has.milli;
        } else if (id.starts_with("n/") || (!names_ && shown_ && !shown_->cards.empty())) {
          ++(whole ? sum.whole : sum.shares);
          sum.share_milli += whole ? 0 : has.milli;
        }
      }
      if (!has.named.empty()) continue;
      (whole ? sum.whole : sum.shares) += has.cards;
      sum.share_milli += whole ? 0 : has.milli;
    }
    return sum;
  }

  // Call it before the pod is added.
  void must_fit(const Has& has) const {
    const Sum sum = add_up();
    const int idle = static_cast<int>(shown_->cards.size() - sum.milli.size());
    if (has.named.empty()) {
      RC_ASSERT(idle - sum.whole - sum.shares >= has.cards);
      return;
    }
    RC_ASSERT(sum.whole <= idle);
    for (const std::string& id : has.named) {
      const auto used = sum.milli.find(id);
      RC_ASSERT(used != sum.milli.end() || sum.whole == 0);
      const int milli = used == sum.milli.end() ? 0 : used->second;
      RC_ASSERT(milli + sum.share_milli + has.milli <= kMilliPerCard);
    }
  }

  void check() const {
    if (!shown_) return;
    const Sum sum = add_up();
    const NodeIndex at = engine_.ledger().nodes().find("n");
    const ByNumber free = engine_.ledger().nodes().record(at).by_number();
    RC_ASSERT(static_cast<std::size_t>(std::popcount(free.idle)) ==
              shown_->cards.size() - sum.milli.size());
    RC_ASSERT(free.unnamed == sum.whole + sum.shares);
  }

 public:
  enum class Names : std::uint8_t { never, always, come_and_go };
  explicit OneNode(Names names)
      : names_(names == Names::always), names_come_(names == Names::come_and_go) {}

 private:
  bool names_;  // cards have ids of their own
  bool names_come_;
  Engine engine_ = engine_with("first", {});
  std::optional<NodeSpec> shown_;
  std::map<std::string, Has> pods_;
};

RC_GTEST_PROP(UnnamedProperty, EqualsARecountWhileCountedCardsComeAndGo,
              (const std::vector<OneNode::Step>& steps)) {
  OneNode world(OneNode::Names::never);
  for (const auto& step : steps) world.step(step);
}

RC_GTEST_PROP(UnnamedProperty, EqualsARecountWhileNamedCardsComeAndGo,
              (const std::vector<OneNode::Step>& steps)) {
  OneNode world(OneNode::Names::always);
  for (const auto& step : steps) world.step(step);
}

RC_GTEST_PROP(UnnamedProperty, EqualsARecountWhileNamesComeAndGo,
              (const std::vector<OneNode::Step>& steps)) {
  OneNode world(OneNode::Names::come_and_go);
  for (const auto& step : steps) world.step(step);
}

}  // namespace
}  // namespace stowage::core
