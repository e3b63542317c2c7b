#include "core/affinity/counter_criteria.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/affinity.h"

namespace stowage::core {
namespace {

using testing::app_term;
using testing::labelled_pod;

TEST(EligibleNodes, HaveTheLabelsAndPassTheRules) {
  Ledger ledger;
  testing::add_nodes(ledger, 3, 3);
  NodeSpec tainted = testing::node("n3");
  tainted.labels = {{"zone", "z0"}};
  tainted.taints = {{.key = "gpu"}};
  (void)ledger.upsert_node(tainted);
  const auto eligible = [&](EligibleNodes::Rules rules) {
    EligibleNodes nodes(1, std::move(rules));
    nodes.refresh(ledger.nodes(), 1);
    std::vector<bool> out;
    for (std::size_t n = 0; n < 4; ++n) out.push_back(nodes.contains(n));
    return out;
  };
  EXPECT_EQ(eligible({}), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(eligible({.labels = {"zone", "host"}}), (std::vector<bool>{true, true, true, false}));
  NodeRules zone;
  zone.selector = {{"zone", "z0"}};
  EXPECT_EQ(eligible({.selected_by = zone}), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(eligible({.tolerated_by = std::vector<Toleration>{}}),
            (std::vector<bool>{true, true, true, false}));
}

TEST(EligibleNodes, AreCheckedOncePerVersion) {
  Ledger ledger;
  testing::add_nodes(ledger, 1, 1);
  EligibleNodes nodes(1, {.labels = {"zone"}});
  nodes.refresh(ledger.nodes(), 1);
  (void)ledger.upsert_node(testing::node("n0"));
  nodes.refresh(ledger.nodes(), 1);
  EXPECT_TRUE(nodes.contains(0));
  nodes.refresh(ledger.nodes(), 2);
  EXPECT_FALSE(nodes.contains(0));
}

TEST(SharedCriteria, EqualCriteriaAreShared) {
  SharedCriteria criteria;
  const std::vector<PodTerm> terms = {app_term("web", "zone"), app_term("db", "zone")};
  const auto list = criteria.terms(terms);
  EXPECT_EQ(criteria.terms(terms), list);
  EXPECT_NE(criteria.terms({terms[0]}), list);

  PodSpec pod = labelled_pod("p");
  pod.constraints.spread = {{.topology_key = "zone"},
                            {.topology_key = "host"},
                            {.topology_key = "rack", .hard = false},
                            {.topology_key = "zone", .honour_taints = true}};
  const auto& spread = pod.constraints.spread;
  const auto hard = criteria.nodes(pod, spread[0]);
  EXPECT_EQ(criteria.nodes(pod, spread[1]), hard);
  EXPECT_NE(criteria.nodes(pod, spread[2]), hard) << "other labels count";
  EXPECT_NE(criteria.nodes(pod, spread[3]), hard) << "taints count";
  EXPECT_EQ(criteria.size(), 5U);
  criteria.free_unused();
  EXPECT_EQ(criteria.size(), 2U) << "of which two are in use";
}

}  // namespace
}  // namespace stowage::core
