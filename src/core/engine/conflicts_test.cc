// Pods that were given the same share of a card.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/testing/builders.h"
#include "core/testing/random.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::pod;

struct Seen {
  std::string name;
  std::int64_t placed = 0;
  std::int32_t milli = 1000;
  std::int32_t memory_mib = 0;
  std::vector<std::uint32_t> cards = {0};
  bool by_then = false;
};

PodSeenBound seen(const Seen& what) {
  PodSpec spec =
      pod("ns/" + what.name).gpus(static_cast<std::int32_t>(what.cards.size())).milli(what.milli);
  if (what.memory_mib > 0) spec.containers[0].gpu.memory_mib = what.memory_mib;
  Assignment cards;
  cards.containers.resize(spec.containers.size());
  for (const std::uint32_t card : what.cards) {
    cards.containers[0].push_back(
        {.card = card, .milli = what.milli, .memory_mib = what.memory_mib});
  }
  return {.pod = std::move(spec),
          .node = "a",
          .cards = testing::named("a", cards),
          .placed = what.placed,
          .placed_by_then = what.by_then};
}

// "later<-earlier" for each conflict, with '!' if the later one is not evicted.
std::string told(const Commands& commands) {
  std::string text;
  for (const Command& command : commands) {
    const auto* one = std::get_if<CardConflict>(&command);
    if (one == nullptr) continue;
    text += (text.empty() ? "" : " ") + one->uid.substr(3) + "<-" + one->with.substr(3) +
            (one->evict ? "" : "!");
  }
  return text;
}

std::string handle(Engine& engine, const std::vector<Seen>& pods) {
  std::string text;
  for (const Seen& each : pods) {
    const std::string more = told(engine.handle(seen(each), {}));
    text += (text.empty() || more.empty() ? "" : " ") + more;
  }
  return text;
}

TEST(Conflicts, TheOneThatWasChosenFirstStays) {
  struct Row {
    const char* name;
    std::vector<Seen> pods;
    const char* expected;
  };
  const Row rows[] = {
      {"two whole cards", {{"x", 5}, {"y", 6}}, "y<-x"},
      {"whichever is heard of first", {{"y", 6}, {"x", 5}}, "y<-x"},
      {"at the same time nobody is evicted", {{"y", 5}, {"x", 5}}, "y<-x!"},
      {"but whoever comes after them is", {{"y", 5}, {"x", 5}, {"a", 6}}, "y<-x! a<-x"},
      {"one that was there by then", {{"x", 5, 1000, 0, {0}, true}, {"y", 6}}, "y<-x"},
      {"perhaps the later one was first", {{"x", 5}, {"y", 6, 1000, 0, {0}, true}}, "y<-x!"},
      {"both by then", {{"x", 5, 1000, 0, {0}, true}, {"y", 6, 1000, 0, {0}, true}}, "y<-x!"},
      {"in doubt on one card, later on another",
       {{"x", 6, 1000, 0, {0}}, {"w", 5, 1000, 0, {1}}, {"y", 6, 1000, 0, {0, 1}}},
       "y<-w"},
      {"shares that fit", {{"x", 5, 500}, {"y", 6, 500}}, ""},
      {"shares that do not", {{"x", 5, 500}, {"y", 6, 501}}, "y<-x"},
      {"memory counts", {{"x", 5, 100, 9000}, {"y", 6, 100, 9000}}, "y<-x"},
      {"another that fits beside the first stays",
       {{"x", 5, 400}, {"z", 7, 600}, {"y", 6, 700}},
       "y<-x"},
      {"different cards", {{"x", 5}, {"y", 6, 1000, 0, {1}}}, ""},
      {"one card of several", {{"x", 5, 1000, 0, {1}}, {"y", 6, 1000, 0, {0, 1}}}, "y<-x"},
      {"the other was not placed by us", {{"x", 0}, {"y", 6}}, ""},
      {"nor this one", {{"x", 5}, {"y", 0}}, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    {  // seen while leading
      Engine engine = engine_with("first", {node("a").cards(2)});
      EXPECT_EQ(told(engine.handle(Lead{}, {})), "");
      EXPECT_EQ(handle(engine, row.pods), row.expected);
      EXPECT_EQ(handle(engine, row.pods), "") << "told once";
      EXPECT_TRUE(engine.audit().empty());
    }
    {  // seen before leading
      Engine engine = engine_with("first", {node("a").cards(2)});
      EXPECT_EQ(handle(engine, row.pods), "");
      EXPECT_EQ(told(engine.handle(Lead{}, {})), row.expected);
      EXPECT_EQ(told(engine.handle(Lead{}, {})), "");
    }
  }
}

TEST(Conflicts, AreReportedAgainInTheNextTerm) {
  Engine engine = engine_with("first", {node("a").cards(2)});
  (void)engine.handle(Lead{}, {});
  EXPECT_EQ(handle(engine, {{"x", 5}, {"y", 6}}), "y<-x");
  (void)engine.handle(StandDown{}, {});
  EXPECT_EQ(handle(engine, {{"z", 7}}), "") << "who does not lead says nothing";
  EXPECT_EQ(told(engine.handle(Lead{}, {})), "y<-x z<-x");
  EXPECT_EQ(engine.counters().conflicts, 3U);
}

TEST(Conflicts, TerminatingAndMirrorPodsAreNotEvicted) {
  Engine engine = engine_with("first", {node("a").cards(2)});
  (void)engine.handle(Lead{}, {});
  PodSeenBound going = seen({"x", 5});
  going.pod.leaving = true;
  EXPECT_EQ(told(engine.handle(going, {})), "");
  EXPECT_EQ(handle(engine, {{"y", 6}}), "") << "x goes anyway";
  PodSeenBound mirror = seen({"z", 7});
  mirror.pod.stays = true;
  EXPECT_EQ(told(engine.handle(mirror, {})), "z<-y!");
}

TEST(Conflicts, CanBeReportedWithoutEvicting) {
  Engine engine({testing::policy("first")}, {.evict_conflicts = false});
  (void)engine.handle(NodeChanged{node("a").cards(1)}, {});
  (void)engine.handle(Lead{}, {});
  EXPECT_EQ(handle(engine, {{"x", 5}, {"y", 6}}), "y<-x!");
}

TEST(Conflicts, AConflictWithAPodThatWeAreBindingIsFoundWhenItIsBound) {
  Engine engine = engine_with("first", {node("a").cards(1)});
  (void)engine.handle(Lead{}, {});
  const Commands commands = engine.handle(PodPending{pod("ns/ours").gpus(1)}, {});
  ASSERT_TRUE(std::holds_alternative<Bind>(commands.at(0)));
  EXPECT_EQ(handle(engine, {{"theirs", 5}}), "") << "ours is not bound yet";
  EXPECT_EQ(told(engine.handle(BindDone{"ns/ours"}, {})), "");
  EXPECT_EQ(handle(engine, {{"ours", 6}}), "ours<-theirs");
}

TEST(Conflicts, ANodeThatAppearsUnderItsPodsIsLookedAt) {
  Engine engine({testing::policy("first")});
  (void)engine.handle(Lead{}, {});
  EXPECT_EQ(handle(engine, {{"x", 5}, {"y", 6}}), "");
  EXPECT_EQ(told(engine.handle(NodeChanged{node("a").cards(1)}, {})), "y<-x");
}

// For any pods, seen in any order: the pods that stay fit together, the first pod stays, each
// evicted pod did not fit beside the earlier ones, and the order of events does not matter.
TEST(ConflictsProperty, RemainingPodsFitAndTheOrderOfEventsDoesNotMatter) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    testing::Dice dice(seed);
    std::vector<Seen> pods;
    const std::size_t count = 1 + dice.below(12);
    for (std::size_t i = 0; i < count; ++i) {
      Seen each{.name = "p" + std::to_string(i),
                .placed = static_cast<std::int64_t>(dice.below(7)),
                .milli = static_cast<std::int32_t>(100 * (1 + dice.below(10)))};
      each.cards.clear();
      for (std::uint32_t card = 0; card < 3; ++card) {
        if (dice.one_in(3)) each.cards.push_back(card);
      }
      if (each.cards.empty()) each.cards.push_back(0);
      pods.push_back(std::move(each));
    }
    std::set<std::string> outcomes;
    std::string evicted;
    for (int order = 0; order < 3; ++order) {
      Engine engine = engine_with("first", {node("a").cards(3)});
      EXPECT_EQ(handle(engine, pods), "");
      evicted = " " + told(engine.handle(Lead{}, {}));
      outcomes.insert(evicted);
      EXPECT_TRUE(engine.audit().empty());
      std::reverse(pods.begin(), pods.end());
      if (order == 1) std::rotate(pods.begin(), pods.begin() + 1, pods.end());
    }
    ASSERT_EQ(outcomes.size(), 1U);
    std::map<std::uint32_t, std::int32_t> used;
    std::sort(pods.begin(), pods.end(), [](const Seen& a, const Seen& b) {
      return std::tie(a.placed, a.name) < std::tie(b.placed, b.name);
    });
    bool first = true;
    for (const Seen& each : pods) {
      const bool goes = evicted.find(" " + each.name + "<-") != std::string::npos;
      if (each.placed == 0) {
        EXPECT_FALSE(goes) << each.name;
        continue;
      }
      const bool fits = std::all_of(each.cards.begin(), each.cards.end(), [&](std::uint32_t card) {
        return used[card] + each.milli <= kMilliPerCard;
      });
      EXPECT_EQ(goes, !fits) << each.name;
      EXPECT_FALSE(first && goes) << each.name;
      first = false;
      if (!goes) {
        for (const std::uint32_t card : each.cards) used[card] += each.milli;
      }
    }
  }
}

}  // namespace
}  // namespace stowage::core
