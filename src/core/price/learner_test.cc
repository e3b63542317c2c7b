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
class LearnerFixture {
 public:
  explicit LearnerFixture(bool memory_duals = true)
      : learner_(PolicyOptions{.memory_duals = memory_duals}) {}

  NodeIndex add(const NodeSpec& spec) { return ledger_.upsert_node(spec); }

  // Counts the pod and does one step of learning, as the engine does. True if the model is new.
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
  // Learns until no work is left.
  void ponder() {
    for (int i = 0; i < 2000; ++i) learner_.step(ledger_);
  }

  [[nodiscard]] std::uint32_t kind() const { return kind_; }
  [[nodiscard]] const PriceModel& model() const { return *learner_.model(); }
  [[nodiscard]] double weight(NodeIndex index) const {
    return model().weight.at(ledger_.nodes().state(index).node_class);
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
  LearnerFixture fixture;
  EXPECT_EQ(fixture.model().value, CardValue());
  EXPECT_EQ(fixture.model().version, 0U);
  EXPECT_EQ(fixture.learner().departures(), 0.0);
  EXPECT_FALSE(fixture.learner().step(fixture.ledger())) << "no pod came, nothing is new";
}

TEST(Learner, LearnsAtOnceWhenANewSizeOfShareComes) {
  LearnerFixture fixture;
  fixture.add(node("n").cards(4));
  EXPECT_TRUE(fixture.arrive(share(470)));
  EXPECT_DOUBLE_EQ(fixture.model().value.at(470), 0.5);
  for (int i = 0; i < 90; ++i)
    fixture.arrive(share(470));  // after lesson 64, long before lesson 128
  const auto lessons = fixture.learner().lessons();
  EXPECT_FALSE(fixture.arrive(share(470)));
  EXPECT_EQ(fixture.learner().lessons(), lessons);
  EXPECT_DOUBLE_EQ(fixture.model().value.at(810), 0.5);
  EXPECT_TRUE(fixture.arrive(share(810)));
  EXPECT_DOUBLE_EQ(fixture.model().value.at(810), 1.0);
}

TEST(Learner, AWholeCardIsNoNewShare) {
  LearnerFixture fixture;
  fixture.add(node("n").cards(4));
  for (int i = 0; i < 5; ++i) fixture.arrive(share(470));
  const auto lessons = fixture.learner().lessons();
  fixture.arrive(pod("whole").gpus(1).cpu_milli(10000));
  EXPECT_EQ(fixture.learner().lessons(), lessons);
}

TEST(Learner, PricesStayWhenTheMixStays) {
  LearnerFixture fixture;
  fixture.add(node("n").cards(4));
  const std::vector<PodSpec> mix{share(810), share(470), share(330), pod("w").gpus(1), share(470)};
  EXPECT_GT(fixture.arrive(mix, 100), 0U);
  const auto lessons = fixture.learner().lessons();
  EXPECT_EQ(fixture.arrive(mix, 500), 0U) << "rankings made with the old model would be lost";
  EXPECT_GT(fixture.learner().lessons(), lessons + 5);
}

TEST(Learner, TheSamePodsGiveTheSameModel) {
  LearnerFixture one;
  LearnerFixture two;
  base::Rng rng(5);
  for (LearnerFixture* fixture : {&one, &two}) fixture->add(node("n").cards(4).model("T4"));
  for (int i = 0; i < 700; ++i) {
    const auto milli = static_cast<std::int32_t>(100 + rng.below(30) * 30);
    PodSpec spec = share(milli);
    if (i % 3 == 0) spec.containers[0].gpu.memory_mib = milli * 4;
    EXPECT_EQ(one.arrive(spec), two.arrive(spec));
    ASSERT_TRUE(one.model().same_prices(two.model())) << "arrival " << i;
  }
}

TEST(Learner, FollowsAMixThatShifts) {
  LearnerFixture fixture;
  fixture.add(node("n").cards(4));
  fixture.arrive({share(600), share(600), share(600), share(300)}, 100);
  fixture.ponder();
  EXPECT_DOUBLE_EQ(fixture.model().value.at(600), 1.0) << "600 are many: each opens a card";
  fixture.arrive({share(300), share(300), share(300), share(300), share(600)}, 8000);
  fixture.ponder();
  EXPECT_NEAR(fixture.model().value.at(600), 2.0 / 3, 1e-9) << "300 are many now";
}

TEST(Learner, CpuIsDearAsItGoesWithCards) {
  LearnerFixture fixture;
  fixture.add(node("n").cards(4));
  fixture.arrive({pod("a").gpus(1).cpu_milli(8000), pod("b").gpus(2).cpu_milli(10000)}, 50);
  EXPECT_NEAR(fixture.model().cards_per_cpu_milli, 3.0 / 18000, 1e-7);
  LearnerFixture without;
  without.add(node("n").cards(4));
  without.arrive({pod("a").gpus(1)}, 50);
  EXPECT_EQ(without.model().cards_per_cpu_milli, 0.0);
}

// ---- weights of node classes --------------------------------------------------------------------

TEST(Learner, EveryNodeWeighsOneWithoutConstrainedPods) {
  LearnerFixture fixture;
  fixture.add(node("a").cards(4).model("T4"));
  fixture.add(node("b").cards(8).model("A100"));
  fixture.arrive({share(470), pod("w").gpus(1), pod("two").gpus(2)}, 200);
  ASSERT_FALSE(fixture.model().weight.empty());
  for (const double weight : fixture.model().weight) EXPECT_EQ(weight, 1.0);
}

TEST(Learner, AModelThatIsAskedForIsDear) {
  LearnerFixture fixture;
  const NodeIndex rare = fixture.add(node("rare").cards(2).model("A100"));
  const NodeIndex common = fixture.add(node("common").cards(8).model("T4"));
  fixture.arrive({share(500), share(500), share(500)}, 20);
  EXPECT_EQ(fixture.weight(rare), 1.0);
  fixture.arrive({pod("a").gpus(1).model("A100"), share(500), share(500)}, 200);
  EXPECT_GT(fixture.weight(rare), 2.0);
  EXPECT_LT(fixture.weight(common), 1.3);
}

TEST(Learner, NodesThatAloneHoldLargePodsAreDear) {
  LearnerFixture fixture;
  const NodeIndex large = fixture.add(node("large").cards(8));
  for (int i = 0; i < 10; ++i) fixture.add(node("small" + std::to_string(i)).cards(2));
  const NodeIndex small = fixture.ledger().nodes().find("small0");
  fixture.arrive({pod("a").gpus(8), share(500), share(500)}, 200);
  EXPECT_GT(fixture.weight(large), 1.2);
  EXPECT_EQ(fixture.weight(small), 1.0);
}

// ---- memory -------------------------------------------------------------------------------------

TEST(Learner, ValuesMemoryOncePodsAskForIt) {
  LearnerFixture fixture;
  fixture.add(node("n").cards(2).memory_mib(10000));
  fixture.arrive({share(250)}, 20);
  EXPECT_TRUE(fixture.model().memory_value.empty());
  fixture.arrive({pod("m").memory_mib(4000)}, 50);
  fixture.ponder();
  ASSERT_EQ(fixture.model().memory_value.size(), 1U);
  const CardValue& value = fixture.model().memory_value[0];
  ASSERT_TRUE(value.two_dimensional());
  EXPECT_GT(value.at(0, 400), 0.3) << "memory is worth something without compute";
  EXPECT_EQ(value.at(1000, 1000), 1.0);

  LearnerFixture one_dimension(false);
  one_dimension.add(node("n").cards(2).memory_mib(10000));
  one_dimension.arrive({pod("m").memory_mib(4000)}, 50);
  EXPECT_TRUE(one_dimension.model().memory_value.empty());
}

TEST(Learner, SurvivesCardsWithoutMemoryAndSharesWithoutSize) {
  LearnerFixture fixture;
  fixture.add(node("n").cards(1).memory_mib(0).cards(1).memory_mib(100));
  fixture.arrive({pod("a").memory_mib(50), pod("b").milli(0), pod("c").milli(999).whole_memory(),
                  pod("d").memory_mib(1 << 22), pod("e").cpu_milli(1)},
                 60);
  fixture.ponder();
  EXPECT_EQ(fixture.model().value.at(1000), 1.0);
}

// ---- departures and the table of kinds ----------------------------------------------------------

TEST(Learner, SeesPodsLeaveOnlyOnceEnoughCame) {
  LearnerFixture fixture;
  fixture.add(node("n").cards(4));
  for (int i = 0; i < 40; ++i) {
    fixture.arrive(share(500));
    fixture.learner().accepted(fixture.kind());
    fixture.learner().departed(fixture.kind());
  }
  EXPECT_EQ(fixture.learner().departures(), 0.0) << "40 pods tell nothing yet";
  for (int i = 0; i < 400; ++i) {
    fixture.arrive(share(500));
    fixture.learner().accepted(fixture.kind());
    fixture.learner().departed(fixture.kind());
  }
  EXPECT_EQ(fixture.learner().departures(), 1.0);
  EXPECT_TRUE(fixture.model().fullest_first);
  EXPECT_GT(fixture.model().blocks, 0.0);
}

TEST(Learner, TheTableOfKindsIsBounded) {
  LearnerFixture fixture;
  fixture.add(node("n").cards(4));
  for (int i = 0; i < 5000; ++i) {
    fixture.arrive(pod("p").milli(100 + 100 * (i % 9)).cpu_milli(i));
    ASSERT_LT(fixture.kind(), Demand::kMaxKinds);
    ASSERT_EQ(fixture.learner().demand().kinds()[fixture.kind()].cpu_milli, i);
  }
  EXPECT_EQ(fixture.learner().demand().kinds().size(), Demand::kMaxKinds);
  EXPECT_EQ(fixture.learner().demand().arrivals(), 5000U);
  EXPECT_EQ(fixture.model().value.at(1000), 1.0);
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
