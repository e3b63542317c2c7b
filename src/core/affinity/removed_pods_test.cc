#include "core/affinity/removed_pods.h"

#include <gtest/gtest.h>

#include "core/affinity/affinity_index.h"
#include "core/testing/affinity.h"

namespace stowage::core {
namespace {

using testing::app_term;
using testing::labelled_pod;

TEST(RemovedPods, CountsWhatWasTakenAndNotPutBack) {
  Ledger ledger;
  testing::add_nodes(ledger, 3, 3);
  AffinityIndex index(ledger);
  PodSpec spec = labelled_pod("a", {{"app", "web"}});
  spec.constraints.anti_affinity = {app_term("db", "host")};
  spec.constraints.ports = {{.protocol = "TCP", .port = 80}};
  const PodIndex pod(4U);
  const NodeIndex node(1U);
  index.add(pod, node, spec);

  RemovedPods removed(index);
  removed.take(PodIndex(9U));
  removed.put_back(pod);
  EXPECT_TRUE(removed.pods().empty()) << "absent, and not taken";
  removed.take(pod);
  removed.take(pod);
  EXPECT_EQ(removed.pods().size(), 1U);
  const AntiTermIndex term = index.find(pod)->anti_terms.at(0);
  EXPECT_EQ(removed.with_term(term), 1);

  const PodSpec db = labelled_pod("b", {{"app", "db"}});
  EXPECT_EQ(index.filter(db).check(node), ReasonCode::others_anti_affinity);
  EXPECT_EQ(index.filter(db).check(node, &removed), ReasonCode::none);
  PodSpec same_port = labelled_pod("c");
  same_port.constraints.ports = spec.constraints.ports;
  EXPECT_EQ(index.filter(same_port).check(node), ReasonCode::host_port);
  EXPECT_EQ(index.filter(same_port).check(node, &removed), ReasonCode::none);

  removed.put_back(pod);
  EXPECT_EQ(removed.with_term(term), 0);
  EXPECT_EQ(index.filter(db).check(node, &removed), ReasonCode::others_anti_affinity);
}

}  // namespace
}  // namespace stowage::core
