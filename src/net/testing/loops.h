// Event loops for tests: on their own thread, or run until a condition holds.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "net/event_loop.h"

namespace stowage::net::testing {

constexpr Duration kPatience = std::chrono::seconds{30};

// Runs the loop until `ready`, which is checked every millisecond. False after a time limit.
inline bool run_until(EventLoop& loop, const std::function<bool()>& ready) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  Timer timer(loop);
  bool good = false;
  std::function<void()> look = [&] {
    good = ready();
    if (good || std::chrono::steady_clock::now() > give_up) {
      loop.stop();
    } else {
      timer.start(std::chrono::milliseconds{1}, look);
    }
  };
  loop.post(look);
  loop.run();
  return good;
}

// Runs the loop for a while, to check that something does not happen.
inline void run_for(EventLoop& loop, Duration duration) {
  Timer timer(loop);
  timer.start(duration, [&] { loop.stop(); });
  loop.run();
}

class LoopThread {
 public:
  LoopThread() : thread_([this] { loop_.run(); }) {}
  ~LoopThread() {
    loop_.stop();
    thread_.join();
  }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // Runs `work` on the loop's thread and waits for its end.
  void on(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  [[nodiscard]] EventLoop& loop() { return loop_; }

 private:
  EventLoop loop_;
  std::thread thread_;
};

}  // namespace stowage::net::testing
