#include "plugin/registration.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace stowage::plugin {
namespace {

using Action = RegistrationState::Action;
using Phase = RegistrationState::Phase;
using Socket = RegistrationState::Socket;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RegistrationTest : public ::testing::Test {
 protected:
  void pass(net::Duration time) { now_ += time; }
  // Passes to the time at which something is due.
  Action wait() {
    EXPECT_TRUE(state_.due());
    now_ = std::max(now_, state_.due().value_or(now_));
    return state_.on_time(now_);
  }
  void become_registered() {
    EXPECT_EQ(state_.on_socket(Socket::created, now_), Action::attempt);
    EXPECT_EQ(state_.on_accepted(now_), Action::none);
    EXPECT_EQ(state_.on_stream(now_), Action::none);
    EXPECT_TRUE(state_.registered());
  }

  RegistrationState state_{RegistrationState::Options{}};
  net::Moment now_{std::chrono::hours{1}};
};

TEST_F(RegistrationTest, RegistersWhenTheSocketAppears) {
  EXPECT_EQ(state_.phase(), Phase::absent);
  EXPECT_EQ(state_.why(), "the kubelet's socket does not exist");
  become_registered();
  EXPECT_EQ(state_.why(), "");
  EXPECT_FALSE(state_.due());
}

// The kubelet opens the stream inside the call, so it may come first.
TEST_F(RegistrationTest, TheStreamMayComeBeforeTheAnswer) {
  (void)state_.on_socket(Socket::created, now_);
  (void)state_.on_stream(now_);
  EXPECT_FALSE(state_.registered());
  (void)state_.on_accepted(now_);
  EXPECT_TRUE(state_.registered());
}

TEST_F(RegistrationTest, WithoutAStreamItTriesAgain) {
  (void)state_.on_socket(Socket::created, now_);
  (void)state_.on_accepted(now_);
  EXPECT_EQ(state_.due(), now_ + seconds{5});
  EXPECT_EQ(wait(), Action::end_streams);
  EXPECT_EQ(state_.why(), "the kubelet has accepted the plugin but does not list its devices");
  EXPECT_EQ(state_.on_connections_closed(now_), Action::none);
  EXPECT_EQ(wait(), Action::attempt);
}

TEST_F(RegistrationTest, TheOldConnectionIsClosedBeforeTheNextAttempt) {
  become_registered();
  EXPECT_EQ(state_.on_streams_ended(now_), Action::end_streams);
  EXPECT_EQ(state_.phase(), Phase::closing);
  EXPECT_EQ(state_.on_connections_closed(now_), Action::none);
  EXPECT_EQ(state_.phase(), Phase::pausing);
  EXPECT_EQ(state_.due(), now_ + milliseconds{100});  // the kubelet still cleans up
  EXPECT_EQ(wait(), Action::attempt);
}

TEST_F(RegistrationTest, AConnectionThatStaysOpenIsAwaitedForAWhile) {
  become_registered();
  (void)state_.on_streams_ended(now_);
  EXPECT_EQ(state_.due(), now_ + seconds{2});
  EXPECT_EQ(wait(), Action::none);
  EXPECT_EQ(state_.phase(), Phase::pausing);
  EXPECT_EQ(wait(), Action::attempt);
}

TEST_F(RegistrationTest, RefusalsAreRepeatedWithGrowingPauses) {
  (void)state_.on_socket(Socket::created, now_);
  net::Duration last{};
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(state_.on_refused("no", now_), Action::none);
    EXPECT_EQ(state_.why(), "no");
    const net::Duration pause = *state_.due() - now_;
    EXPECT_GE(pause, last);
    EXPECT_LE(pause, seconds{5});
    last = pause;
    EXPECT_EQ(wait(), Action::attempt);
  }
  EXPECT_EQ(last, seconds{5});
  // A new kubelet is asked at once.
  (void)state_.on_refused("no", now_);
  EXPECT_EQ(state_.on_socket(Socket::created, now_), Action::attempt);
  (void)state_.on_refused("no", now_);
  EXPECT_EQ(state_.due(), now_ + milliseconds{20});
}

// A kubelet that refuses and yet holds a stream of ours would cut the next registration.
TEST_F(RegistrationTest, ARefusalWithAnOpenStreamClosesItFirst) {
  (void)state_.on_socket(Socket::created, now_);
  (void)state_.on_stream(now_);
  EXPECT_EQ(state_.on_refused("no", now_), Action::end_streams);
  EXPECT_EQ(state_.phase(), Phase::closing);
}

TEST_F(RegistrationTest, ANewKubeletIsRegisteredWithAtOnceFromAnyPhase) {
  for (const int steps : {0, 1, 2, 3, 4}) {
    state_ = RegistrationState(RegistrationState::Options{});
    (void)state_.on_socket(Socket::created, now_);
    if (steps > 0) (void)state_.on_accepted(now_);
    if (steps > 1) (void)state_.on_stream(now_);
    if (steps > 2) (void)state_.on_streams_ended(now_);
    if (steps > 3) (void)state_.on_connections_closed(now_);
    EXPECT_EQ(state_.on_socket(Socket::created, now_), Action::attempt) << steps;
    EXPECT_EQ(state_.phase(), Phase::registering);
    EXPECT_FALSE(state_.due());
  }
}

TEST_F(RegistrationTest, WithoutASocketItWaitsForOne) {
  become_registered();
  EXPECT_EQ(state_.on_socket(Socket::gone, now_), Action::none);
  EXPECT_TRUE(state_.registered());  // the stream is open
  (void)state_.on_streams_ended(now_);
  (void)state_.on_connections_closed(now_);
  EXPECT_EQ(wait(), Action::none);
  EXPECT_EQ(state_.phase(), Phase::absent);
  EXPECT_FALSE(state_.due());
  EXPECT_EQ(state_.on_socket(Socket::there, now_), Action::attempt);
}

TEST_F(RegistrationTest, AProvenRegistrationStartsTheBackOffOver) {
  (void)state_.on_socket(Socket::created, now_);
  for (int i = 0; i < 8; ++i) {
    (void)state_.on_refused("no", now_);
    (void)wait();
  }
  (void)state_.on_accepted(now_);
  (void)state_.on_stream(now_);
  pass(seconds{30});
  (void)state_.on_streams_ended(now_);
  (void)state_.on_connections_closed(now_);
  EXPECT_EQ(state_.due(), now_ + milliseconds{100});
}

// Whatever happens: something is due or awaited, and a kubelet that answers is registered with.
TEST_F(RegistrationTest, NoSequenceOfEventsIsADeadEnd) {
  base::Rng rng(11);
  for (int round = 0; round < 2000; ++round) {
    state_ = RegistrationState(RegistrationState::Options{});
    for (int i = 0; i < 20; ++i) {
      pass(milliseconds{static_cast<std::int64_t>(rng.below(3000))});
      switch (rng.below(9)) {
        case 0: (void)state_.on_socket(Socket::created, now_); break;
        case 1: (void)state_.on_socket(Socket::gone, now_); break;
        case 2: (void)state_.on_socket(Socket::there, now_); break;
        case 3: (void)state_.on_accepted(now_); break;
        case 4: (void)state_.on_refused("no", now_); break;
        case 5: (void)state_.on_stream(now_); break;
        case 6: (void)state_.on_streams_ended(now_); break;
        case 7: (void)state_.on_connections_closed(now_); break;
        default: (void)state_.on_time(now_);
      }
      const bool timed = state_.phase() == Phase::awaiting_stream ||
                         state_.phase() == Phase::closing || state_.phase() == Phase::pausing;
      ASSERT_EQ(state_.due().has_value(), timed) << to_string(state_.phase());
      ASSERT_EQ(state_.why().empty(), state_.registered()) << to_string(state_.phase());
    }
    become_registered();
  }
}

}  // namespace
}  // namespace stowage::plugin
