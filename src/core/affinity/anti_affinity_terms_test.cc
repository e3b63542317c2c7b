#include "core/affinity/anti_affinity_terms.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/affinity.h"

namespace stowage::core {
namespace {

using testing::app_term;

class AntiAffinityTermsTest : public ::testing::Test {
 protected:
  AntiAffinityTermsTest() { testing::add_nodes(ledger_, 6, 3); }
  // Pods with the term in the node's domain.
  std::int32_t count(AntiTermIndex term, std::size_t node) {
    terms_.refresh(term);
    return terms_[term].by_domain.count(domains_[terms_[term].topology].of(node));
  }
  Ledger ledger_;
  TopologyDomains domains_{ledger_.nodes()};
  AntiAffinityTerms terms_{domains_};
};

TEST_F(AntiAffinityTermsTest, EqualTermsAreOne) {
  const AntiTermIndex web = terms_.intern(app_term("web", "zone"));
  EXPECT_EQ(terms_.intern(app_term("web", "zone")), web);
  EXPECT_NE(terms_.intern(app_term("web", "host")), web);
  EXPECT_EQ(terms_.size(), 2U);
}

TEST_F(AntiAffinityTermsTest, PodsAreCountedByNodeAndDomain) {
  const AntiTermIndex web = terms_.intern(app_term("web", "zone"));
  terms_.add_pods(web, NodeIndex(0U), 1);
  EXPECT_EQ(count(web, 3), 1) << "of the same zone";
  EXPECT_EQ(count(web, 1), 0);
  terms_.add_pods(web, NodeIndex(3U), 1);
  EXPECT_EQ(count(web, 0), 2);
  NodeSpec moved = testing::node("n3");
  moved.labels = {{"zone", "z1"}};
  (void)ledger_.upsert_node(moved);
  domains_.nodes_changed();
  EXPECT_EQ(count(web, 0), 1);
  EXPECT_EQ(count(web, 1), 1);
  terms_.add_pods(web, NodeIndex(0U), -1);
  terms_.add_pods(web, NodeIndex(3U), -1);
  EXPECT_TRUE(terms_[web].by_node.empty());
  EXPECT_FALSE(terms_.any_used());
}

TEST_F(AntiAffinityTermsTest, TermsWithoutPodsAreFreedAndTheirIndexesReused) {
  constexpr std::size_t kTerms = 4 * AntiAffinityTerms::kMaxUnused;
  std::vector<AntiTermIndex> added;
  for (std::size_t i = 0; i < kTerms; ++i) {
    added.push_back(terms_.intern(app_term("a" + std::to_string(i), "key" + std::to_string(i))));
    terms_.add_pods(added.back(), NodeIndex(0U), 1);
  }
  terms_.free_unused();
  EXPECT_EQ(terms_.size(), kTerms) << "all are in use";
  for (std::size_t i = 0; i + 1 < kTerms; ++i) terms_.add_pods(added[i], NodeIndex(0U), -1);
  const std::uint64_t before = terms_.version();
  terms_.free_unused();
  EXPECT_EQ(terms_.size(), AntiAffinityTerms::kMaxUnused + 1);
  EXPECT_EQ(domains_.size(), AntiAffinityTerms::kMaxUnused + 1);
  EXPECT_EQ(terms_.rows(), kTerms) << "the last one is in use";
  EXPECT_TRUE(terms_.any_used());
  EXPECT_EQ(terms_.intern(app_term("new", "zone")), added[0]);
  EXPECT_GT(terms_.version(), before);
}

}  // namespace
}  // namespace stowage::core
