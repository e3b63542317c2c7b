#include "kube/event_gate.h"

#include <chrono>

#include <gtest/gtest.h>

namespace stowage::kube {
namespace {

using namespace std::chrono_literals;

class EventGateTest : public ::testing::Test {
 protected:
  // Whether an event may be sent now, and if not, after how many milliseconds to ask again (-1:
  // after the next reply).
  std::string ask() {
    const EventGate::Answer answer = gate_.ask(now_);
    if (answer.may_go) return "yes";
    if (!answer.again) return "-1";
    return std::to_string(
        std::chrono::duration_cast<std::chrono::milliseconds>(*answer.again).count());
  }

  SteadyTime now_{1h};
  ApiClientOptions options_;
  EventGate gate_{options_};
};

TEST_F(EventGateTest, LimitsEventsInFlight) {
  options_.events_in_flight_max = 2;
  gate_.sent(Lane::events, now_);
  EXPECT_EQ(ask(), "yes");
  gate_.sent(Lane::events, now_);
  EXPECT_EQ(ask(), "-1");
  gate_.replied(Lane::events, now_);
  EXPECT_EQ(ask(), "yes");
}

TEST_F(EventGateTest, SendsOneAtATimeBesideBindsWithAPause) {
  gate_.sent(Lane::bind, now_);
  EXPECT_EQ(ask(), "yes");
  gate_.sent(Lane::events, now_);
  EXPECT_EQ(ask(), "-1") << "one is in flight";
  gate_.replied(Lane::events, now_);
  EXPECT_EQ(ask(), "50");
  now_ += 50ms;
  EXPECT_EQ(ask(), "yes");
  gate_.sent(Lane::events, now_);
  gate_.replied(Lane::bind, now_);
  EXPECT_EQ(ask(), "100") << "after a quiet period";
  now_ += 100ms;
  EXPECT_EQ(ask(), "yes");
}

TEST_F(EventGateTest, SendsMoreBesideBindsThatDoNotEnd) {
  gate_.sent(Lane::bind, now_);
  gate_.sent(Lane::events, now_);
  EXPECT_EQ(ask(), "-1");
  now_ += 10s;
  EXPECT_EQ(ask(), "yes");
  gate_.sent(Lane::events, now_);
  gate_.sent(Lane::events, now_);
  gate_.sent(Lane::events, now_);
  EXPECT_EQ(ask(), "-1") << "four are in flight";
}

TEST_F(EventGateTest, WaitsWhileTheServerWantsAPause) {
  gate_.pause_until(now_ + 2s);
  gate_.pause_until(now_ + 1s);
  EXPECT_EQ(ask(), "2000");
  now_ += 2s;
  EXPECT_EQ(ask(), "yes");
}

}  // namespace
}  // namespace stowage::kube
