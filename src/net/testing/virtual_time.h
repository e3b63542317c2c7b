// A schedule with a manual clock. Work of the same time runs in the order in which it was added.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "net/event_loop.h"

namespace stowage::net::testing {

class VirtualTime final : public Schedule {
 public:
  [[nodiscard]] Moment now() const override { return now_; }
  void at(Moment when, std::function<void()> work) override {
    work_.emplace(std::pair{std::max(when, now_), ++number_}, std::move(work));
  }

  // Runs everything that is due within this time, and leaves the clock at its end.
  void pass(Duration time) {
    const Moment end = now_ + time;
    while (!work_.empty() && work_.begin()->first.first <= end) step();
    now_ = end;
  }
  // False if no work is left.
  bool step() {
    if (work_.empty()) return false;
    auto first = work_.extract(work_.begin());
    now_ = first.key().first;
    first.mapped()();
    return true;
  }

 private:
  Moment now_{std::chrono::hours{1}};  // later than time zero, which means "never"
  std::uint64_t number_ = 0;
  std::map<std::pair<Moment, std::uint64_t>, std::function<void()>> work_;
};

}  // namespace stowage::net::testing
