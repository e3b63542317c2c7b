#include "core/affinity/topology_domains.h"

#include <gtest/gtest.h>

#include "core/testing/affinity.h"

namespace stowage::core {
namespace {

class TopologyDomainsTest : public ::testing::Test {
 protected:
  TopologyDomainsTest() { testing::add_nodes(ledger_, 6, 3); }
  Ledger ledger_;
  TopologyDomains domains_{ledger_.nodes()};
};

TEST_F(TopologyDomainsTest, NodesWithAnEqualValueShareADomain) {
  const NodeDomains& zones = domains_.refresh(domains_.acquire("zone"));
  EXPECT_EQ(zones.count, 3U);
  EXPECT_EQ(zones.of(0), zones.of(3));
  EXPECT_NE(zones.of(0), zones.of(1));
  EXPECT_FALSE(zones.of(6).valid());
  const NodeDomains& racks = domains_.refresh(domains_.acquire("rack"));
  EXPECT_EQ(racks.count, 0U);
  EXPECT_FALSE(racks.of(0).valid());
}

TEST_F(TopologyDomainsTest, ChangedNodesAreReadByTheNextRefresh) {
  const TopologyKeyIndex rack = domains_.acquire("rack");
  EXPECT_EQ(domains_.refresh(rack).count, 0U);
  NodeSpec spec = testing::node("n2");
  spec.labels = {{"rack", "r"}};
  (void)ledger_.upsert_node(spec);
  const std::uint64_t before = domains_.version();
  domains_.nodes_changed();
  EXPECT_GT(domains_.version(), before);
  EXPECT_EQ(domains_[rack].count, 0U);
  EXPECT_EQ(domains_.refresh(rack).count, 1U);
  EXPECT_TRUE(domains_[rack].of(2).valid());
  EXPECT_FALSE(domains_[rack].of(1).valid());
}

TEST_F(TopologyDomainsTest, AKeyIsFreedWithItsLastUser) {
  const TopologyKeyIndex zone = domains_.acquire("zone");
  EXPECT_EQ(domains_.acquire("zone"), zone);
  domains_.release(zone);
  EXPECT_EQ(domains_.size(), 1U);
  domains_.release(zone);
  EXPECT_EQ(domains_.size(), 0U);
  const TopologyKeyIndex host = domains_.acquire("host");
  EXPECT_EQ(host, zone) << "the index is reused";
  EXPECT_EQ(domains_.refresh(host).count, 6U);
}

}  // namespace
}  // namespace stowage::core
