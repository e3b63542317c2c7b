// One thread that runs sockets, timers and signals. Everything created on a loop lives on its
// thread: callbacks are called there, one at a time, and objects are used and destroyed there,
// unless a function says otherwise.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace stowage::net {

using Duration = std::chrono::nanoseconds;
using Moment = std::chrono::steady_clock::time_point;

// The clock of all times here. It never goes back, and continues while the machine sleeps: what
// became due during the sleep is overdue afterwards. Any thread.
[[nodiscard]] Moment clock_now();

// External time and scheduling, for simulations: work runs one piece at a time, ordered by time and
// then as the schedule decides. Sockets are not available then.
class Schedule {
 public:
  virtual ~Schedule() = default;
  [[nodiscard]] virtual Moment now() const = 0;
  virtual void at(Moment when, std::function<void()> work) = 0;
};

class EventLoop {
 public:
  EventLoop();
  // Uses that schedule, which outlives the loop; run(), stop() and signals must not be used.
  explicit EventLoop(Schedule& schedule);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs callbacks on the calling thread until stop(). May be called again after that.
  void run();
  // Any thread. Queued callbacks are not run. If the loop does not run, its next run ends at once.
  void stop();
  // Any thread: `work` is called on the loop's thread, in the order of the calls.
  void post(std::function<void()> work);
  // `handler` is called on the loop's thread with the number of each signal.
  void on_signals(const std::vector<int>& signals, std::function<void(int)> handler);

  // Any thread. Everything on the loop uses this clock.
  [[nodiscard]] Moment now() const { return schedule_ != nullptr ? schedule_->now() : clock_now(); }
  [[nodiscard]] Schedule* schedule() { return schedule_; }  // null in real time

  struct Io;  // the library's event loop, for src/net only
  [[nodiscard]] Io& io() { return *io_; }

 private:
  std::unique_ptr<Io> io_;
  Schedule* schedule_ = nullptr;
};

// That long from now. A duration too long for the clock gives a time that never comes.
[[nodiscard]] Moment after(const EventLoop& loop, Duration delay);

// A timer that fires once per start. Its callback is never called after cancel() or destruction.
class Timer {
 public:
  explicit Timer(EventLoop& loop);
  ~Timer();
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;

  void start(Duration delay, std::function<void()> fire);  // replaces an earlier start
  void cancel();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::net
