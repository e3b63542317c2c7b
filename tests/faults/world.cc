#include "world.h"

#include <algorithm>
#include <cmath>

namespace stowage::faults {

World::Process World::start() {
  queues_.emplace_back();
  return static_cast<Process>(queues_.size() - 1);
}

void World::at(Process process, Moment when, std::function<void()> work) {
  Queue& queue = queues_[process];
  if (!queue.alive) return;
  queue.work.emplace(std::pair{std::max(when, now_), ++number_}, std::move(work));
}

void World::kill(Process process) {
  queues_[process].alive = false;
  // Destroyed work may own objects that post more work.
  const auto dropped = std::exchange(queues_[process].work, {});
}

void World::pause(Process process, Duration length) {
  Queue& queue = queues_[process];
  queue.held_until = std::max(queue.held_until, now_ + length);
}

bool World::paused(Process process) const { return queues_[process].held_until > now_; }

bool World::step(Moment end) {
  Moment best = Moment::max();
  std::vector<Queue*> due;
  for (Queue& queue : queues_) {
    if (queue.work.empty()) continue;
    const Moment when = std::max({queue.work.begin()->first.first, queue.held_until, now_});
    if (when > best) continue;
    if (when < best) due.clear();
    best = when;
    due.push_back(&queue);
  }
  if (due.empty() || best > end) {
    now_ = std::max(now_, end);
    return false;
  }
  now_ = best;
  Queue& chosen = due.size() == 1 ? *due.front() : *due[rng_.below(due.size())];
  auto first = chosen.work.extract(chosen.work.begin());
  ++steps_;
  first.mapped()();
  return true;
}

Duration draw_millis(base::Rng& rng, double least, double most) {
  return Duration{std::llround((least + rng.unit() * (most - least)) * 1e6)};
}

}  // namespace stowage::faults
