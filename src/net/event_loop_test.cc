#include "net/event_loop.h"

#include <csignal>
#include <fstream>
#include <memory>
#include <optional>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/testing/loops.h"

namespace stowage::net {
namespace {

using std::chrono::milliseconds;
using testing::run_until;

TEST(EventLoop, PostedWorkRunsOnTheLoopInOrder) {
  EventLoop loop;
  std::vector<int> order;
  std::thread::id where;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      loop.post([&, i] {
        where = std::this_thread::get_id();
        order.push_back(i);
        if (i == 999) loop.stop();
      });
    }
  });
  loop.run();
  other.join();
  EXPECT_EQ(where, std::this_thread::get_id());
  ASSERT_EQ(order.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(EventLoop, AStopBeforeTheRunIsNotLostAndTheLoopRunsAgain) {
  EventLoop loop;
  int runs = 0;
  loop.stop();
  loop.run();
  loop.post([&] {
    ++runs;
    loop.stop();
  });
  loop.run();
  EXPECT_EQ(runs, 1);
}

TEST(EventLoop, WorkThatNeverRanIsDestroyed) {
  auto token = std::make_shared<int>(1);
  {
    EventLoop loop;
    loop.post([token] {});
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(EventLoop, SignalsCallTheHandlerEachTime) {
  EventLoop loop;
  std::vector<int> seen;
  loop.on_signals({SIGUSR1, SIGUSR2}, [&](int signal) { seen.push_back(signal); });
  std::raise(SIGUSR1);
  ASSERT_TRUE(run_until(loop, [&] { return seen.size() == 1; }));
  std::raise(SIGUSR2);
  ASSERT_TRUE(run_until(loop, [&] { return seen.size() == 2; }));
  EXPECT_EQ(seen, (std::vector<int>{SIGUSR1, SIGUSR2}));
}

TEST(Timer, FiresOnceAndNotBeforeItsTime) {
  EventLoop loop;
  Timer timer(loop);
  int fired = 0;
  const auto start = std::chrono::steady_clock::now();
  timer.start(milliseconds{20}, [&] { ++fired; });
  ASSERT_TRUE(run_until(loop, [&] { return fired != 0; }));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds{20});
  testing::run_for(loop, milliseconds{30});
  EXPECT_EQ(fired, 1);
}

TEST(Timer, TheLastStartCounts) {
  EventLoop loop;
  Timer later(loop);
  Timer sooner(loop);
  std::vector<int> fired;
  later.start(milliseconds{1}, [&] { fired.push_back(1); });
  later.start(milliseconds{60}, [&] { fired.push_back(2); });
  sooner.start(std::chrono::hours{1}, [&] { fired.push_back(3); });
  sooner.start(milliseconds{5}, [&] { fired.push_back(4); });
  ASSERT_TRUE(run_until(loop, [&] { return fired.size() == 2; }));
  EXPECT_EQ(fired, (std::vector<int>{4, 2}));
}

TEST(Timer, DoesNotFireAfterCancelOrDestructionAndMayBeStartedAgain) {
  EventLoop loop;
  Timer cancelled(loop);
  std::optional<Timer> destroyed(loop);
  int fired = 0;
  cancelled.start(milliseconds{1}, [&] { ++fired; });
  destroyed->start(milliseconds{1}, [&] { ++fired; });
  cancelled.cancel();
  destroyed.reset();
  testing::run_for(loop, milliseconds{30});
  EXPECT_EQ(fired, 0);
  cancelled.start(milliseconds{1}, [&] { ++fired; });
  EXPECT_TRUE(run_until(loop, [&] { return fired == 1; }));
}

TEST(Timer, MayBeRestartedDestroyedAndMovedInItsCallback) {
  EventLoop loop;
  std::optional<Timer> timer(loop);
  int fired = 0;
  std::function<void()> fire = [&] {
    if (++fired < 3) {
      timer->start(milliseconds{1}, fire);
    } else {
      timer.reset();
    }
  };
  timer->start(Duration{-5}, fire);
  Timer moved = std::move(*timer);
  timer = std::move(moved);
  EXPECT_TRUE(run_until(loop, [&] { return fired == 3; }));
}

TEST(Timer, AnEndlessDelayNeverFires) {
  EventLoop loop;
  Timer timer(loop);
  bool fired = false;
  timer.start(Duration::max(), [&] { fired = true; });
  testing::run_for(loop, milliseconds{10});
  EXPECT_FALSE(fired);
}

// Runs `look` in a process whose clock that counts sleep is 1000 s ahead of the one that does not.
// Returns its result, or nothing if the system does not allow this.
std::optional<int> after_sleep(int (*look)()) {
  const pid_t outer = ::fork();
  if (outer == 0) {
    constexpr int kNewTime = 0x80;  // CLONE_NEWTIME, which some headers lack
    if (::unshare(kNewTime) != 0) ::_exit(77);
    {
      std::ofstream offsets("/proc/self/timens_offsets");
      if (!(offsets << "boottime 1000 0\n" << std::flush)) ::_exit(77);
    }
    const pid_t inner = ::fork();  // children are in the new namespace
    if (inner == 0) ::_exit(look());
    int status = 0;
    ::waitpid(inner, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  ::waitpid(outer, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return code == 77 ? std::nullopt : std::optional(code);
}

TEST(EventLoop, TheClockCountsWhatTheMachineSlept) {
  const auto result = after_sleep([] {
    EventLoop loop;
    const auto ahead = loop.now() - std::chrono::steady_clock::now();
    if (ahead < std::chrono::seconds{999} || ahead > std::chrono::seconds{1001}) return 2;
    // Timers still run.
    const Moment before = loop.now();
    Timer timer(loop);
    timer.start(milliseconds{20}, [&] { loop.stop(); });
    loop.run();
    const auto took = loop.now() - before;
    return took >= milliseconds{20} && took < std::chrono::seconds{20} ? 0 : 3;
  });
  if (!result) GTEST_SKIP() << "no time namespaces here";
  EXPECT_EQ(*result, 0);
}

}  // namespace
}  // namespace stowage::net
