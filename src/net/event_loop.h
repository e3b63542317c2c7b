// One thread that runs sockets, timers and signals. Everything made on a loop lives on its thread:
// callbacks are called there, one at a time, and objects are used and destroyed there, unless a
// function says otherwise.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace stowage::net {

using Duration = std::chrono::nanoseconds;

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs callbacks on the calling thread until stop(). May be run again after that.
  void run();
  // Any thread. Callbacks that wait are not run. If the loop does not run, its next run ends at
  // once.
  void stop();
  // Any thread: `work` is called on the loop's thread, in the order of the calls.
  void post(std::function<void()> work);
  // `handler` is called on the loop's thread with the number of each such signal.
  void on_signals(const std::vector<int>& signals, std::function<void(int)> handler);

  struct Io;  // the event loop of the library underneath, for src/net alone
  [[nodiscard]] Io& io() { return *io_; }

 private:
  std::unique_ptr<Io> io_;
};

// A timer that fires once per start. Its callback is never called after cancel() or destruction.
class Timer {
 public:
  explicit Timer(EventLoop& loop);
  ~Timer();
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;

  void start(Duration delay, std::function<void()> fire);  // replaces a start before it
  void cancel();

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::net
