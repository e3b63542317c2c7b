#include "local/controllers/replica_sets.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "local/defaults.h"

namespace stowage::local {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::int64_t kPodsAtOnce = 200;  // then other work runs
constexpr microseconds kRetry = seconds{5};
constexpr microseconds kRestAfterFailure = seconds{2};
constexpr std::size_t kFailedKept = 5;  // per set, so that people can look at them

// The order of deletion when there are too many pods: the least useful first, then the youngest.
auto worth(const PodFacts& pod) {
  const int phase = pod.phase() == "Running" ? 1 : 0;
  return std::tuple(pod.bound(), phase, pod.ready(),
                    -static_cast<std::int64_t>(pod.object->version));
}

}  // namespace

ReplicaSets::ReplicaSets(Api& api, WorkQueue& queue, PodIndex& pods)
    : api_(api),
      queue_(queue),
      pods_(pods),
      work_(api.store(), queue, [this](const ObjectName& name) { look(name); }) {
  watch_ =
      follow(api_.store(), Kind::replica_set, [this](const WatchEvent& event) { upsert(event); });
  pods_.on_change(
      [this](const PodFacts* after, const PodFacts* before) { upsert_pod(after, before); });
}

void ReplicaSets::upsert(const WatchEvent& event) {
  const ObjectPtr& object = event.object;
  if (event.change == Change::deleted) {
    sets_.erase(object->uid);
    return;
  }
  work_.add(object->name);
  if (sets_.contains(object->uid)) return;
  const json::object tree = object->tree();
  const json::object* wanted = object_at(tree, "spec.selector");
  const auto selector = wanted == nullptr ? std::nullopt : selector_of(*wanted);
  if (!selector) return;
  Set& set = sets_[object->uid] = {object->name, *selector, {}, {}};
  const auto& orphans = pods_.without_owner();
  for (auto at = orphans.lower_bound({object->name.ns, ""}); at != orphans.end(); ++at) {
    if (at->first.ns != object->name.ns) break;
    if (selector->matches(at->second.object->labels)) set.to_adopt.insert(at->first);
  }
}

void ReplicaSets::upsert_pod(const PodFacts* now, const PodFacts* before) {
  for (const PodFacts* pod : {now, before}) {
    if (pod == nullptr) continue;
    const auto owner = sets_.find(pod->object->owner_uid);
    if (owner != sets_.end()) work_.add(owner->second.name);
  }
  if (now == nullptr) return;
  const StoredObject& pod = *now->object;
  const bool relabelled = before == nullptr || before->object->labels != pod.labels;
  if (!pod.owner_uid.empty()) {
    const auto owner = sets_.find(pod.owner_uid);
    if (relabelled && owner != sets_.end()) owner->second.strangers.insert(pod.name);
    return;
  }
  const bool released = before != nullptr && !before->object->owner_uid.empty();
  if (pod.labels.empty() || (!relabelled && !released)) return;
  for (auto& [uid, set] : sets_) {
    if (set.name.ns != pod.name.ns || !set.selector.matches(pod.labels)) continue;
    set.to_adopt.insert(pod.name);
    work_.add(set.name);
  }
}

void ReplicaSets::look(const ObjectName& name) {
  const ObjectPtr set = api_.store().get(Kind::replica_set, name);
  if (set == nullptr || !sets_.contains(set->uid)) return;
  const json::object tree = set->tree();
  std::string trouble;
  if (!set->deleting) {
    fit_owners(set);
    scale(set, tree, trouble);
    api_.store().deliver();
  }
  report(set, tree, trouble);
}

void ReplicaSets::fit_owners(const ObjectPtr& object) {
  Set& set = sets_.at(object->uid);
  const auto& owned = pods_.owned_by(object->uid);
  std::vector<ObjectPtr> strangers;
  for (const ObjectName& name : std::exchange(set.strangers, {})) {
    const auto pod = owned.find(name);
    if (pod != owned.end() && !set.selector.matches(pod->second.object->labels)) {
      strangers.push_back(pod->second.object);
    }
  }
  std::vector<ObjectPtr> to_adopt;
  for (const ObjectName& name : std::exchange(set.to_adopt, {})) {
    const auto pod = pods_.without_owner().find(name);
    if (pod == pods_.without_owner().end() || !pod->second.active()) continue;
    if (set.selector.matches(pod->second.object->labels)) to_adopt.push_back(pod->second.object);
  }
  for (const ObjectPtr& pod : strangers) disown(api_, pod, object->uid);
  for (const ObjectPtr& pod : to_adopt) adopt(api_, pod, *object);
  if (!strangers.empty() || !to_adopt.empty()) api_.store().deliver();
}

void ReplicaSets::scale(const ObjectPtr& set, const json::object& tree, std::string& trouble) {
  const auto& pods = pods_.owned_by(set->uid);
  const auto active =
      std::count_if(pods.begin(), pods.end(), [](const auto& pod) { return pod.second.active(); });
  const std::int64_t missing = int_at(tree, "spec.replicas").value_or(1) - active;
  if (missing < 0) return remove_pods(set->uid, -missing);
  if (missing == 0) return;
  const microseconds rest = rest_after_failures(set->uid);
  if (rest > microseconds{0}) return work_.add_after(set->name, rest);
  add_pods(set, tree, std::min(missing, kPodsAtOnce), trouble);
  if (missing > kPodsAtOnce) work_.add(set->name);
  if (!trouble.empty()) work_.add_after(set->name, kRetry);
}

void ReplicaSets::add_pods(const ObjectPtr& set, const json::object& tree, std::int64_t count,
                           std::string& trouble) {
  const json::object pod = pod_of_template(*set, tree);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto made = api_.create(Kind::pod, set->name.ns, pod);
    if (made) continue;
    trouble = made.error().message;
    return;
  }
}

void ReplicaSets::remove_pods(const std::string& uid, std::int64_t count) {
  std::vector<PodFacts> candidates;
  for (const auto& [name, pod] : pods_.owned_by(uid)) {
    if (pod.active()) candidates.push_back(pod);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const PodFacts& a, const PodFacts& b) { return worth(a) < worth(b); });
  candidates.resize(std::min(candidates.size(), static_cast<std::size_t>(count)));
  for (const PodFacts& pod : candidates) {
    static_cast<void>(
        api_.remove(Kind::pod, pod.object->name, {.preconditions = {pod.object->uid, ""}}));
  }
}

microseconds ReplicaSets::rest_after_failures(const std::string& uid) {
  std::vector<std::pair<WallTime, ObjectPtr>> failed;
  for (const auto& [name, pod] : pods_.owned_by(uid)) {
    if (pod.phase() != "Failed" || pod.object->deleting) continue;
    failed.emplace_back(created_at(pod.object->tree()), pod.object);
  }
  if (failed.empty()) return microseconds{0};
  std::sort(failed.begin(), failed.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second->version) < std::pair(b.first, b.second->version);
  });
  const WallTime until = failed.back().first + kRestAfterFailure;
  failed.resize(failed.size() - std::min(failed.size(), kFailedKept));
  for (const auto& [when, pod] : failed) static_cast<void>(api_.remove(Kind::pod, pod->name));
  return std::max(microseconds{0}, until - queue_.now());
}

void ReplicaSets::report(const ObjectPtr& set, const json::object& tree,
                         const std::string& trouble) {
  const seconds settle{int_at(tree, "spec.minReadySeconds").value_or(0)};
  const WallTime now = queue_.now();
  std::int64_t active = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::optional<WallTime> next;
  for (const auto& [name, pod] : pods_.owned_by(set->uid)) {
    if (!pod.active()) continue;
    ++active;
    if (!pod.ready()) continue;
    ++ready;
    const WallTime from = *pod.ready_since + settle;
    if (from <= now) {
      ++available;
    } else if (!next || from < *next) {
      next = from;
    }
  }
  if (next) work_.add_after(set->name, *next - now);
  static_cast<void>(api_.update(
      Kind::replica_set, set->name, Part::status, [&](json::object& changed) -> ApiResult<bool> {
        if (text_at(changed, "metadata.uid") != set->uid) return false;
        json::object& status = make_object(changed, "status");
        status["replicas"] = active;
        set_count(status, "fullyLabeledReplicas", active);
        set_count(status, "readyReplicas", ready);
        set_count(status, "availableReplicas", available);
        status["observedGeneration"] = int_at(tree, "metadata.generation").value_or(0);
        if (trouble.empty()) {
          status.erase("conditions");
        } else {
          set_condition(status, {"ReplicaFailure", "True", "FailedCreate", trouble}, now);
        }
        return true;
      }));
}

}  // namespace stowage::local
