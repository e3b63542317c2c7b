#include "core/engine/agenda.h"

#include <algorithm>
#include <utility>

#include "core/engine/body.h"

namespace stowage::core {

void Engine::Body::begin(base::Instant now) {
  out_.clear();
  now_ = now;
  search_ = {.left = options_.search_per_event};
  looks_ = 0;
  effort_before_ = effort();
}

std::uint64_t Engine::Body::effort() const {
  std::uint64_t sum = 0;
  for (const auto& planner : planners_) sum += planner->effort();
  return sum;
}

bool Engine::Body::spent() const {
  return looks_ + effort() - effort_before_ >= options_.judgements_per_event;
}

void Engine::Body::defer(Step step) {
  const auto same = [&](const Step& other) {
    return other.fresh() && other.kind == step.kind && other.node == step.node;
  };
  if (step.fresh() && std::any_of(agenda_.begin(), agenda_.end(), same)) return;
  agenda_.push_back(std::move(step));
}

void Engine::Body::run_or_defer(Step step) {
  if (deferring()) return defer(std::move(step));
  run(step);
}

void Engine::Body::run(Step& step) {
  switch (step.kind) {
    case Step::Kind::wake: return wake(step.node);
    case Step::Kind::rooms: return serve_line(step.node, step.line);
    case Step::Kind::parked: return try_parked(step.node);
    case Step::Kind::line: return try_line(step.node, std::move(step.line));
    case Step::Kind::rested: return try_rested();
    case Step::Kind::some: return try_some_parked();
    case Step::Kind::groups: return try_some(std::move(step.line));
    case Step::Kind::starving: return reserve_for_starving();
    case Step::Kind::beyond: return try_beyond(step);
  }
}

// Whatever a step leaves undone stands before the steps that were to follow it.
void Engine::Body::go_on() {
  std::deque<Step> left = std::exchange(agenda_, {});
  while (!left.empty() && agenda_.empty() && !spent()) {
    Step step = std::move(left.front());
    left.pop_front();
    run(step);
  }
  for (Step& step : left) defer(std::move(step));
}

}  // namespace stowage::core
