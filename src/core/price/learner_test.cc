#include "core/price/learner.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

// A ledger, a learner, and pods that arrive one after another.
class School {
 public:
  explicit School(bool memory_duals = true)
      : learner_(PolicyOptions{.memory_duals = memory_duals}) {}

  NodeIndex add(const NodeSpec& spec) { return ledger_.upsert_node(spec); }

  // Counts the pod and takes one step of learning, as the engine does. True if the model is new.
  bool arrive(const PodSpec& spec) {
    kind_ = learner_.arrived(make_shape(spec, ledger_), ledger_);
    return learner_.step(ledger_);
  }
  std::uint64_t arrive(const std::vector<PodSpec>& mix, int rounds) {
    const std::uint64_t before = model().version;
    for (int i = 0; i < rounds; ++i) {
      for (const auto& spec : mix) arrive(spec);
    }
    return model().version - before;
  }
  // Learns until there is nothing left to learn.
  void ponder() {
    for (int i = 0; i < 2000; ++i) learner_.step(ledger_);
  }

  [[nodiscard]] std::uint32_t kind() const { return kind_; }
  [[nodiscard]] const PriceModel& model() const { return *learner_.model(); }
  [[nodiscard]] double weight(NodeIndex index) const {
    return model().weight.at(ledger_.state(index).node_class);
  }
  Learner& learner() { return learner_; }
  Ledger& ledger() { return ledger_; }

 private:
  Ledger ledger_;
  Learner learner_;
  std::uint32_t kind_ = 0;
};

PodSpec share(std::int32_t milli) {
  return pod("share").milli(milli).cpu_milli(std::int64_t{milli} * 10);
}

TEST(Learner, KnowsNothingButWholeCardsAtFirst) {
  School school;
  EXPECT_EQ(school.model().value, CardValue());
  EXPECT_EQ(school.model().version, 0U);
  EXPECT_EQ(school.learner().departures(), 0.0);
  EXPECT_FALSE(school.learner().step(school.ledger())) << "no pod came, nothing is new";
}

TEST(Learner, LearnsAtOnceWhenANewSizeOfShareComes) {
  School school;
  school.add(node("n").cards(4));
  EXPECT_TRUE(school.arrive(share(470)));
  EXPECT_DOUBLE_EQ(school.model().value.at(470), 0.5);
  for (int i = 0; i < 90; ++i) school.arrive(share(470));  // 64 is past, 128 is far
  const auto lessons = school.learner().lessons();
  EXPECT_FALSE(school.arrive(share(470)));
  EXPECT_EQ(school.learner().lessons(), lessons);
  EXPECT_DOUBLE_EQ(school.model().value.at(810), 0.5);
  EXPECT_TRUE(school.arrive(share(810)));
  EXPECT_DOUBLE_EQ(school.model().value.at(810), 1.0);
}

TEST(Learner, AWholeCardIsNoNewShare) {
  School school;
  school.add(node("n").cards(4));
  for (int i = 0; i < 5; ++i) school.arrive(share(470));
  const auto lessons = school.learner().lessons();
  school.arrive(pod("whole").gpus(1).cpu_milli(10000));
  EXPECT_EQ(school.learner().lessons(), lessons);
}

TEST(Learner, PricesStayWhenTheMixStays) {
  School school;
  school.add(node("n").cards(4));
  const std::vector<PodSpec> mix{share(810), share(470), share(330), pod("w").gpus(1), share(470)};
  EXPECT_GT(school.arrive(mix, 100), 0U);
  const auto lessons = school.learner().lessons();
  EXPECT_EQ(school.arrive(mix, 500), 0U) << "rankings made with the old model would be lost";
  EXPECT_GT(school.learner().lessons(), lessons + 5);
}

TEST(Learner, TheSamePodsGiveTheSameModel) {
  School one;
  School two;
  base::Rng rng(5);
  for (School* school : {&one, &two}) school->add(node("n").cards(4).model("T4"));
  for (int i = 0; i < 700; ++i) {
    const auto milli = static_cast<std::int32_t>(100 + rng.below(30) * 30);
    PodSpec spec = share(milli);
    if (i % 3 == 0) spec.containers[0].gpu.memory_mib = milli * 4;
    EXPECT_EQ(one.arrive(spec), two.arrive(spec));
    ASSERT_TRUE(one.model().same_prices(two.model())) << "arrival " << i;
  }
}

TEST(Learner, FollowsAMixThatShifts) {
  School school;
  school.add(node("n").cards(4));
  school.arrive({share(600), share(600), share(600), share(300)}, 100);
  school.ponder();
  EXPECT_DOUBLE_EQ(school.model().value.at(600), 1.0) << "600 are many: each opens a card";
  school.arrive({share(300), share(300), share(300), share(300), share(600)}, 8000);
  school.ponder();
  EXPECT_NEAR(school.model().value.at(600), 2.0 / 3, 1e-9) << "300 are many now";
}

TEST(Learner, CpuIsDearAsItGoesWithCards) {
  School school;
  school.add(node("n").cards(4));
  school.arrive({pod("a").gpus(1).cpu_milli(8000), pod("b").gpus(2).cpu_milli(10000)}, 50);
  EXPECT_NEAR(school.model().cards_per_cpu_milli, 3.0 / 18000, 1e-7);
  School without;
  without.add(node("n").cards(4));
  without.arrive({pod("a").gpus(1)}, 50);
  EXPECT_EQ(without.model().cards_per_cpu_milli, 0.0);
}

// ---- weights of node classes --------------------------------------------------------------------

TEST(Learner, EveryNodeWeighsOneWithoutConstrainedPods) {
  School school;
  school.add(node("a").cards(4).model("T4"));
  school.add(node("b").cards(8).model("A100"));
  school.arrive({share(470), pod("w").gpus(1), pod("two").gpus(2)}, 200);
  ASSERT_FALSE(school.model().weight.empty());
  for (const double weight : school.model().weight) EXPECT_EQ(weight, 1.0);
}

TEST(Learner, AModelThatIsAskedForIsDear) {
  School school;
  const NodeIndex rare = school.add(node("rare").cards(2).model("A100"));
  const NodeIndex common = school.add(node("common").cards(8).model("T4"));
  school.arrive({share(500), share(500), share(500)}, 20);
  EXPECT_EQ(school.weight(rare), 1.0);
  school.arrive({pod("a").gpus(1).model("A100"), share(500), share(500)}, 200);
  EXPECT_GT(school.weight(rare), 2.0);
  EXPECT_LT(school.weight(common), 1.3);
}

TEST(Learner, NodesThatAloneHoldLargePodsAreDear) {
  School school;
  const NodeIndex large = school.add(node("large").cards(8));
  for (int i = 0; i < 10; ++i) school.add(node("small" + std::to_string(i)).cards(2));
  const NodeIndex small = school.ledger().find_node("small0");
  school.arrive({pod("a").gpus(8), share(500), share(500)}, 200);
  EXPECT_GT(school.weight(large), 1.2);
  EXPECT_EQ(school.weight(small), 1.0);
}

// ---- memory -------------------------------------------------------------------------------------

TEST(Learner, ValuesMemoryOncePodsAskForIt) {
  School school;
  school.add(node("n").cards(2).memory_mib(10000));
  school.arrive({share(250)}, 20);
  EXPECT_TRUE(school.model().memory_value.empty());
  school.arrive({pod("m").memory_mib(4000)}, 50);
  school.ponder();
  ASSERT_EQ(school.model().memory_value.size(), 1U);
  const CardValue& value = school.model().memory_value[0];
  ASSERT_TRUE(value.two_dimensional());
  EXPECT_GT(value.at(0, 400), 0.3) << "memory is worth something without compute";
  EXPECT_EQ(value.at(1000, 1000), 1.0);

  School one_dimension(false);
  one_dimension.add(node("n").cards(2).memory_mib(10000));
  one_dimension.arrive({pod("m").memory_mib(4000)}, 50);
  EXPECT_TRUE(one_dimension.model().memory_value.empty());
}

TEST(Learner, SurvivesCardsWithoutMemoryAndSharesWithoutSize) {
  School school;
  school.add(node("n").cards(1).memory_mib(0).cards(1).memory_mib(100));
  school.arrive({pod("a").memory_mib(50), pod("b").milli(0), pod("c").milli(999).whole_memory(),
                 pod("d").memory_mib(1 << 22), pod("e").cpu_milli(1)},
                60);
  school.ponder();
  EXPECT_EQ(school.model().value.at(1000), 1.0);
}

// ---- departures and the table of kinds ----------------------------------------------------------

TEST(Learner, SeesPodsLeaveOnlyOnceEnoughCame) {
  School school;
  school.add(node("n").cards(4));
  for (int i = 0; i < 40; ++i) {
    school.arrive(share(500));
    school.learner().accepted(school.kind());
    school.learner().departed(school.kind());
  }
  EXPECT_EQ(school.learner().departures(), 0.0) << "40 pods tell nothing yet";
  for (int i = 0; i < 400; ++i) {
    school.arrive(share(500));
    school.learner().accepted(school.kind());
    school.learner().departed(school.kind());
  }
  EXPECT_EQ(school.learner().departures(), 1.0);
  EXPECT_TRUE(school.model().fullest_first);
  EXPECT_GT(school.model().blocks, 0.0);
}

TEST(Learner, TheTableOfKindsIsBounded) {
  School school;
  school.add(node("n").cards(4));
  for (int i = 0; i < 5000; ++i) {
    school.arrive(pod("p").milli(100 + 100 * (i % 9)).cpu_milli(i));
    ASSERT_LT(school.kind(), Demand::kMaxKinds);
    ASSERT_EQ(school.learner().demand().kinds()[school.kind()].cpu_milli, i);
  }
  EXPECT_EQ(school.learner().demand().kinds().size(), Demand::kMaxKinds);
  EXPECT_EQ(school.learner().demand().arrivals(), 5000U);
  EXPECT_EQ(school.model().value.at(1000), 1.0);
}

TEST(Demand, AKindThatRunsIsNotForgotten) {
  Ledger ledger;
  ledger.upsert_node(node("n").cards(1));
  Demand demand;
  const auto kept = demand.arrived(make_shape(pod("kept").milli(500), ledger), ledger).kind;
  demand.set_running(kept, 1);
  for (int i = 0; i < 3000; ++i) demand.arrived(make_shape(pod("p").cpu_milli(i), ledger), ledger);
  EXPECT_EQ(demand.arrived(make_shape(pod("again").milli(500), ledger), ledger).kind, kept);
}

TEST(Demand, OldArrivalsFade) {
  Ledger ledger;
  Demand demand;
  const Shape old_shape = make_shape(pod("old").milli(500), ledger);
  const Shape new_shape = make_shape(pod("new").milli(300), ledger);
  const auto kind = demand.arrived(old_shape, ledger).kind;
  EXPECT_NEAR(demand.weight(demand.kinds()[kind]), 1.0, 1e-3);
  for (int i = 0; i < static_cast<int>(Demand::kHalfLife); ++i) demand.arrived(new_shape, ledger);
  EXPECT_NEAR(demand.weight(demand.kinds()[kind]), 0.5, 1e-3);
}

TEST(Demand, FindsNewSizesOfSharesOnce) {
  Ledger ledger;
  Demand demand;
  const auto fresh = [&](const PodSpec& spec) {
    return demand.arrived(make_shape(spec, ledger), ledger).new_share;
  };
  EXPECT_TRUE(fresh(pod("a").milli(500)));
  EXPECT_FALSE(fresh(pod("b").milli(500).cpu_milli(7)));
  EXPECT_TRUE(fresh(pod("c").milli(500).memory_mib(100)));
  EXPECT_TRUE(fresh(pod("d").memory_mib(100)));
  EXPECT_FALSE(fresh(pod("e").gpus(4)));
  EXPECT_TRUE(fresh(pod("f").container("x").milli(500).container("y").milli(501)));
}

}  // namespace
}  // namespace stowage::core
