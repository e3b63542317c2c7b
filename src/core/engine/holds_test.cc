#include "core/engine/holds.h"

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::core {
namespace {

Hold hold(const std::string& uid, std::int64_t until) {
  return {.pod = testing::pod(uid), .place = {.node = "a", .cards = {}}, .until = {until}};
}

TEST(Holds, RunOutInTheOrderOfTheirTimes) {
  Holds holds;
  holds.add(hold("b", 20));
  holds.add(hold("a", 30));
  holds.add(hold("c", 10));
  EXPECT_EQ(holds.expired({9}), nullptr);
  std::string order;
  while (const Hold* over = holds.expired({25})) {
    order += over->pod.uid;
    holds.forget(std::string(over->pod.uid));
  }
  EXPECT_EQ(order, "cb");
  EXPECT_EQ(holds.uids(), std::vector<std::string>{"a"});
}

TEST(Holds, OneThatIsClaimedDoesNotRunOut) {
  Holds holds;
  holds.add(hold("a", 10));
  holds.reserve("a");
  EXPECT_TRUE(holds.find("a")->binding);
  EXPECT_EQ(holds.expired({100}), nullptr);
  holds.reserve("a");  // again
  holds.forget("a");
  EXPECT_EQ(holds.find("a"), nullptr);
  EXPECT_EQ(holds.size(), 0U);
}

TEST(Holds, ANewOneReplacesTheOldOneAndItsTime) {
  Holds holds;
  holds.add(hold("a", 10));
  EXPECT_EQ(holds.add(hold("a", 50)).until.ns, 50);
  EXPECT_EQ(holds.expired({40}), nullptr);
  EXPECT_NE(holds.expired({50}), nullptr);
  EXPECT_EQ(holds.size(), 1U);
  holds.forget("unknown");
}

}  // namespace
}  // namespace stowage::core
