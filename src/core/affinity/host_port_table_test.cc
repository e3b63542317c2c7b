#include "core/affinity/host_port_table.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace stowage::core {
namespace {

const NodeIndex kNode(1U);

TEST(HostPortTable, ProtocolAndAddressMustDiffer) {
  HostPortTable table;
  const std::vector<HostPort> used = {{.protocol = "TCP", .port = 80},
                                      {.ip = "10.0.0.1", .protocol = "TCP", .port = 90}};
  table.add(PodIndex(0U), kNode, used);
  const auto conflicts = [&](const HostPort& port) { return table.conflicts(kNode, {port}); };
  EXPECT_TRUE(conflicts({.ip = "10.9.9.9", .protocol = "TCP", .port = 80}));
  EXPECT_FALSE(conflicts({.protocol = "UDP", .port = 80}));
  EXPECT_TRUE(conflicts({.ip = "0.0.0.0", .protocol = "TCP", .port = 90}));
  EXPECT_FALSE(conflicts({.ip = "10.0.0.2", .protocol = "TCP", .port = 90}));
  EXPECT_FALSE(conflicts({.protocol = "TCP", .port = 81}));
  for (const std::uint32_t other : {0U, 7U}) {
    EXPECT_FALSE(table.conflicts(NodeIndex(other), {{.protocol = "TCP", .port = 80}}));
  }
}

TEST(HostPortTable, RemovedAndIgnoredPodsDoNotCount) {
  HostPortTable table;
  const std::vector<HostPort> port = {{.protocol = "TCP", .port = 80}};
  table.add(PodIndex(0U), kNode, port);
  table.add(PodIndex(1U), kNode, port);
  const std::set<PodIndex> first = {PodIndex(0U)};
  EXPECT_TRUE(table.conflicts(kNode, port, &first));
  table.remove(PodIndex(1U), kNode);
  EXPECT_FALSE(table.conflicts(kNode, port, &first));
  EXPECT_TRUE(table.conflicts(kNode, port));
  table.remove(PodIndex(0U), kNode);
  EXPECT_FALSE(table.conflicts(kNode, port));
}

}  // namespace
}  // namespace stowage::core
