#include "core/engine/requeuer.h"

#include <bit>
#include <utility>

namespace stowage::core {
namespace {

constexpr int kLooksPerEvent = 16;
constexpr std::int32_t kChangesPerLook = 1024;  // if there are more, the group is tried
constexpr std::int64_t kLookAgainNs = 20'000'000;
constexpr std::int64_t kLookAgainPerGroupNs = 100'000;

}  // namespace

void Requeuer::run_or_defer(Step step) {
  if (deferring()) return deferred_.defer(std::move(step));
  run(step);
}

void Requeuer::run(Step& step) {
  switch (step.kind) {
    case Step::Kind::wake: return wake(step.node);
    case Step::Kind::nominations: return serve_line(step.node, step.line);
    case Step::Kind::parked: return try_parked(step.node);
    case Step::Kind::line: return try_line(step.node, std::move(step.line));
    case Step::Kind::rested: return try_rested();
    case Step::Kind::some: return try_some_parked();
    case Step::Kind::groups: return try_some(std::move(step.line));
    case Step::Kind::starving: return nominate_starving();
    case Step::Kind::constrained: return try_constrained(step);
  }
}

// The remainder of a step goes before the steps that were deferred after it.
void Requeuer::go_on() {
  if (deferred_.empty()) return;
  std::deque<Step> left = deferred_.take();
  while (!left.empty() && deferred_.empty() && !spent()) {
    Step step = std::move(left.front());
    left.pop_front();
    run(step);
  }
  for (Step& step : left) deferred_.defer(std::move(step));
}

void Requeuer::clear() {
  waiting_ = {};
  deferred_.clear();
}

bool Requeuer::place(const PodSpec& pod, std::uint64_t arrival, Planner::Try which) {
  const PodPlacer::Outcome outcome = placer_.place(pod, arrival, which);
  if (outcome.left.valid()) wake(outcome.left);
  return outcome.placed;
}

void Requeuer::wake(NodeIndex node) {
  if (!ledger_.nodes().present(node)) return;
  if (deferring()) return deferred_.defer({.kind = Step::Kind::wake, .node = node});
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
  if (code == ReasonCode::search && !group.unsearched) {  // tried later in its turn
    group.unsearched = true;
    waiting_.set_due(group, state_.now);
  }
  if (code != ReasonCode::none) return false;
  const ConstraintFilter more = cluster_.constraint_filter(pod);
  return more.trouble().empty() && more.check(node) == ReasonCode::none;
}

void Requeuer::try_parked(NodeIndex node) {
  if (node.valid() && !ledger_.nodes().present(node)) return;
  Line line;  // position of the first pod of each group, and the group's key
  const NodeState* state = node.valid() ? &ledger_.nodes().state(node) : nullptr;
  const int whole = state == nullptr ? 0 : std::popcount(state->whole);
  bool missed = false;
  for (const Waiting::Row& row : waiting_.rows()) {
    if ((row.constrained || row.heavy) && (missed || !budget_.take(row.group->cost, state_.now))) {
      missed = true;
      continue;
    }
    if (state != nullptr && (row.whole_cards > whole || row.cpu_milli > state->cpu_free_milli ||
                             row.memory_bytes > state->memory_free_bytes)) {
      continue;
    }
    if (could_fit(*row.group, node)) line.emplace(row.group->pods.begin()->first, row.group->key);
  }
  if (missed) ++cluster_.epoch;  // they are tried later in their turn
  try_line(node, std::move(line));
}

void Requeuer::try_line(NodeIndex node, Line line) {
  while (!line.empty()) {
    if (node.valid() && !ledger_.nodes().present(node)) return;  // removed meanwhile
    if (deferring()) {
      return deferred_.defer({.kind = Step::Kind::line, .node = node, .line = std::move(line)});
    }
    const std::string key = line.begin()->second;
    line.erase(line.begin());
    Waiting::Group* group = waiting_.find(key);
    // Other pods, or nominations, may have taken the capacity; then the next group is tried.
    if (group == nullptr || !could_fit(*group, node) || !try_group(key)) continue;
    group = waiting_.find(key);
    if (group != nullptr) line.emplace(group->pods.begin()->first, key);
  }
}

// A safeguard in case an event did not wake a pod that it should have. Only some groups are tried
// at a time, because a shape that is not cached must be judged on every node.
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
      return deferred_.defer({.kind = Step::Kind::groups, .line = std::move(line)});
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
  deferred_.defer({.kind = Step::Kind::rested});
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

bool Requeuer::may_help_constrained() const {
  return !waiting_.due().empty() && waiting_.due().begin()->first <= state_.now;
}

void Requeuer::try_helped() {
  if (may_help_constrained()) run_or_defer({.kind = Step::Kind::constrained});
}

void Requeuer::try_constrained(const Step& step) {
  if (!step.under_way.empty() && !try_twins(step.under_way)) return deferred_.defer(step);
  for (int looks = step.looks; looks < kLooksPerEvent; ++looks) {
    if (!may_help_constrained()) return;
    if (deferring()) return deferred_.defer({.kind = Step::Kind::constrained, .looks = looks});
    const std::string key = waiting_.due().begin()->second;
    Waiting::Group& group = *waiting_.find(key);
    if (group.unsearched &&
        state_.work.search_spent()) {  // continue in the next event, which has new steps
      if (budget_.has(group.cost, state_.now)) deferred_.defer({.kind = Step::Kind::constrained});
      return;
    }
    const bool helped =
        group.unsearched || group.epoch_seen != cluster_.epoch ||
        (group.constrained && cluster_.affinity.affected_since(group.first(), group.affinity_seen,
                                                               kChangesPerLook / group.cost));
    if (helped && !budget_.take(group.cost, state_.now)) return;
    group.affinity_seen = cluster_.affinity.changes();
    group.epoch_seen = cluster_.epoch;
    if (!helped) {
      const auto groups = static_cast<std::int64_t>(waiting_.due().size());
      waiting_.set_due(group, {state_.now.ns + kLookAgainNs + groups * kLookAgainPerGroupNs});
      continue;
    }
    if (!try_twins(key)) {
      return deferred_.defer(
          {.kind = Step::Kind::constrained, .looks = looks + 1, .under_way = key});
    }
  }
}

}  // namespace stowage::core
