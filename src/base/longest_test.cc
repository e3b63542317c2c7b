#include "base/longest.h"

#include <gtest/gtest.h>

namespace stowage::base {
namespace {

using namespace std::chrono_literals;

TEST(Longest, IsOfTheLastMinuteOrTwo) {
  Longest longest;
  const Longest::Moment start{1h};
  EXPECT_EQ(longest.get(start), 0ns);
  longest.add(5ms, start);
  longest.add(2ms, start + 1s);
  EXPECT_EQ(longest.get(start + 59s), 5ms);
  longest.add(3ms, start + 70s);
  EXPECT_EQ(longest.get(start + 80s), 5ms) << "the minute before still counts";
  EXPECT_EQ(longest.get(start + 131s), 3ms);
  EXPECT_EQ(longest.get(start + 10min), 0ns);
}

}  // namespace
}  // namespace stowage::base
