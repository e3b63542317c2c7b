// Limits on what the rules of hostile pods cost, and what changes affect a pod. Answers are tested
// with the engine (engine/neighbours_test.cc, engine/oracle_test.cc).
#include "core/affinity/affinity_index.h"

#include <string>

#include <gtest/gtest.h>

#include "core/model/limits.h"
#include "core/testing/affinity.h"

namespace stowage::core {
namespace {

using testing::app_term;
using testing::labelled_pod;

std::string text(const char* before, std::size_t i) { return before + std::to_string(i); }

class AffinityIndexTest : public ::testing::Test {
 protected:
  AffinityIndexTest() {
    testing::add_nodes(ledger_, 30, 3);
    index_.nodes_changed();
  }
  static PodSpec make(std::size_t i) { return labelled_pod(text("p", i)); }
  Ledger ledger_;
  AffinityIndex index_{ledger_};
};

// Otherwise T terms make T counters, each with a copy of all terms and their text in its key.
TEST_F(AffinityIndexTest, CountersOfOnePodShareItsTerms) {
  PodSpec hostile = make(0);
  for (std::size_t i = 0; i < kMaxPodTerms; ++i) {
    hostile.constraints.affinity.push_back(app_term(std::string(300, 'x'), text("key", i)));
  }
  (void)index_.filter(hostile);
  EXPECT_EQ(index_.sizes().counters, kMaxPodTerms);
  EXPECT_EQ(index_.sizes().shared, 1U);
  EXPECT_LE(index_.sizes().counter_bytes, kMaxPodTerms * 1024);
}

TEST_F(AffinityIndexTest, CountersHaveAByteBudget) {
  const std::string large(20'000, 'x');
  for (std::size_t i = 0; i < 2000; ++i) {
    PodSpec hostile = make(i);
    hostile.constraints.anti_affinity = {app_term(large + std::to_string(i), "zone")};
    hostile.constraints.spread = {{.topology_key = text("k", i), .hard = false}};
    hostile.rules.selector = {{large, std::to_string(i)}};
    (void)index_.filter(hostile);
    const auto sizes = index_.sizes();
    ASSERT_LE(sizes.counters, CounterCache::kMaxCounters + 2);
    ASSERT_LE(sizes.counter_bytes, CounterCache::kMaxBytes + (std::size_t{1} << 20U));
    ASSERT_LE(sizes.shared, CounterCache::kMaxCounters + 2);
    ASSERT_LE(sizes.domains, CounterCache::kMaxCounters + 2) << "keys out of use are freed";
  }
  EXPECT_TRUE(index_.audit().empty());
}

TEST_F(AffinityIndexTest, SetsOfPendingPodsAreLimited) {
  PodSpec placed = make(100'000);
  placed.constraints.anti_affinity = {app_term("web", "host")};
  index_.add(PodIndex(0U), NodeIndex(0U), placed);
  for (std::size_t i = 0; i < 5000; ++i) {
    PodSpec pending = make(i);
    pending.constraints.labels = {{"app", i % 2 == 0 ? "web" : "other"}, {"id", text("", i)}};
    EXPECT_EQ(index_.filter(pending).check(NodeIndex(0U)),
              i % 2 == 0 ? ReasonCode::others_anti_affinity : ReasonCode::none);
  }
  EXPECT_LE(index_.sizes().sets, 4097U);
}

TEST_F(AffinityIndexTest, SetsTermsAndKeysAreFreedWithTheirPods) {
  constexpr std::size_t kPods = 9000;
  for (std::size_t i = 0; i < kPods; ++i) {
    PodSpec hostile = make(i);
    hostile.constraints.labels = {{"id", text("", i)}};
    hostile.constraints.anti_affinity = {app_term(text("a", i), text("key", i)),
                                         app_term("web", "zone")};
    hostile.constraints.ports = {{.protocol = "TCP", .port = static_cast<std::int32_t>(i)}};
    index_.add(PodIndex(i), NodeIndex(i % 30), hostile);
  }
  EXPECT_TRUE(index_.audit().empty());
  for (std::size_t i = 0; i < kPods; ++i) index_.remove(PodIndex(i));
  const auto sizes = index_.sizes();
  EXPECT_LE(sizes.sets, 4100U);
  EXPECT_LE(sizes.anti_terms, 100U);
  EXPECT_LE(sizes.domains, 100U);
  EXPECT_TRUE(index_.audit().empty());
  PodSpec web = make(1);
  web.constraints.labels = {{"app", "web"}};
  EXPECT_EQ(index_.filter(web).check(NodeIndex(0U)), ReasonCode::none);
}

TEST_F(AffinityIndexTest, ReusedIndexesMeanTheNewSetsAndTerms) {
  for (std::size_t round = 0; round < 40; ++round) {
    for (std::size_t i = 0; i < 200; ++i) {
      PodSpec hostile = make(i);
      hostile.constraints.labels = {{"id", text("", round * 1000 + i)}};
      hostile.constraints.anti_affinity = {app_term(text("a", round * 1000 + i), "host")};
      index_.add(PodIndex(i), NodeIndex(i % 30), hostile);
    }
    for (std::size_t i = 0; i < 200; i += 37) {
      PodSpec asks = make(5000);
      asks.constraints.labels = {{"app", text("a", round * 1000 + i)}};
      asks.constraints.affinity = {
          {.selector = {.all = {{.key = "id", .values = {text("", round * 1000 + i)}}}},
           .namespaces = {"ns"},
           .topology_key = "zone"}};
      const AffinityFilter filter = index_.filter(asks);
      for (std::size_t n = 0; n < 30; ++n) {
        const ReasonCode expected = n % 3 != i % 30 % 3 ? ReasonCode::pod_affinity
                                    : n == i % 30       ? ReasonCode::others_anti_affinity
                                                        : ReasonCode::none;
        ASSERT_EQ(filter.check(NodeIndex(n)), expected) << round << " " << i << " " << n;
      }
    }
    ASSERT_TRUE(index_.audit().empty());
    for (std::size_t i = 0; i < 200; ++i) index_.remove(PodIndex(i));
  }
}

TEST_F(AffinityIndexTest, OnlyChangesThatARuleIsAboutAffectAPod) {
  PodSpec web = make(0);
  web.constraints.labels = {{"app", "web"}};
  PodSpec near_web = make(1);
  near_web.constraints.affinity = {app_term("web", "zone")};
  PodSpec near_db = make(2);
  near_db.constraints.affinity = {app_term("db", "zone")};
  std::uint64_t before = index_.changes();
  index_.add(PodIndex(0U), NodeIndex(0U), web);
  EXPECT_TRUE(index_.affected_since(near_web, before));
  EXPECT_FALSE(index_.affected_since(near_web, index_.changes()));
  EXPECT_FALSE(index_.affected_since(near_db, before));
  EXPECT_TRUE(index_.affected_since(near_db, before, 0)) << "more changes than may be read";

  web.constraints.ports = {{.protocol = "TCP", .port = 80}};
  index_.add(PodIndex(0U), NodeIndex(0U), web);
  before = index_.changes();
  index_.touch(PodIndex(0U));
  EXPECT_TRUE(index_.affected_since(near_db, before)) << "its port may be free";
  EXPECT_TRUE(index_.audit().empty());
}

}  // namespace
}  // namespace stowage::core
