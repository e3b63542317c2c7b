// Preemption plans, and that planning changes nothing. preemption_test.cc tests their effect with
// the engine.
#include "core/engine/preemption_planner.h"

#include <gtest/gtest.h>

#include "core/place/shape.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

struct OnCard {
  std::string uid;
  std::int32_t priority = 0;
  std::uint32_t card = 0;
};

class PreemptionPlannerTest : public ::testing::Test {
 protected:
  NodeIndex add_node(const std::string& name, std::size_t cards) {
    const NodeIndex at = ledger_.upsert_node(node(name).cards(cards));
    affinity_.nodes_changed();
    return at;
  }
  PodIndex add(NodeIndex at, const OnCard& on, const Labels& labels = {}) {
    PodSpec spec = pod(on.uid).gpus(1).priority(on.priority);
    spec.constraints.labels = labels;
    const PodIndex placed =
        ledger_.reserve(spec, at, {.containers = {{{.card = on.card, .milli = kMilliPerCard}}}});
    ledger_.confirm(placed);
    affinity_.add(placed, at, spec);
    return placed;
  }
  // Uids of the victims of the cheapest plan; "none" if there is no plan.
  std::string plan(const PodSpec& preemptor, bool evicts = true) {
    const std::uint64_t changes = ledger_.changes().count() + affinity_.changes();
    const Shape shape = make_shape(preemptor, ledger_);
    const ConstraintFilter constraint_filter(
        preemptor, {.ledger = &ledger_, .affinity = &affinity_, .volumes = &volumes_});
    std::vector<NodeIndex> nodes;
    for (std::size_t n = 0; n < ledger_.nodes().rows(); ++n) nodes.emplace_back(n);
    PreemptionPlanner planner({.ledger = ledger_,
                               .affinity = affinity_,
                               .budgets = budgets_,
                               .nominations = nominations_,
                               .search = search_,
                               .evicts = evicts});
    found_ = planner.cheapest(
        {.pod = preemptor, .shape = shape, .constraint_filter = constraint_filter}, nodes);
    EXPECT_EQ(ledger_.changes().count() + affinity_.changes(), changes);
    if (!found_) return "none";
    std::string uids;
    for (const PodIndex victim : found_->victims) {
      uids += (uids.empty() ? "" : " ") + ledger_.pods().record(victim).uid;
    }
    return uids;
  }

  Ledger ledger_;
  AffinityIndex affinity_{ledger_};
  VolumeTracker volumes_;
  std::map<std::string, Budget> budgets_;
  QuotaTracker quotas_;
  Nominations nominations_{ledger_, quotas_};
  SearchSteps search_{.left = 100'000};
  std::optional<VictimPlan> found_;
};

TEST_F(PreemptionPlannerTest, TakesAsFewAndAsUnimportantPodsAsWillDo) {
  const NodeIndex a = add_node("a", 2);
  add(a, {.uid = "ns/low", .priority = 1, .card = 0});
  add(a, {.uid = "ns/mid", .priority = 5, .card = 1});
  EXPECT_EQ(plan(pod("ns/vip").gpus(1).priority(10)), "ns/low");
  EXPECT_EQ(found_->node, a);
  EXPECT_EQ(found_->cards.containers[0][0].card, 0U);
  EXPECT_EQ(plan(pod("ns/vip").gpus(2).priority(10)), "ns/mid ns/low");
  EXPECT_EQ(found_->top, 5);
  EXPECT_EQ(plan(pod("ns/vip").gpus(2).priority(5)), "none");
  EXPECT_EQ(plan(pod("ns/vip").gpus(3).priority(10)), "none");
  EXPECT_EQ(plan(pod("ns/vip").gpus(1).priority(10), false), "none");
}

TEST_F(PreemptionPlannerTest, ChoosesTheNodeThatLosesLeast) {
  const NodeIndex a = add_node("a", 1);
  const NodeIndex b = add_node("b", 1);
  add(a, {.uid = "ns/mid", .priority = 5, .card = 0});
  add(b, {.uid = "ns/low", .priority = 1, .card = 0}, {{"app", "db"}});
  EXPECT_EQ(plan(pod("ns/vip").gpus(1).priority(10)), "ns/low");
  budgets_["ns/db"] = {
      .name = "ns/db", .selector = {.all = {{.key = "app", .values = {"db"}}}}, .allowed = 0};
  EXPECT_EQ(plan(pod("ns/vip").gpus(1).priority(10)), "ns/mid");
  EXPECT_EQ(found_->violations, 0);
}

TEST_F(PreemptionPlannerTest, TerminatingPodsAreNotEvictedAgain) {
  const NodeIndex a = add_node("a", 2);
  const PodIndex leaving = add(a, {.uid = "ns/leaving", .priority = 20, .card = 0});
  add(a, {.uid = "ns/low", .priority = 1, .card = 1});
  ledger_.set_leaving(leaving, true);
  EXPECT_EQ(plan(pod("ns/vip").gpus(2).priority(10)), "ns/low");
  EXPECT_TRUE(found_->others_leave);
  EXPECT_EQ(plan(pod("ns/vip").gpus(1).priority(10)), "");
}

TEST_F(PreemptionPlannerTest, ANominationOfALessImportantPodGivesWayToo) {
  add_node("a", 2);
  Commands out;
  const PodSpec waits = pod("ns/waits").gpus(2).priority(1);
  nominations_.open({.pod = waits,
                     .node = "a",
                     .target = {.containers = {{{.card = 0, .milli = kMilliPerCard},
                                                {.card = 1, .milli = kMilliPerCard}}}},
                     .until = {100}},
                    out);
  EXPECT_EQ(plan(pod("ns/vip").gpus(1).priority(10), false), "room/ns/waits");
  EXPECT_EQ(found_->evictions, 0);
  EXPECT_EQ(plan(pod("ns/equal").gpus(1).priority(1)), "none");
}

TEST_F(PreemptionPlannerTest, PodsThatKeepItAwayGoWithoutBeingTakenOutOfTheIndex) {
  const NodeIndex a = add_node("a", 2);
  add(a, {.uid = "ns/hostile", .priority = 1, .card = 0}, {{"app", "x"}});
  PodSpec vip = pod("ns/vip").gpus(1).priority(10);
  vip.constraints.anti_affinity = {{.selector = {.all = {{.key = "app", .values = {"x"}}}},
                                    .namespaces = {"ns"},
                                    .topology_key = "host"}};
  NodeSpec labelled = node("a").cards(2);
  labelled.labels = {{"host", "a"}};
  ledger_.upsert_node(labelled);
  affinity_.nodes_changed();
  EXPECT_EQ(plan(vip), "ns/hostile");
  EXPECT_EQ(affinity_.filter(vip).check(a), ReasonCode::pod_anti_affinity);
  EXPECT_TRUE(affinity_.audit().empty());
}

}  // namespace
}  // namespace stowage::core
