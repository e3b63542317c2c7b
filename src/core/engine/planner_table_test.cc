#include "core/engine/planner_table.h"

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;
using testing::policy;

class PlannerTableTest : public ::testing::Test {
 protected:
  PlannerTableTest() { ledger_.upsert_node(node("a").cards(2)); }

  static PodSpec wishes(std::optional<NodePolicy> node, std::uint32_t profile = 0) {
    PodSpec spec = pod("ns/p").gpus(1);
    spec.profile = profile;
    spec.wish.node = node;
    return spec;
  }

  Ledger ledger_;
  SearchSteps search_{.left = 1000};
  LoadTracker loads_{ledger_, 1000};
  PlannerTable table_{{policy("first"), policy("dual-price")},
                      {.ledger = ledger_, .search = search_, .loads = loads_}};
};

TEST_F(PlannerTableTest, APodHasThePlannerOfItsProfileUnlessItWishesForAnotherPolicy) {
  Planner& own = table_.of(wishes(std::nullopt));
  EXPECT_EQ(&own, &table_.first());
  EXPECT_NE(&own, &table_.of(wishes(std::nullopt, 1)));
  EXPECT_EQ(&own, &table_.of(wishes(own.options().choice.node)));  // the profile's own policy
  Planner& other = table_.of(wishes(NodePolicy::spread));
  EXPECT_NE(&own, &other);
  EXPECT_EQ(&other, &table_.of(wishes(NodePolicy::spread)));
  EXPECT_NE(&other, &table_.of(wishes(NodePolicy::spread, 1)));
}

TEST_F(PlannerTableTest, PlannersThatWereNotWishedForLatelyAreForgotten) {
  constexpr auto kNodes = 12;
  std::size_t made = 0;
  const auto wish_for_all = [&] {
    made = 0;
    for (int n = 0; n < kNodes; ++n) {
      for (const CardPolicy card : {CardPolicy::first, CardPolicy::spread, CardPolicy::binpack}) {
        PodSpec spec = wishes(static_cast<NodePolicy>(n));
        spec.wish.card = card;
        (void)table_.of(spec);
        ++made;
      }
    }
  };
  wish_for_all();
  ASSERT_GT(made, PlannerTable::kWishPlanners);
  PodSpec last = wishes(static_cast<NodePolicy>(kNodes - 1));
  last.wish.card = CardPolicy::binpack;
  Planner* kept = &table_.of(last);
  table_.forget_unused();
  EXPECT_EQ(kept, &table_.of(last));
  wish_for_all();  // dropped planners are created again
  EXPECT_EQ(kept, &table_.of(last));
}

TEST_F(PlannerTableTest, ProfilesThatLearnHearOfPodsThatOthersPlace) {
  const PodSpec placed = wishes(std::nullopt);
  const PodIndex index =
      ledger_.reserve(placed, NodeIndex(0U), {.containers = {{{.card = 0, .milli = 1000}}}});
  EXPECT_EQ(table_.totals().shapes, 0U);
  table_.teach_others(placed, index, Planner::Try::first);
  EXPECT_EQ(table_.totals().shapes, 1U);  // of the profile that learns
  table_.departed(index);
  PodSpec own = wishes(std::nullopt, 1);
  own.containers[0].gpu.count = 2;
  table_.teach_others(own, {}, Planner::Try::first);  // the other profile does not learn
  EXPECT_EQ(table_.totals().shapes, 1U);
}

}  // namespace
}  // namespace stowage::core
