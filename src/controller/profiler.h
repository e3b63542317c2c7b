// Profiles of this process: where processor time goes for some seconds, and what the heap holds.
// Both in the format of pprof. Only in builds with gperftools; other builds return an error.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"
#include "net/event_loop.h"

namespace stowage::controller {

class Profiler {
 public:
  explicit Profiler(net::EventLoop& loop);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  static constexpr std::chrono::seconds kLongest{60};

  using Done = std::function<void(Result<std::string>)>;
  // One at a time. `done` is called when the time is over, or at once with an error.
  void record_cpu(std::chrono::seconds time, Done done);
  // The current allocations, sampled: the process has to be started with TCMALLOC_SAMPLE_PARAMETER.
  [[nodiscard]] static Result<std::string> heap();

 private:
  void finish(const Done& done);

  net::Timer timer_;
  std::string file_;  // of the recording under way; empty: none
};

}  // namespace stowage::controller
