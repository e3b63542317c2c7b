#include "grpc/keepalive.h"

#include <optional>

#include <gtest/gtest.h>

#include "net/testing/virtual_time.h"

namespace stowage::grpc {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class KeepaliveTest : public ::testing::Test {
 protected:
  net::testing::VirtualTime time_;
  net::EventLoop loop_{time_};
  int pings_ = 0;
  int lost_ = 0;
  Keepalive keepalive_{loop_,
                       {.ping_after = seconds{5}, .ping_timeout = seconds{3}},
                       {.ping = [this] { ++pings_; }, .lost = [this] { ++lost_; }}};
};

TEST_F(KeepaliveTest, NothingHappensWhileNothingIsExpected) {
  time_.pass(minutes{60});
  EXPECT_EQ(pings_, 0);
  EXPECT_EQ(lost_, 0);
}

TEST_F(KeepaliveTest, ADeadPeerIsPingedAndThenLost) {
  keepalive_.set_busy(true);
  time_.pass(seconds{4});
  EXPECT_EQ(pings_, 0);
  time_.pass(seconds{1});
  EXPECT_EQ(pings_, 1);
  time_.pass(seconds{2});
  EXPECT_EQ(lost_, 0);
  time_.pass(seconds{1});
  EXPECT_EQ(lost_, 1);
  time_.pass(minutes{60});
  EXPECT_EQ(pings_, 1);
  EXPECT_EQ(lost_, 1);
}

TEST_F(KeepaliveTest, APeerThatSpeaksIsLeftAlone) {
  keepalive_.set_busy(true);
  for (int i = 1; i <= 100; ++i) {
    time_.pass(seconds{4});
    keepalive_.heard(0);
  }
  EXPECT_EQ(pings_, 0);
}

TEST_F(KeepaliveTest, APeerThatOnlyAnswersPingsIsAskedSeldom) {
  keepalive_.set_busy(true);
  time_.pass(seconds{5});
  EXPECT_EQ(pings_, 1);
  keepalive_.heard(0);  // the answer
  time_.pass(minutes{5});
  EXPECT_EQ(pings_, 1);
  time_.pass(minutes{1});
  EXPECT_EQ(pings_, 2);
  time_.pass(seconds{3});
  EXPECT_EQ(lost_, 1);
}

TEST_F(KeepaliveTest, AfterHeadersOrDataAPingIsFree) {
  keepalive_.set_busy(true);
  for (int i = 1; i <= 10; ++i) {
    time_.pass(seconds{5});
    EXPECT_EQ(pings_, i);
    keepalive_.heard(static_cast<std::uint64_t>(i));
  }
  EXPECT_EQ(lost_, 0);
}

TEST_F(KeepaliveTest, AnEndOfTheWorkEndsTheWait) {
  keepalive_.set_busy(true);
  time_.pass(seconds{5});
  EXPECT_EQ(pings_, 1);
  keepalive_.set_busy(false);
  time_.pass(minutes{60});
  EXPECT_EQ(lost_, 0);
  keepalive_.set_busy(true);
  time_.pass(seconds{5});
  EXPECT_EQ(pings_, 2);
}

TEST(Keepalive, MayBeDestroyedByItsEnds) {
  for (const bool at_ping : {true, false}) {
    net::testing::VirtualTime time;
    net::EventLoop loop(time);
    std::optional<Keepalive> keepalive;
    const auto destroy = [&] { keepalive.reset(); };
    keepalive.emplace(
        loop, KeepaliveOptions{},
        Keepalive::Deps{.ping = at_ping ? std::function<void()>(destroy) : [] {}, .lost = destroy});
    keepalive->set_busy(true);
    time.pass(minutes{1});
    EXPECT_FALSE(keepalive);
  }
}

}  // namespace
}  // namespace stowage::grpc
