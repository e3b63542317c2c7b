// A progress bar on standard error. It appears after two seconds and is erased when the work is
// done.
#pragma once

#include <chrono>
#include <cstddef>

namespace stowage::sim {

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  struct State {
    double fraction = 0;  // of all work, 0 to 1
    std::size_t runs_done = 0;
    std::size_t runs = 0;
  };
  void draw(const State& state);

 private:
  std::chrono::steady_clock::time_point start_;
  bool shown_ = false;
};

}  // namespace stowage::sim
