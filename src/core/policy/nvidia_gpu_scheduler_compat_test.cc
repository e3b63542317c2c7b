// `most-free`: the node with the most free cards of the model that the pod names. The inventory and
// the expected answers are those of nvidia-gpu-scheduler.
#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core::testing {
namespace {

// n1 has three T4, one of them busy; n2 two T4 and an A100; n3 an A100; n4 an unhealthy T4.
Engine inventory() {
  Engine engine =
      engine_with("most-free", {node("n1").cards(3).model("tesla t4"),
                                node("n2").cards(2).model("tesla t4").cards(1).model("a100"),
                                node("n3").cards(1).model("a100"),
                                node("n4").cards(1).model("tesla t4").unhealthy()});
  occupy(engine, "n1", 0, {.milli = 1000});
  return engine;
}

TEST(MostFree, OrdersNodesByFreeCardsOfTheModel) {
  struct OrderRow {
    std::string name;
    PodSpec pod;
    std::string order;
  };
  const std::vector<OrderRow> rows{
      {"the model is compared without regard to case, and equal nodes go by name",
       pod("p").gpus(1).model("Tesla T4"), "n1 n2"},
      {"no node has three free cards of the model", pod("p").gpus(3).model("Tesla T4"), ""},
      {"a part of the model's name is not enough", pod("p").gpus(1).model("T4"), ""},
      {"another model", pod("p").gpus(1).model("a100"), "n2 n3"},
      {"any model: all free cards count", pod("p").gpus(1), "n2 n1 n3"},
  };
  for (const OrderRow& row : rows) {
    Engine engine = inventory();
    EXPECT_EQ(node_order(engine, row.pod), row.order) << row.name;
  }
}

TEST(MostFree, SaysWhyTheOtherNodesRefuse) {
  Engine engine = inventory();
  const auto verdicts = engine.explain(pod("p").gpus(1).model("Tesla T4"));
  ASSERT_EQ(verdicts.size(), 4U);
  EXPECT_EQ(verdicts[0].reason.code, ReasonCode::none);
  EXPECT_EQ(verdicts[1].reason.code, ReasonCode::none);
  EXPECT_EQ(verdicts[2].reason.code, ReasonCode::model_mismatch);
  EXPECT_EQ(verdicts[3].reason.code, ReasonCode::unhealthy);
}

TEST(MostFree, FollowsTheBusyCards) {
  Engine engine = inventory();
  const PodSpec next = pod("p").gpus(1).model("tesla t4");
  const std::string first = occupy(engine, "n1", 1, {.milli = 1000});
  EXPECT_EQ(node_order(engine, next), "n2 n1") << "two free cards against one";
  const std::string second = occupy(engine, "n1", 2, {.milli = 1000});
  EXPECT_EQ(node_order(engine, next), "n2") << "n1 is full";
  end(engine, first);
  EXPECT_EQ(node_order(engine, next), "n2 n1") << "the end of one pod frees its own card only";
  end(engine, second);
  EXPECT_EQ(node_order(engine, next), "n1 n2");
}

TEST(MostFree, CountsTheCardsOfAllContainers) {
  Engine engine = engine_with("most-free", {node("n").cards(5)});
  const PodSpec two_and_three = pod("p").gpus(2).container("second").gpus(3);
  EXPECT_EQ(place(engine, two_and_three).text(), "n 0,1|2,3,4");
  EXPECT_EQ(place(engine, pod("q").gpus(1)).text(), "none");
}

}  // namespace
}  // namespace stowage::core::testing
