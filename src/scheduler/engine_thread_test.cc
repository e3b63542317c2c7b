#include "scheduler/engine_thread.h"

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

// One event does a bounded amount of work; the engine continues without another event.
TEST(EngineThread, GoesOnWithWhatAnEventHasLeft) {
  constexpr int kPods = 300;
  EventQueue event_queue;
  net::EventLoop loop;
  Collector out;
  EngineThread engine_thread({.profiles = {policy("binpack")}, .binds_max = 1000}, event_queue,
                             loop, [&](core::Commands commands) { out.add(std::move(commands)); });
  engine_thread.start();
  event_queue.open();
  for (int i = 0; i < kPods; ++i) {
    event_queue.put_pod(core::PodPending{pod("p" + std::to_string(i)).cpu_milli(10)});
  }
  (void)out.wait_for(kPods);  // refusals
  core::NodeSpec spec = node("a").cards(1);
  spec.allocatable.cpu_milli = 1'000'000;
  spec.allocatable.pods = 1000;
  event_queue.put_node(core::NodeChanged{spec});
  const core::Commands all = out.wait_for(2 * kPods);
  for (std::size_t i = kPods; i < all.size(); ++i) {
    EXPECT_TRUE(std::holds_alternative<core::Bind>(all[i]));
  }
}

TEST(EngineThread, DecidesOnItsOwnThreadAndAnswersQuestions) {
  EventQueue event_queue;
  net::EventLoop loop;
  Collector out;
  EngineThread engine_thread({.profiles = {policy("binpack")}, .binds_max = 10}, event_queue, loop,
                             [&](core::Commands commands) { out.add(std::move(commands)); });
  engine_thread.start();
  event_queue.put_node(core::NodeChanged{node("a").cards(2)});
  event_queue.open();
  event_queue.put_pod(core::PodPending{pod("p").gpus(1)});
  EXPECT_EQ(std::get<core::Bind>(out.wait_for(1)[0]).uid, "p");
  std::mutex mutex;
  std::condition_variable answered;
  std::size_t nodes = 0;
  event_queue.ask([&](const EventQueue::EngineAccess& access) {
    const std::scoped_lock lock(mutex);
    nodes = access.engine.ledger().nodes().count();
    answered.notify_all();
  });
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return nodes != 0; });
  EXPECT_EQ(nodes, 1U);
}

TEST(EngineThread, StopsDecidingWhileTooManyBindsAreUnderWay) {
  EventQueue event_queue;
  net::EventLoop loop;
  Collector out;
  EngineThread engine_thread({.profiles = {policy("binpack")}, .binds_max = 2}, event_queue, loop,
                             [&](core::Commands commands) { out.add(std::move(commands)); });
  event_queue.put_node(core::NodeChanged{node("a").cards(8)});
  for (const char* uid : {"1", "2", "3"}) event_queue.put_pod(core::PodPending{pod(uid).gpus(1)});
  event_queue.open();
  engine_thread.start();
  EXPECT_EQ(out.wait_for(2).size(), 2U);
  EXPECT_EQ(event_queue.sizes().pending, 1U);
  event_queue.put_pod(core::PodPending{pod("urgent").gpus(1).priority(5)});
  event_queue.put_reply(core::BindDone{"1"});
  EXPECT_EQ(std::get<core::Bind>(out.wait_for(3)[2]).uid, "urgent") << "it overtook pod 3";
}

TEST(EngineThread, BindsThatWaitForSomethingSlowDoNotHoldOthersUp) {
  EventQueue event_queue;
  net::EventLoop loop;
  Collector out;
  EngineThread engine_thread({.profiles = {policy("binpack")}, .binds_max = 1}, event_queue, loop,
                             [&](core::Commands commands) { out.add(std::move(commands)); });
  event_queue.put_node(core::NodeChanged{node("a").cards(8)});
  for (const char* uid : {"1", "2", "3"}) event_queue.put_pod(core::PodPending{pod(uid).gpus(1)});
  event_queue.open();
  engine_thread.start();
  EXPECT_EQ(out.wait_for(1).size(), 1U);
  engine_thread.set_slow_binds(1);
  EXPECT_EQ(out.wait_for(2).size(), 2U);
  EXPECT_EQ(event_queue.sizes().pending, 1U);
}

}  // namespace
}  // namespace stowage::scheduler
