#include "core/engine/requeuer.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace stowage::core {
namespace {

constexpr int kLooksPerEvent = 16;
constexpr std::int32_t kChangesPerLook = 1024;  // more of them, and it is tried
constexpr std::int64_t kLookAgainNs = 20'000'000;
constexpr std::int64_t kLookAgainPerGroupNs = 100'000;

}  // namespace

void Requeuer::run_or_defer(Step step) {
  if (deferring()) return agenda_.defer(std::move(step));
  run(step);
}

void Requeuer::run(Step& step) {
  switch (step.kind) {
    case Step::Kind::wake: return wake(step.node);
    case Step::Kind::rooms: return serve_line(step.node, step.line);
    case Step::Kind::parked: return try_parked(step.node);
    case Step::Kind::line: return try_line(step.node, std::move(step.line));
    case Step::Kind::rested: return try_rested();
    case Step::Kind::some: return try_some_parked();
    case Step::Kind::groups: return try_some(std::move(step.line));
    case Step::Kind::starving: return nominate_starving();
    case Step::Kind::beyond: return try_beyond(step);
  }
}

// Whatever a step leaves undone stands before the steps that were to follow it.
void Requeuer::go_on() {
  std::deque<Step> left = agenda_.take();
  while (!left.empty() && agenda_.empty() && !spent()) {
    Step step = std::move(left.front());
    left.pop_front();
    run(step);
  }
  for (Step& step : left) agenda_.defer(std::move(step));
}

void Requeuer::clear() {
  waiting_ = {};
  agenda_.clear();
}

bool Requeuer::place(const PodSpec& pod, std::uint64_t arrival, Planner::Try which) {
  const PodPlacer::Outcome outcome = placer_.place(pod, arrival, which);
  if (outcome.left.valid()) wake(outcome.left);
  return outcome.placed;
}

void Requeuer::wake(NodeIndex node) {
  if (!ledger_.present(node)) return;
  if (deferring()) return agenda_.defer({.kind = Step::Kind::wake, .node = node});
  serve_nominated(node);
  if (!waiting_.rows().empty()) run_or_defer({.kind = Step::Kind::parked, .node = node});
}

void Requeuer::wake_namespace(const std::string& pod_name) {
  if (!cluster_.quotas.limits(pod_name) || waiting_.rows().empty()) return;
  run_or_defer({.kind = Step::Kind::parked});
}

void Requeuer::wake_after(NodeIndex left, const std::string& pod_name) {
  if (!left.valid()) return;
  wake(left);
  wake_namespace(pod_name);
}

bool Requeuer::could_fit(Waiting::Group& group, NodeIndex node) {
  if (!node.valid()) return true;
  state_.work.add_looks(effort_of(group.shape));
  const PodSpec& pod = group.first();
  group.shape.learn_names(ledger_);
  const ReasonCode code = state_.planners.of(pod).verdict(group.shape, node).code;
  if (code == ReasonCode::search && !group.unsearched) {  // it is tried when it is its turn
    group.unsearched = true;
    waiting_.set_due(group, state_.now);
  }
  if (code != ReasonCode::none) return false;
  const Beyond more = cluster_.beyond(pod);
  return more.trouble().empty() && more.check(node) == ReasonCode::none;
}

void Requeuer::try_parked(NodeIndex node) {
  if (node.valid() && !ledger_.present(node)) return;
  Line line;  // the first of each group, and its key
  const NodeState* state = node.valid() ? &ledger_.state(node) : nullptr;
  const int whole = state == nullptr ? 0 : std::popcount(state->whole);
  bool missed = false;
  for (const Waiting::Row& row : waiting_.rows()) {
    if ((row.beyond || row.heavy) && (missed || !budget_.take(row.group->cost, state_.now))) {
      missed = true;
      continue;
    }
    if (state != nullptr && (row.whole_cards > whole || row.cpu_milli > state->cpu_free_milli ||
                             row.memory_bytes > state->memory_free_bytes)) {
      continue;
    }
    if (could_fit(*row.group, node)) {
      line.emplace(row.group->pods.begin()->first, row.group->key);
    }
  }
  if (missed) ++cluster_.epoch;  // they are tried when it is their turn
  try_line(node, std::move(line));
}

void Requeuer::try_line(NodeIndex node, Line line) {
  while (!line.empty()) {
    if (node.valid() && !ledger_.present(node)) return;  // it has gone meanwhile
    if (deferring()) {
      return agenda_.defer({.kind = Step::Kind::line, .node = node, .line = std::move(line)});
    }
    const std::string key = line.begin()->second;
    line.erase(line.begin());
    Waiting::Group* group = waiting_.find(key);
    // Others may have taken the room, or it is kept for others: then the next group has its turn.
    if (group == nullptr || !could_fit(*group, node) || !try_group(key)) continue;
    group = waiting_.find(key);
    if (group != nullptr) line.emplace(group->pods.begin()->first, key);
  }
}

// In case an event that should have woken a pod was missed: each has a turn, but not all at once,
// since a shape that was not asked for lately costs a look at every node.
void Requeuer::try_some_parked() {
  constexpr std::int32_t kCost = 64;
  std::vector<std::string> keys;
  auto at = waiting_.groups().upper_bound(tried_up_to_);
  std::int32_t cost = 0;
  for (std::size_t i = 0; i < waiting_.groups().size(); ++i) {
    if (at == waiting_.groups().end()) at = waiting_.groups().begin();
    cost += at->second->cost;
    if (cost > kCost) break;
    keys.push_back(at->first);
    ++at;
  }
  Line line;
  for (const auto& key : keys) {
    line.emplace(waiting_.find(key)->pods.begin()->first, key);
    tried_up_to_ = key;
  }
  try_some(std::move(line));
}

void Requeuer::try_some(Line line) {
  while (!line.empty()) {
    if (deferring() || !try_twins(line.begin()->second)) {
      return agenda_.defer({.kind = Step::Kind::groups, .line = std::move(line)});
    }
    line.erase(line.begin());
  }
}

void Requeuer::try_rested() {
  while (!deferring()) {
    const auto rested = waiting_.take_rested(state_.now);
    if (!rested) return;
    place(rested->pod, rested->arrival, Planner::Try::again);
  }
  agenda_.defer({.kind = Step::Kind::rested});
}

bool Requeuer::try_group(const std::string& key) {
  Waiting::Group* group = waiting_.find(key);
  const std::uint64_t arrival = group->pods.begin()->first.arrival;
  const PodSpec pod = group->first();
  return place(pod, arrival, Planner::Try::again);
}

bool Requeuer::try_twins(const std::string& key) {
  while (waiting_.find(key) != nullptr && try_group(key)) {
    if (deferring()) return false;
  }
  return true;
}

bool Requeuer::may_help_beyond() const {
  return !waiting_.due().empty() && waiting_.due().begin()->first <= state_.now;
}

void Requeuer::try_helped() {
  if (may_help_beyond()) run_or_defer({.kind = Step::Kind::beyond});
}

void Requeuer::try_beyond(const Step& step) {
  if (!step.under_way.empty() && !try_twins(step.under_way)) return agenda_.defer(step);
  for (int looks = step.looks; looks < kLooksPerEvent; ++looks) {
    if (!may_help_beyond()) return;
    if (deferring()) return agenda_.defer({.kind = Step::Kind::beyond, .looks = looks});
    const std::string key = waiting_.due().begin()->second;
    Waiting::Group& group = *waiting_.find(key);
    if (group.unsearched && state_.work.search_spent()) {  // the next event has more steps
      if (budget_.has(group.cost, state_.now)) agenda_.defer({.kind = Step::Kind::beyond});
      return;
    }
    const bool helped = group.unsearched || group.epoch_seen != cluster_.epoch ||
                        (group.beyond && cluster_.peers.concerned(group.first(), group.peers_seen,
                                                                  kChangesPerLook / group.cost));
    if (helped && !budget_.take(group.cost, state_.now)) return;
    group.peers_seen = cluster_.peers.changes();
    group.epoch_seen = cluster_.epoch;
    if (!helped) {
      const auto groups = static_cast<std::int64_t>(waiting_.due().size());
      waiting_.set_due(group, {state_.now.ns + kLookAgainNs + groups * kLookAgainPerGroupNs});
      continue;
    }
    if (!try_twins(key)) {
      return agenda_.defer({.kind = Step::Kind::beyond, .looks = looks + 1, .under_way = key});
    }
  }
}

}  // namespace stowage::core
