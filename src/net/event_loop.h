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
using Moment = std::chrono::steady_clock::time_point;

// Of all moments here. Never goes back, and goes on while the machine sleeps: what was due before
// it slept is overdue when it wakes, as it is for everybody else. Any thread.
[[nodiscard]] Moment clock_now();

// Time and turns from elsewhere, for simulations: work is done one piece after the other, by time
// and then as the schedule likes, and nothing happens in between. There are no sockets then.
class Schedule {
 public:
  virtual ~Schedule() = default;
  [[nodiscard]] virtual Moment now() const = 0;
  virtual void at(Moment when, std::function<void()> work) = 0;
};

class EventLoop {
 public:
  EventLoop();
  // Runs by that schedule, which outlives the loop; run(), stop() and signals are not for it.
  explicit EventLoop(Schedule& schedule);
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

  // Any thread. Everything on the loop reads the clock here.
  [[nodiscard]] Moment now() const { return schedule_ != nullptr ? schedule_->now() : clock_now(); }
  [[nodiscard]] Schedule* schedule() { return schedule_; }  // null in real time

  struct Io;  // the event loop of the library underneath, for src/net alone
  [[nodiscard]] Io& io() { return *io_; }

 private:
  std::unique_ptr<Io> io_;
  Schedule* schedule_ = nullptr;
};

// A moment from now, for any duration: one too long to be added to the clock never comes.
[[nodiscard]] Moment after(const EventLoop& loop, Duration delay);

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
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::net
