// Special cases of a filter's answers. The common ones are tested with the engine
// (engine/neighbours_test.cc, engine/oracle_test.cc).
#include "core/affinity/affinity_filter.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/affinity/affinity_index.h"
#include "core/affinity/removed_pods.h"
#include "core/testing/affinity.h"
#include "core/testing/random.h"

namespace stowage::core {
namespace {

using testing::app_term;
using testing::labelled_pod;

std::string text(const char* before, std::size_t i) { return before + std::to_string(i); }

class AffinityFilterTest : public ::testing::Test {
 protected:
  AffinityFilterTest() {
    testing::add_nodes(ledger_, 30, 3);
    index_.nodes_changed();
  }
  static PodSpec make(std::size_t i) { return labelled_pod(text("p", i)); }
  Ledger ledger_;
  AffinityIndex index_{ledger_};
};

// Many terms of others are merged, which changes no answer.
TEST_F(AffinityFilterTest, MergedTermsOfOthers) {
  PodSpec web = make(1);
  web.constraints.labels = {{"app", "web"}};
  for (std::size_t i = 0; i < 600; ++i) {
    PodSpec hostile = make(1000 + i);
    PodTerm broad = app_term("web", i % 2 == 0 ? "host" : text("nowhere", i));
    broad.selector.all.push_back({.key = text("no", i), .op = Requirement::Op::does_not_exist});
    hostile.constraints.anti_affinity = {broad};
    index_.add(PodIndex(i), NodeIndex(i % 20), hostile);
    if (i % 50 != 49 && i > 40) continue;
    const AffinityFilter filter = index_.filter(web);
    for (std::size_t n = 0; n < 30; ++n) {
      const bool excluded = n < 20 && n % 2 == 0 && n <= i;
      ASSERT_EQ(filter.check(NodeIndex(n)),
                excluded ? ReasonCode::others_anti_affinity : ReasonCode::none)
          << i << " " << n;
    }
  }
}

PodSpec random_neighbour(testing::Dice& dice, std::size_t i) {
  PodSpec made = labelled_pod(text("p", i));
  made.leaving = dice.one_in(4);
  PodConstraints& constraints = made.constraints;
  const auto app = [&] { return text("a", dice.below(3)); };
  const auto key = [&] { return dice.pick({"host", "zone", "zone", "rack"}); };
  if (!dice.one_in(5)) constraints.labels = {{"app", app()}};
  if (dice.one_in(3)) constraints.anti_affinity.push_back(app_term(app(), key()));
  if (dice.one_in(6)) constraints.anti_affinity.push_back(app_term(app(), key()));
  if (dice.one_in(3)) constraints.affinity.push_back(app_term(app(), key()));
  if (dice.one_in(8)) constraints.affinity.push_back(app_term(app(), key()));
  for (std::size_t rules = dice.below(3); rules > 0; --rules) {
    constraints.spread.push_back({.topology_key = dice.pick({"host", "zone"}),
                                  .max_skew = dice.pick({1, 2}),
                                  .min_domains = dice.pick({1, 1, 4}),
                                  .selector = {.all = {{.key = "app", .values = {app()}}}}});
  }
  if (dice.one_in(3)) {
    constraints.ports = {{.protocol = "TCP", .port = dice.pick({80, 90})}};
  }
  return made;
}

// A dry run without some pods gives the answer that removing them gives.
TEST_F(AffinityFilterTest, ADryRunIgnoresRemovedPods) {
  std::size_t differs = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    testing::Dice dice(seed);
    std::vector<std::pair<PodSpec, NodeIndex>> pods;
    const std::size_t count = 1 + dice.below(seed % 10 == 0 ? 400 : 40);
    for (std::size_t i = 0; i < count; ++i) {
      pods.emplace_back(random_neighbour(dice, i), NodeIndex(dice.below(6)));
      // Many terms of others are merged.
      if (seed % 10 == 0 && i % 2 == 0) {
        PodTerm broad = app_term(text("a", i % 3), dice.pick({"host", "zone"}));
        broad.selector.all.push_back({.key = text("no", i), .op = Requirement::Op::does_not_exist});
        pods.back().first.constraints.anti_affinity.push_back(broad);
      }
      index_.add(PodIndex(i), pods.back().second, pods.back().first);
    }
    const PodSpec asks = random_neighbour(dice, 1000);
    for (std::size_t n = 0; n < 6; ++n) {
      const NodeIndex node(n);
      const AffinityFilter filter = index_.filter(asks);
      RemovedPods removed(index_);
      std::vector<std::size_t> gone;
      for (std::size_t i = 0; i < count; ++i) {
        if (pods[i].second != node) continue;
        removed.take(PodIndex(i));
        if (dice.one_in(3)) {
          removed.put_back(PodIndex(i));
        } else {
          gone.push_back(i);
        }
      }
      const std::uint64_t changes = index_.changes();
      const ReasonCode dry = filter.check(node, &removed);
      EXPECT_EQ(index_.changes(), changes);
      differs += dry != filter.check(node) ? 1U : 0U;
      for (const std::size_t i : gone) index_.remove(PodIndex(i));
      ASSERT_EQ(dry, index_.filter(asks).check(node)) << seed << " " << n;
      for (const std::size_t i : gone) index_.add(PodIndex(i), node, pods[i].first);
    }
    for (std::size_t i = 0; i < count; ++i) index_.remove(PodIndex(i));
  }
  EXPECT_GT(differs, 50U);
}

TEST_F(AffinityFilterTest, ScoresCountPodsInTheNodesDomains) {
  PodSpec web = make(0);
  web.constraints.labels = {{"app", "web"}};
  index_.add(PodIndex(0U), NodeIndex(0U), web);
  index_.add(PodIndex(1U), NodeIndex(3U), web);
  PodSpec asks = make(1);
  EXPECT_FALSE(index_.filter(asks).prefers());
  PodTerm near = app_term("web", "zone");
  near.weight = 10;
  PodTerm apart = app_term("web", "host");
  apart.weight = 3;
  asks.constraints.preferred = {near};
  asks.constraints.preferred_anti = {apart};
  asks.constraints.spread = {
      {.topology_key = "zone", .hard = false, .selector = app_term("web", "").selector}};
  const AffinityFilter filter = index_.filter(asks);
  EXPECT_TRUE(filter.prefers());
  EXPECT_FALSE(filter.any());
  EXPECT_EQ(filter.preference_score(NodeIndex(0U)), 2 * 10 - 3);
  EXPECT_EQ(filter.preference_score(NodeIndex(6U)), 2 * 10);
  EXPECT_EQ(filter.preference_score(NodeIndex(1U)), 0);
  EXPECT_EQ(filter.spread_score(NodeIndex(6U)), 2);
  EXPECT_EQ(filter.spread_score(NodeIndex(1U)), 0);
}

}  // namespace
}  // namespace stowage::core
