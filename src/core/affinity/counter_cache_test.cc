#include "core/affinity/counter_cache.h"

#include <string>

#include <gtest/gtest.h>

#include "core/testing/affinity.h"

namespace stowage::core {
namespace {

using testing::app_term;

class CounterCacheTest : public ::testing::Test {
 protected:
  CounterCacheTest() { testing::add_nodes(ledger_, 6, 3); }
  const TopologyCounter& get(const PodTerm& term) {
    return cache_.get({.terms = {&term, 1}, .topology_key = term.topology_key});
  }
  Ledger ledger_;
  TopologyDomains domains_{ledger_.nodes()};
  NamespaceLabels namespaces_;
  LabelSets sets_;
  NodePodCounts counts_;
  PodChangeLog log_;
  CounterCache cache_{{ledger_.nodes(), domains_, namespaces_, sets_, counts_, log_}};
};

TEST_F(CounterCacheTest, EqualRequestsGetOneCounter) {
  cache_.start_round();
  const TopologyCounter& zone = get(app_term("web", "zone"));
  EXPECT_EQ(&get(app_term("web", "zone")), &zone);
  EXPECT_NE(&get(app_term("web", "host")), &zone);
  EXPECT_NE(&get(app_term("db", "zone")), &zone);
  const PodTerm term = app_term("web", "zone");
  EXPECT_NE(&cache_.get({.terms = {&term, 1}, .topology_key = "zone", .skip_leaving = true}),
            &zone);
  EXPECT_EQ(cache_.size(), 4U);
  EXPECT_GT(cache_.bytes(), 4 * sizeof(TopologyCounter));
  EXPECT_TRUE(cache_.audit().empty());
}

TEST_F(CounterCacheTest, TheLeastRecentlyUsedGoFirst) {
  const auto nth = [](std::size_t i) {
    return app_term("a" + std::to_string(i), "key" + std::to_string(i));
  };
  const TopologyCounter* first = nullptr;
  for (std::size_t i = 0; i <= CounterCache::kMaxCounters; ++i) {
    cache_.start_round();
    (void)get(nth(i));
    first = &get(nth(0));
  }
  EXPECT_EQ(cache_.size(), CounterCache::kMaxCounters + 1);
  cache_.start_round();
  EXPECT_EQ(cache_.size(), CounterCache::kMaxCounters / 2);
  EXPECT_EQ(domains_.size(), CounterCache::kMaxCounters / 2) << "their keys are released";
  EXPECT_EQ(&get(nth(0)), first) << "it was used in the last round";
  EXPECT_EQ(cache_.size(), CounterCache::kMaxCounters / 2);
  (void)get(nth(1));
  EXPECT_EQ(cache_.size(), CounterCache::kMaxCounters / 2 + 1) << "it was evicted";
}

TEST_F(CounterCacheTest, LargeKeysAreEvictedByTheirBytes) {
  const std::string large(CounterCache::kMaxBytes / 16, 'x');
  for (std::size_t i = 0; i < 40; ++i) {
    cache_.start_round();
    const std::size_t before = cache_.bytes();
    (void)get(app_term(large + std::to_string(i), "zone"));
    ASSERT_LE(before, CounterCache::kMaxBytes);
  }
  EXPECT_LT(cache_.size(), 16U);
}

TEST_F(CounterCacheTest, CriteriaOfEvictedCountersAreFreed) {
  cache_.start_round();
  (void)cache_.criteria().terms({app_term("web", "zone")});
  (void)cache_.get(
      {.shared_terms = cache_.criteria().terms({app_term("db", "zone")}), .topology_key = "zone"});
  EXPECT_EQ(cache_.shared(), 2U);
  for (std::size_t i = 0; i <= CounterCache::kMaxCounters; ++i) {
    if (i == 1) cache_.start_round();
    (void)get(app_term("a" + std::to_string(i), "zone"));
  }
  cache_.start_round();
  EXPECT_EQ(cache_.shared(), 0U);
}

}  // namespace
}  // namespace stowage::core
