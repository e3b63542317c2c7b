#include "sim/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include <fmt/format.h>

namespace stowage::sim {
namespace {

constexpr std::chrono::seconds kPatience{2};
constexpr int kWidth = 32;

std::string bar(double fraction) {
  const int full = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * kWidth));
  std::string text;
  for (int i = 0; i < kWidth; ++i) text += i < full ? "█" : "░";
  return text;
}

}  // namespace

ProgressBar::ProgressBar() : start_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::draw(const State& state) {
  const auto elapsed = std::chrono::steady_clock::now() - start_;
  if (elapsed < kPatience) return;
  shown_ = true;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(elapsed).count();
  const std::string line =
      fmt::format("\r\033[K  {} {:3.0f} %   {} of {} runs   {}:{:02}", bar(state.fraction),
                  100 * state.fraction, state.runs_done, state.runs, seconds / 60, seconds % 60);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace stowage::sim
