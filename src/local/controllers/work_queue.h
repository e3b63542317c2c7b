// A queue of work by time, on one thread, with an injected clock, so that tests can simulate hours
// in an instant.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "local/wall_time.h"

namespace stowage::local {

class WorkQueue {
 public:
  using Work = std::function<void()>;

  // `now` is called whenever a delay is given.
  explicit WorkQueue(std::function<WallTime()> now) : now_(std::move(now)) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  [[nodiscard]] WallTime now() const { return now_(); }

  // Equal times keep the order of the calls. The work may add more.
  void at(WallTime when, Work work);
  void after(std::chrono::microseconds delay, Work work) { at(now() + delay, std::move(work)); }

  // When the earliest work is due; unset if the queue is empty.
  [[nodiscard]] std::optional<WallTime> next() const;

  // Runs the work that is due, and returns how many pieces. Work added meanwhile waits for the next
  // call, even if it is due: other parts run in between.
  std::size_t run();

  // Called when work is added that is due before all the rest. A program sets its timer there.
  void on_sooner(std::function<void()> sooner) { sooner_ = std::move(sooner); }

 private:
  std::function<WallTime()> now_;
  std::map<std::pair<WallTime, std::uint64_t>, Work> entries_;
  std::uint64_t next_number_ = 0;
  std::function<void()> sooner_;
};

// Runs one piece of work some time after the first request, once for all requests in between.
class Soon {
 public:
  Soon(WorkQueue& queue, std::chrono::microseconds delay, WorkQueue::Work work)
      : queue_(queue), delay_(delay), work_(std::move(work)) {}
  Soon(const Soon&) = delete;
  Soon& operator=(const Soon&) = delete;

  void ask() {
    if (asked_) return;
    asked_ = true;
    queue_.after(delay_, [this] {
      asked_ = false;
      work_();
    });
  }

 private:
  WorkQueue& queue_;
  std::chrono::microseconds delay_;
  WorkQueue::Work work_;
  bool asked_ = false;
};

}  // namespace stowage::local
