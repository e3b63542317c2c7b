// Who is tried again, and when: a departure or a changed node wakes those whom it can help.
#include <algorithm>
#include <bit>
#include <utility>

#include "core/engine/body.h"
#include "core/place/containers.h"

namespace stowage::core {
namespace {

// Pods that wait for other pods or for volumes can cost a walk over all nodes each time they are
// tried, so that is rationed: many of them must not hold up the rest. A few are tried at once.
constexpr double kTriesPerSecond = 100;
constexpr double kTriesAtOnce = 64;
constexpr int kLooksPerEvent = 16;
constexpr std::int32_t kChangesPerLook = 1024;  // more of them, and it is tried
constexpr std::int64_t kLookAgainNs = 20'000'000;
constexpr std::int64_t kLookAgainPerGroupNs = 100'000;

}  // namespace

void Engine::Body::wake(NodeIndex node) {
  if (!ledger_.present(node)) return;
  if (deferring()) return defer({.kind = Step::Kind::wake, .node = node});
  serve_rooms(node);
  if (!waiting_.rows().empty()) run_or_defer({.kind = Step::Kind::parked, .node = node});
}

void Engine::Body::wake_namespace(const std::string& pod_name) {
  if (!quotas_.limits(pod_name) || waiting_.rows().empty()) return;
  run_or_defer({.kind = Step::Kind::parked});
}

void Engine::Body::refill_rations() {
  const auto passed = static_cast<double>(now_.ns - rationed_at_.ns) * 1e-9;
  rationed_at_ = now_;
  rations_ = std::min(kTriesAtOnce, rations_ + std::max(0.0, passed) * kTriesPerSecond);
}

bool Engine::Body::may_try_beyond(std::int32_t cost) {
  refill_rations();
  if (rations_ < cost) return false;
  rations_ -= cost;
  return true;
}

bool Engine::Body::could_fit(Waiting::Group& group, NodeIndex node) {
  if (!node.valid()) return true;
  looks_ += effort_of(group.shape);
  const PodSpec& pod = group.first();
  group.shape.learn_names(ledger_);
  const ReasonCode code = planner_of(pod).verdict(group.shape, node).code;
  if (code == ReasonCode::search && !group.unsearched) {  // it is tried when it is its turn
    group.unsearched = true;
    waiting_.set_due(group, now_);
  }
  if (code != ReasonCode::none) return false;
  const Beyond more = beyond(pod);
  return more.trouble().empty() && more.check(node) == ReasonCode::none;
}

void Engine::Body::try_parked(NodeIndex node) {
  if (node.valid() && !ledger_.present(node)) return;
  Line line;  // the first of each group, and its key
  const NodeState* state = node.valid() ? &ledger_.state(node) : nullptr;
  const int whole = state == nullptr ? 0 : std::popcount(state->whole);
  bool missed = false;
  for (const Waiting::Row& row : waiting_.rows()) {
    if ((row.beyond || row.heavy) && (missed || !may_try_beyond(row.group->cost))) {
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
  if (missed) ++epoch_;  // they are tried when it is their turn
  try_line(node, std::move(line));
}

void Engine::Body::try_line(NodeIndex node, Line line) {
  while (!line.empty()) {
    if (node.valid() && !ledger_.present(node)) return;  // it has gone meanwhile
    if (deferring()) {
      return defer({.kind = Step::Kind::line, .node = node, .line = std::move(line)});
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

// In case an event that should have woken somebody was missed: everybody has a turn, but not all at
// once, since a shape that was not asked for lately costs a look at every node.
void Engine::Body::try_some_parked() {
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

void Engine::Body::try_some(Line line) {
  while (!line.empty()) {
    if (deferring() || !try_twins(line.begin()->second)) {
      return defer({.kind = Step::Kind::groups, .line = std::move(line)});
    }
    line.erase(line.begin());
  }
}

void Engine::Body::try_rested() {
  while (!deferring()) {
    const auto rested = waiting_.take_rested(now_);
    if (!rested) return;
    place(rested->pod, rested->arrival, Try::again);
  }
  defer({.kind = Step::Kind::rested});
}

bool Engine::Body::try_group(const std::string& key) {
  Waiting::Group* group = waiting_.find(key);
  const std::uint64_t arrival = group->pods.begin()->first.arrival;
  const PodSpec pod = group->first();
  return place(pod, arrival, Try::again);
}

bool Engine::Body::try_twins(const std::string& key) {
  while (waiting_.find(key) != nullptr && try_group(key)) {
    if (deferring()) return false;
  }
  return true;
}

bool Engine::Body::may_help_beyond() const {
  return !waiting_.due().empty() && waiting_.due().begin()->first <= now_;
}

void Engine::Body::try_beyond(const Step& step) {
  if (!step.under_way.empty() && !try_twins(step.under_way)) return defer(step);
  for (int looks = step.looks; looks < kLooksPerEvent; ++looks) {
    if (!may_help_beyond()) return;
    if (deferring()) return defer({.kind = Step::Kind::beyond, .looks = looks});
    const std::string key = waiting_.due().begin()->second;
    Waiting::Group& group = *waiting_.find(key);
    if (group.unsearched && search_.left < std::min(kSearchLimit, options_.search_per_event)) {
      refill_rations();  // the next event has more steps
      if (rations_ >= group.cost) defer({.kind = Step::Kind::beyond});
      return;
    }
    const bool helped = group.unsearched || group.epoch_seen != epoch_ ||
                        (group.beyond && peers_.concerned(group.first(), group.peers_seen,
                                                          kChangesPerLook / group.cost));
    if (helped && !may_try_beyond(group.cost)) return;
    group.peers_seen = peers_.changes();
    group.epoch_seen = epoch_;
    if (!helped) {
      const auto groups = static_cast<std::int64_t>(waiting_.due().size());
      waiting_.set_due(group, {now_.ns + kLookAgainNs + groups * kLookAgainPerGroupNs});
      continue;
    }
    if (!try_twins(key)) {
      return defer({.kind = Step::Kind::beyond, .looks = looks + 1, .under_way = key});
    }
  }
}

}  // namespace stowage::core
