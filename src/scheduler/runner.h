// The engine on a thread of its own: takes events from the mailbox, hands commands on. On a loop
// that runs by a schedule it takes turns there instead, so that a simulation decides the order.
//
// Back-pressure: while as many binds are under way as `binds_max`, pods that want a place stay in
// the mailbox, where a more urgent one can still overtake them. Binds that wait for volumes, which
// may take minutes, do not count.
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
#include "scheduler/mailbox.h"

namespace stowage::scheduler {

// The loop's clock as the engine has it.
[[nodiscard]] base::Instant engine_time(const net::EventLoop& loop);

// Times that decisions are sorted by: at most so long, and beyond.
inline constexpr std::array<double, 10> kDecideSeconds{1e-5, 2e-5, 5e-5, 1e-4, 2e-4,
                                                       5e-4, 1e-3, 2e-3, 5e-3, 1e-2};

class Runner {
 public:
  using Output = std::function<void(core::Commands)>;  // called on the engine's thread
  struct Options {
    std::vector<core::PolicyOptions> profiles;
    std::size_t binds_max = 1024;
    core::EngineOptions engine;
  };
  Runner(Options options, Mailbox& mailbox, net::EventLoop& loop, Output output);
  ~Runner();  // closes the mailbox and waits for the thread
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void start();

  // Any thread: so many of the binds under way wait for something slow.
  void set_slow_binds(std::size_t count);

  struct Picture {  // of the engine after its last batch
    core::Engine::Counters counters;
    std::size_t nodes = 0;
    std::size_t pods = 0;
    std::uint64_t decide_ns_sum = 0;  // time spent on pods that wanted a place
    std::uint64_t decide_ns_max = 0;
    std::array<std::uint64_t, kDecideSeconds.size() + 1> decides{};  // by that time
    // The longest event of the last minute or two, in processor time of the engine's thread.
    std::chrono::nanoseconds longest_event{};
  };
  [[nodiscard]] Picture picture() const;

 private:
  void run();
  void turn();
  [[nodiscard]] std::size_t room() const;  // for pods that want a place
  void work(std::vector<Mailbox::Message>& batch);
  void handle(const core::Event& event, core::Commands& out);
  // What the engine has left undone, all of it. `before`: when the last event ended.
  void finish(core::Commands& out, net::Duration& before);
  void publish();

  core::Engine engine_;
  std::size_t binds_max_;
  Mailbox& mailbox_;
  net::EventLoop& loop_;
  Output output_;
  std::shared_ptr<bool> turn_waits_;  // null: there is a thread
  std::atomic<std::size_t> slow_binds_{0};
  std::thread thread_;
  mutable std::mutex mutex_;  // of picture_
  Picture picture_;
  Picture next_;           // the engine's thread alone
  base::Longest longest_;  // this too
};

}  // namespace stowage::scheduler
