// Runs the engine on its own thread: takes events from the event queue and hands commands on. On a
// loop that runs by a schedule, it takes turns on the loop instead, so that a simulation decides
// the order.
//
// Back-pressure: while `binds_max` binds are under way, pending pods stay in the event queue, where
// a more urgent one can still overtake them. Binds that wait for volumes, which may take minutes,
// do not count.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/longest.h"
#include "core/engine/engine.h"
#include "net/event_loop.h"
#include "scheduler/event_queue.h"

namespace stowage::scheduler {

// The time of the loop as the engine's time.
[[nodiscard]] base::Instant engine_time(const net::EventLoop& loop);

// Upper bounds of the decision-time histogram.
inline constexpr std::array<double, 10> kDecideSeconds{1e-5, 2e-5, 5e-5, 1e-4, 2e-4,
                                                       5e-4, 1e-3, 2e-3, 5e-3, 1e-2};

class EngineThread {
 public:
  using Output = std::function<void(core::Commands)>;  // called on the engine's thread
  struct Options {
    std::vector<core::PolicyOptions> profiles;
    std::size_t binds_max = 1024;
    core::EngineOptions engine;
  };
  EngineThread(Options options, EventQueue& event_queue, net::EventLoop& loop, Output output);
  ~EngineThread();  // closes the event queue and joins the thread
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  void start();

  // Any thread: how many of the binds under way wait for something slow.
  void set_slow_binds(std::size_t count);

  struct Snapshot {  // state of the engine after its last batch
    core::Engine::Counters counters;
    std::size_t nodes = 0;
    std::size_t pods = 0;
    std::uint64_t decide_ns_sum = 0;  // time spent on pending pods
    std::uint64_t decide_ns_max = 0;
    std::array<std::uint64_t, kDecideSeconds.size() + 1> decides{};  // decisions, by bucket of
                                                                     // kDecideSeconds
    // The longest event of the last one to two minutes, in processor time of the engine's thread.
    std::chrono::nanoseconds longest_event{};
  };
  [[nodiscard]] Snapshot snapshot() const;

 private:
  void run();
  void turn();
  [[nodiscard]] std::size_t room() const;  // number of pending pods that may be taken
  void work(std::vector<EventQueue::Message>& batch);
  void handle(const core::Event& event, core::Commands& out);
  // Completes all deferred steps of the engine. `before`: when the last event ended.
  void finish(core::Commands& out, net::Duration& before);
  void publish();

  core::Engine engine_;
  std::size_t binds_max_;
  EventQueue& event_queue_;
  net::EventLoop& loop_;
  Output output_;
  std::shared_ptr<bool> turn_waits_;  // null: there is a thread
  std::atomic<std::size_t> slow_binds_{0};
  std::thread thread_;
  mutable std::mutex mutex_;  // guards snapshot_
  Snapshot snapshot_;
  Snapshot next_;          // used by the engine's thread only
  base::Longest longest_;  // used by the engine's thread only
};

}  // namespace stowage::scheduler
