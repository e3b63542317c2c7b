#include "local/kubelet/kubelets.h"

#include "base/check.h"

namespace stowage::local {

void Kubelets::upsert(const PodNews& news, WallTime now) {
  if (news.node.empty()) return;
  const auto pod = pods_.try_emplace(news.uid, Pod{.name = news.name, .node = news.node}).first;
  const bool ended = news.phase == "Succeeded" || news.phase == "Failed";
  if (news.deleting) {
    if (pod->second.next == Next::remove) return;
    plan_next(pod, Next::remove, ended ? now : now + news.plan().stop_after);
  } else if (ended) {
    plan_next(pod, Next::nothing, now);
  } else if (news.phase == "Running") {
    if (pod->second.started) return;
    const PodPlan plan = news.plan();
    pod->second.started = true;
    pod->second.exit_code = plan.exit_code;
    const Next next = plan.run_for ? Next::finish : Next::nothing;
    plan_next(pod, next, now + plan.run_for.value_or(std::chrono::microseconds{0}));
  } else if (pod->second.next == Next::nothing && !pod->second.started) {
    plan_next(pod, Next::start, now + options_.start_after);
  }
}

void Kubelets::gone(const std::string& uid) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  unqueue(pod);
  pods_.erase(pod);
}

void Kubelets::node_up(const std::string& node, WallTime now) {
  up_.insert(node);
  const auto found = parked_.find(node);
  if (found == parked_.end()) return;
  const std::vector<std::string> waiting = std::move(found->second);
  parked_.erase(found);
  for (const std::string& uid : waiting) {
    const auto pod = pods_.find(uid);
    // It may have been planned again since it was parked.
    if (pod == pods_.end() || pod->second.queued || pod->second.next == Next::nothing) continue;
    plan_next(pod, pod->second.next, now);
  }
}

void Kubelets::node_down(const std::string& node) { up_.erase(node); }

std::optional<WallTime> Kubelets::next() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.begin()->first;
}

std::vector<KubeletTask> Kubelets::take_due(WallTime now, std::size_t most) {
  std::vector<KubeletTask> tasks;
  while (!queue_.empty() && queue_.begin()->first <= now && tasks.size() < most) {
    const auto at = pods_.find(queue_.begin()->second);
    STOWAGE_CHECK(at != pods_.end());
    unqueue(at);
    Pod& pod = at->second;
    if (!is_up(pod.node)) {
      parked_[pod.node].push_back(at->first);
      continue;
    }
    const KubeletAction action = pod.next == Next::start    ? KubeletAction::start
                                 : pod.next == Next::finish ? KubeletAction::finish
                                                            : KubeletAction::remove;
    tasks.push_back({action, pod.name, at->first, pod.node, pod.exit_code});
  }
  return tasks;
}

void Kubelets::done(const KubeletTask& task, const PodPlan& plan, WallTime now) {
  const auto pod = pods_.find(task.uid);
  if (pod == pods_.end()) return;
  if (task.action == KubeletAction::start && !pod->second.started) {
    pod->second.started = true;
    pod->second.exit_code = plan.exit_code;
    if (pod->second.next != Next::start) return;  // deleted meanwhile
    const Next next = plan.run_for ? Next::finish : Next::nothing;
    plan_next(pod, next, now + plan.run_for.value_or(std::chrono::microseconds{0}));
  } else if (task.action == KubeletAction::finish && pod->second.next == Next::finish) {
    plan_next(pod, Next::nothing, now);
  }
}

void Kubelets::again(const KubeletTask& task, WallTime when) {
  const auto pod = pods_.find(task.uid);
  if (pod == pods_.end() || pod->second.queued || pod->second.next == Next::nothing) return;
  plan_next(pod, pod->second.next, when);
}

void Kubelets::plan_next(Pods::iterator pod, Next next, WallTime due) {
  unqueue(pod);
  pod->second.next = next;
  pod->second.due = due;
  if (next == Next::nothing) return;
  queue_.emplace(due, pod->first);
  pod->second.queued = true;
}

void Kubelets::unqueue(Pods::iterator pod) {
  if (!pod->second.queued) return;
  queue_.erase({pod->second.due, pod->first});
  pod->second.queued = false;
}

}  // namespace stowage::local
