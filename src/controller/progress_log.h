// Logs one line every few seconds while pods are bound or refused, so that a log at the default
// level shows that the controller works.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/log.h"
#include "net/event_loop.h"
#include "scheduler/scheduler.h"

namespace stowage::controller {

class ProgressLog {
 public:
  // `look`: the current snapshot.
  ProgressLog(net::EventLoop& loop, base::Log& log,
              std::function<scheduler::Scheduler::Snapshot()> look)
      : log_(log), look_(std::move(look)), timer_(loop) {}

  void start() { tick(); }
  void stop() { timer_.cancel(); }
  // Another scheduler counts from zero.
  void reset() { bound_ = refused_ = 0; }

 private:
  void tick();

  base::Log& log_;
  std::function<scheduler::Scheduler::Snapshot()> look_;
  net::Timer timer_;
  std::uint64_t bound_ = 0;  // as of the last look
  std::uint64_t refused_ = 0;
};

}  // namespace stowage::controller
