#include "scheduler/runner.h"

#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::scheduler {
namespace {

using core::testing::node;
using core::testing::pod;
using core::testing::policy;

// Collects commands from the engine's thread.
class Collector {
 public:
  void add(core::Commands commands) {
    const std::scoped_lock lock(mutex_);
    for (auto& command : commands) commands_.push_back(std::move(command));
    arrived_.notify_all();
  }
  core::Commands wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return commands_.size() >= count; });
    return commands_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  core::Commands commands_;
};

// One event of the engine does a bounded amount of work; the rest follows without another event.
TEST(Runner, GoesOnWithWhatAnEventHasLeft) {
  constexpr int kPods = 300;
  Mailbox mailbox;
  net::EventLoop loop;
  Collector out;
  Runner runner({.profiles = {policy("binpack")}, .binds_max = 1000}, mailbox, loop,
                [&](core::Commands commands) { out.add(std::move(commands)); });
  runner.start();
  mailbox.open();
  for (int i = 0; i < kPods; ++i) {
    mailbox.put_pod(core::PodPending{pod("p" + std::to_string(i)).cpu_milli(10)});
  }
  (void)out.wait_for(kPods);  // refusals
  core::NodeSpec spec = node("a").cards(1);
  spec.allocatable.cpu_milli = 1'000'000;
  spec.allocatable.pods = 1000;
  mailbox.put_node(core::NodeChanged{spec});
  const core::Commands all = out.wait_for(2 * kPods);
  for (std::size_t i = kPods; i < all.size(); ++i) {
    EXPECT_TRUE(std::holds_alternative<core::Bind>(all[i]));
  }
}

TEST(Runner, DecidesOnItsOwnThreadAndAnswersQuestions) {
  Mailbox mailbox;
  net::EventLoop loop;
  Collector out;
  Runner runner({.profiles = {policy("binpack")}, .binds_max = 10}, mailbox, loop,
                [&](core::Commands commands) { out.add(std::move(commands)); });
  runner.start();
  mailbox.put_node(core::NodeChanged{node("a").cards(2)});
  mailbox.open();
  mailbox.put_pod(core::PodPending{pod("p").gpus(1)});
  EXPECT_EQ(std::get<core::Bind>(out.wait_for(1)[0]).uid, "p");
  std::mutex mutex;
  std::condition_variable answered;
  std::size_t nodes = 0;
  mailbox.ask([&](const Mailbox::Hearing& hearing) {
    const std::scoped_lock lock(mutex);
    nodes = hearing.engine.ledger().node_count();
    answered.notify_all();
  });
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return nodes != 0; });
  EXPECT_EQ(nodes, 1U);
}

TEST(Runner, StopsDecidingWhileTooManyBindsAreUnderWay) {
  Mailbox mailbox;
  net::EventLoop loop;
  Collector out;
  Runner runner({.profiles = {policy("binpack")}, .binds_max = 2}, mailbox, loop,
                [&](core::Commands commands) { out.add(std::move(commands)); });
  mailbox.put_node(core::NodeChanged{node("a").cards(8)});
  for (const char* uid : {"1", "2", "3"}) mailbox.put_pod(core::PodPending{pod(uid).gpus(1)});
  mailbox.open();
  runner.start();
  EXPECT_EQ(out.wait_for(2).size(), 2U);
  EXPECT_EQ(mailbox.sizes().pending, 1U);
  mailbox.put_pod(core::PodPending{pod("urgent").gpus(1).priority(5)});
  mailbox.put_reply(core::BindDone{"1"});
  EXPECT_EQ(std::get<core::Bind>(out.wait_for(3)[2]).uid, "urgent") << "it overtook pod 3";
}

TEST(Runner, BindsThatWaitForSomethingSlowDoNotHoldOthersUp) {
  Mailbox mailbox;
  net::EventLoop loop;
  Collector out;
  Runner runner({.profiles = {policy("binpack")}, .binds_max = 1}, mailbox, loop,
                [&](core::Commands commands) { out.add(std::move(commands)); });
  mailbox.put_node(core::NodeChanged{node("a").cards(8)});
  for (const char* uid : {"1", "2", "3"}) mailbox.put_pod(core::PodPending{pod(uid).gpus(1)});
  mailbox.open();
  runner.start();
  EXPECT_EQ(out.wait_for(1).size(), 1U);
  runner.set_slow_binds(1);
  EXPECT_EQ(out.wait_for(2).size(), 2U);
  EXPECT_EQ(mailbox.sizes().pending, 1U);
}

}  // namespace
}  // namespace stowage::scheduler
