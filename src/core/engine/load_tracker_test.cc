#include "core/engine/load_tracker.h"

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

class LoadTrackerTest : public ::testing::Test {
 protected:
  LoadTrackerTest() : node_(ledger_.upsert_node(node("a").cards(2))) {}

  void measure(std::int32_t permille) {
    loads_.measured({.node = "a",
                     .busy = {{ledger_.nodes().spec(node_).cards[0].id, permille}},
                     .until = {1000}});
  }
  [[nodiscard]] std::int32_t busy() const {
    return ledger_.nodes().record(node_).busy.empty() ? -1 : ledger_.nodes().record(node_).busy[0];
  }

  Ledger ledger_;
  NodeIndex node_;
  LoadTracker loads_{ledger_, 100};
};

constexpr PolicyChoice kByLoad{.node = NodePolicy::load, .card = CardPolicy::first};
constexpr PolicyChoice kOther{.node = NodePolicy::first, .card = CardPolicy::first};

TEST_F(LoadTrackerTest, NodesCountAsChangedOnlyOnceAPolicyGoesByIt) {
  loads_.choice_options(kOther);
  std::uint64_t changes = ledger_.changes().count();
  measure(500);
  EXPECT_EQ(busy(), 500);
  EXPECT_EQ(ledger_.changes().count(), changes);
  loads_.choice_options(kByLoad);
  measure(700);
  EXPECT_GT(ledger_.changes().count(), changes);
  changes = ledger_.changes().count();
  measure(700);
  EXPECT_EQ(ledger_.changes().count(), changes);
}

TEST_F(LoadTrackerTest, APodThatWasPlacedCountsUntilItShowsInWhatIsMeasured) {
  const PodSpec spec = pod("ns/p").gpus(1);
  const PodIndex placed =
      ledger_.reserve(spec, node_, {.containers = {{{.card = 0, .milli = 300}}}});
  measure(100);
  loads_.expect(placed, {0});
  EXPECT_EQ(busy(), 100);  // no policy uses loads yet
  loads_.choice_options(kByLoad);
  loads_.expect(placed, {0});
  EXPECT_EQ(busy(), 400);
  loads_.expire({100});
  EXPECT_EQ(busy(), 100);
  loads_.expire({1000});
  EXPECT_EQ(busy(), -1);
  EXPECT_EQ(loads_.nodes(), 0U);
}

TEST_F(LoadTrackerTest, ClearForgetsEverything) {
  measure(100);
  loads_.clear();
  EXPECT_EQ(busy(), -1);
  EXPECT_EQ(loads_.nodes(), 0U);
}

}  // namespace
}  // namespace stowage::core
