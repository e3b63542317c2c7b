#include "core/affinity/topology_counter.h"

#include <memory>

#include <gtest/gtest.h>

#include "core/testing/affinity.h"

namespace stowage::core {
namespace {

using testing::app_term;
using testing::labelled_pod;

class TopologyCounterTest : public ::testing::Test {
 protected:
  TopologyCounterTest() { testing::add_nodes(ledger_, 6, 3); }
  TopologyCounter make(TopologyCounter::Criteria criteria = {}) {
    criteria.terms = std::make_shared<TermList>(TermList{.all = {app_term("web", "zone")}});
    criteria.topology = domains_.acquire("zone");
    return {sources_, criteria};
  }
  void add(std::uint32_t node, const std::string& app, std::int8_t pods, bool leaving = false) {
    const LabelSetIndex set = sets_.intern(labelled_pod("p", {{"app", app}}));
    const std::int8_t left = leaving ? pods : std::int8_t{0};
    counts_.add(NodeIndex(node), {.set = set, .pods = pods, .leaving = left});
    log_.append({.node = NodeIndex(node), .set = set, .pods = pods, .leaving = left});
  }
  // Pods in the node's domain.
  std::int64_t count(TopologyCounter& counter, std::size_t node) {
    counter.update();
    EXPECT_TRUE(counter.verify());
    return counter.pods(domains_[counter.topology()].of(node));
  }
  Ledger ledger_;
  TopologyDomains domains_{ledger_.nodes()};
  NamespaceLabels namespaces_;
  LabelSets sets_;
  NodePodCounts counts_;
  PodChangeLog log_;
  TopologyCounter::Sources sources_{ledger_.nodes(), domains_, namespaces_, sets_, counts_, log_};
};

TEST_F(TopologyCounterTest, CountsPodsThatTheTermsSelectByDomain) {
  add(0, "web", 1);
  TopologyCounter counter = make();
  EXPECT_EQ(count(counter, 3), 1) << "of the same zone";
  add(3, "web", 1);
  add(3, "db", 1);
  add(1, "web", 1);
  EXPECT_EQ(count(counter, 0), 2);
  EXPECT_EQ(count(counter, 1), 1);
  EXPECT_EQ(count(counter, 2), 0);
  EXPECT_EQ(counter.total(), 3);
  add(0, "web", -1);
  EXPECT_EQ(count(counter, 0), 1);
}

TEST_F(TopologyCounterTest, LeavingPodsMayBeSkipped) {
  TopologyCounter all = make();
  TopologyCounter staying = make({.skip_leaving = true});
  (void)count(staying, 0);
  add(0, "web", 1, true);
  add(0, "web", 1);
  EXPECT_EQ(count(all, 0), 2);
  EXPECT_EQ(count(staying, 0), 1);
}

TEST_F(TopologyCounterTest, OnlyEligibleNodesCount) {
  NodeRules rules;
  rules.selector = {{"host", "n0"}};
  TopologyCounter counter = make(
      {.eligible = std::make_shared<EligibleNodes>(1, EligibleNodes::Rules{.selected_by = rules})});
  add(0, "web", 1);
  add(3, "web", 1);
  EXPECT_EQ(count(counter, 0), 1);
  EXPECT_EQ(counter.nodes(domains_[counter.topology()].of(0)), 1);
  EXPECT_EQ(counter.nodes(domains_[counter.topology()].of(1)), 0);
}

TEST_F(TopologyCounterTest, CountsAgainWhenNodesChangedOrTheLogWasCleared) {
  TopologyCounter counter = make();
  add(0, "web", 1);
  EXPECT_EQ(count(counter, 0), 1);
  add(0, "web", 1);
  log_.clear();
  EXPECT_EQ(count(counter, 0), 2);
  NodeSpec moved = testing::node("n0");
  moved.labels = {{"zone", "z1"}};
  (void)ledger_.upsert_node(moved);
  domains_.nodes_changed();
  EXPECT_EQ(count(counter, 1), 2);
  EXPECT_EQ(count(counter, 3), 0);
}

TEST_F(TopologyCounterTest, AFreedSetIsForgotten) {
  TopologyCounter counter = make();
  add(0, "web", 1);
  EXPECT_EQ(count(counter, 0), 1);
  add(0, "web", -1);
  log_.clear();
  (void)sets_.free_empty();
  counter.forget_sets();
  add(0, "db", 1);
  EXPECT_EQ(count(counter, 0), 0) << "the set of db has the index that web had";
}

}  // namespace
}  // namespace stowage::core
