// Virtual time for several processes. Work runs one piece at a time: that of one process in its
// order, that of several at the same time in an order that the seed draws.
//
// A process that is killed loses all its work. A paused process does the work that fell due when
// the pause is over, all of it late, like a machine that was suspended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "net/event_loop.h"

namespace stowage::faults {

using net::Duration;
using net::Moment;

class World {
 public:
  using Process = std::uint32_t;

  explicit World(std::uint64_t seed) : rng_(seed) {}

  [[nodiscard]] Moment now() const { return now_; }
  [[nodiscard]] Duration elapsed() const { return now_ - kBegin; }

  [[nodiscard]] Process start();
  void at(Process process, Moment when, std::function<void()> work);
  void after(Process process, Duration delay, std::function<void()> work) {
    at(process, now_ + delay, std::move(work));
  }
  void kill(Process process);
  void pause(Process process, Duration length);
  [[nodiscard]] bool paused(Process process) const;

  // Does the next piece of work; false if none exists before `end`: then the clock is set to
  // `end`.
  bool step(Moment end);
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  // Later than time zero, which means "never".
  static constexpr Moment kBegin{std::chrono::hours{1}};
  struct Queue {
    std::map<std::pair<Moment, std::uint64_t>, std::function<void()>> work;
    Moment held_until{};
    bool alive = true;
  };

  Moment now_ = kBegin;
  base::Rng rng_;
  std::uint64_t number_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<Queue> queues_;
};

// The world as one process sees it.
class OwnTime final : public net::Schedule {
 public:
  OwnTime(World& world, World::Process process) : world_(world), process_(process) {}
  [[nodiscard]] Moment now() const override { return world_.now(); }
  void at(Moment when, std::function<void()> work) override {
    world_.at(process_, when, std::move(work));
  }

 private:
  World& world_;
  World::Process process_;
};

// A random duration between the two, both in milliseconds.
[[nodiscard]] Duration draw_millis(base::Rng& rng, double least, double most);

}  // namespace stowage::faults
