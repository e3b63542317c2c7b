#include "core/engine/cluster_state.h"

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

TEST(ClusterState, APodIsCountedEverywhereAndThenNowhere) {
  ClusterState cluster;
  const NodeIndex a = cluster.ledger.upsert_node(node("a").cards(1));
  cluster.affinity.nodes_changed();
  cluster.quotas.set({.namespaces = {{"ns", {.limits = {{.model = "*", .cards = 1}}}}}},
                     cluster.ledger);
  PodSpec user = pod("ns/p").gpus(1).priority(5);
  user.constraints.disks = {{.kind = Disk::Kind::gce, .id = "d"}};
  user.constraints.ports = {{.protocol = "TCP", .port = 80}};
  const PodIndex placed =
      cluster.ledger.reserve(user, a, {.containers = {{{.card = 0, .milli = kMilliPerCard}}}});
  cluster.add_pod(placed, user);
  PodSpec other = user;
  other.uid = other.name = "ns/q";
  PodSpec scratch;
  EXPECT_EQ(cluster.constraint_filter(other).check(a), ReasonCode::host_port);
  other.constraints.ports.clear();
  EXPECT_EQ(cluster.constraint_filter(other).check(a), ReasonCode::volume_in_use);
  EXPECT_FALSE(cluster.bounded(other, scratch).bounds.spent.empty());
  EXPECT_TRUE(cluster.any_below(6));
  EXPECT_FALSE(cluster.any_below(5));
  const std::uint64_t version = cluster.version();
  cluster.remove_pod(placed);
  EXPECT_NE(cluster.version(), version);
  EXPECT_EQ(cluster.constraint_filter(other).check(a), ReasonCode::none);
  EXPECT_TRUE(cluster.bounded(other, scratch).bounds.spent.empty());
  EXPECT_FALSE(cluster.any_below(100));
}

TEST(ClusterState, OnlyWhatCanHelpAPodThatWaitsIsANewEpoch) {
  ClusterState cluster;
  cluster.apply(AuxObjectChanged{Budget{.name = "ns/b"}});
  EXPECT_EQ(cluster.epoch, 0U);
  EXPECT_EQ(cluster.budgets.size(), 1U);
  cluster.apply(AuxObjectGone{.kind = AuxKind::budget, .name = "ns/b"});
  EXPECT_EQ(cluster.epoch, 0U);
  EXPECT_TRUE(cluster.budgets.empty());
  cluster.apply(AuxObjectChanged{Namespace{.name = "ns"}});
  cluster.apply(AuxObjectGone{.kind = AuxKind::claim, .name = "ns/c"});
  EXPECT_EQ(cluster.epoch, 2U);
}

TEST(ClusterState, ARemovedNodeIsNotFound) {
  ClusterState cluster;
  const NodeIndex a = cluster.ledger.upsert_node(node("a").cards(1));
  EXPECT_EQ(cluster.find_present("a"), a);
  EXPECT_FALSE(cluster.find_present("b").valid());
  cluster.ledger.remove_node("a");
  EXPECT_FALSE(cluster.find_present("a").valid());
}

}  // namespace
}  // namespace stowage::core
