#include "local/controllers/budgets.h"

#include <algorithm>
#include <set>

#include "local/defaults.h"

namespace stowage::local {
namespace {

constexpr std::chrono::microseconds kGather = std::chrono::milliseconds{100};

// How many pods the owner of this pod wants; unset if unknown.
std::optional<std::int64_t> wanted_by_owner(const Store& store, const StoredObject& pod) {
  const json::object tree = pod.tree();
  for (const json::object* owner : objects_at(tree, "metadata.ownerReferences")) {
    if (text_at(*owner, "uid") != pod.owner_uid) continue;
    const std::string_view kind = text_at(*owner, "kind");
    const Kind id = kind == "ReplicaSet" ? Kind::replica_set : Kind::stateful_set;
    if (kind != "ReplicaSet" && kind != "StatefulSet") return std::nullopt;
    const ObjectPtr found = store.get(id, {pod.name.ns, std::string(text_at(*owner, "name"))});
    if (found == nullptr || found->uid != pod.owner_uid) return std::nullopt;
    return int_at(found->tree(), "spec.replicas").value_or(1);
  }
  return std::nullopt;
}

struct Numbers {
  std::int64_t expected = 0;
  std::int64_t healthy = 0;
};

Numbers count(const Store& store, const PodIndex& pods, const std::string& ns,
              const LabelSelector& selector) {
  Numbers numbers;
  std::set<std::string> owners;
  for (auto at = pods.all().lower_bound({ns, ""}); at != pods.all().end(); ++at) {
    if (at->first.ns != ns) break;
    const PodFacts& pod = at->second;
    if (pod.ended() || !selector.matches(pod.object->labels)) continue;
    if (pod.ready() && !pod.object->deleting) ++numbers.healthy;
    const std::string& owner = pod.object->owner_uid;
    if (!owner.empty() && owners.contains(owner)) continue;
    const auto wanted = owner.empty() ? std::nullopt : wanted_by_owner(store, *pod.object);
    numbers.expected += wanted.value_or(1);
    if (wanted) owners.insert(owner);
  }
  return numbers;
}

std::int64_t least_healthy(const json::object& budget, std::int64_t expected) {
  if (const json::value* least = find_at(budget, "spec.minAvailable")) {
    return part_of(least, expected, Round::up);
  }
  const json::value* most = find_at(budget, "spec.maxUnavailable");
  return std::max<std::int64_t>(expected - part_of(most, expected, Round::up), 0);
}

}  // namespace

Budgets::Budgets(Api& api, WorkQueue& queue, PodIndex& pods)
    : api_(api),
      queue_(queue),
      pods_(pods),
      work_(
          api.store(), queue, [this](const ObjectName& name) { look(name); }, kGather) {
  watch_ = follow(api_.store(), Kind::pod_disruption_budget,
                  [this](const WatchEvent& event) { upsert(event); });
  pods_.on_change(
      [this](const PodFacts* after, const PodFacts* before) { upsert_pod(after, before); });
}

void Budgets::upsert(const WatchEvent& event) {
  if (event.change == Change::deleted) {
    selectors_.erase(event.object->name);
    return;
  }
  const json::object tree = event.object->tree();
  const json::object* wanted = object_at(tree, "spec.selector");
  const auto selector = wanted == nullptr ? std::nullopt : selector_of(*wanted);
  if (selector) {
    selectors_[event.object->name] = *selector;
  } else {
    selectors_.erase(event.object->name);
  }
  work_.add(event.object->name);
}

void Budgets::upsert_pod(const PodFacts* now, const PodFacts* before) {
  const auto& name = (now != nullptr ? now : before)->object->name;
  for (auto at = selectors_.lower_bound({name.ns, ""}); at != selectors_.end(); ++at) {
    if (at->first.ns != name.ns) return;
    const bool mine = (now != nullptr && at->second.matches(now->object->labels)) ||
                      (before != nullptr && at->second.matches(before->object->labels));
    if (mine) work_.add(at->first);
  }
}

void Budgets::look(const ObjectName& name) {
  static_cast<void>(api_.update(
      Kind::pod_disruption_budget, name, Part::status, [&](json::object& tree) -> ApiResult<bool> {
        const auto selector = selectors_.find(name);
        const Numbers numbers = selector == selectors_.end()
                                    ? Numbers{}
                                    : count(api_.store(), pods_, name.ns, selector->second);
        const std::int64_t least = least_healthy(tree, numbers.expected);
        const std::int64_t allowed =
            numbers.expected == 0 ? 0 : std::max<std::int64_t>(numbers.healthy - least, 0);
        json::object& status = make_object(tree, "status");
        status["currentHealthy"] = numbers.healthy;
        status["desiredHealthy"] = least;
        status["disruptionsAllowed"] = allowed;
        status["expectedPods"] = numbers.expected;
        status["observedGeneration"] = int_at(tree, "metadata.generation").value_or(0);
        // Evicted pods are marked as deleted in the same call, so they are not counted twice.
        status.erase("disruptedPods");
        set_condition(status,
                      {"DisruptionAllowed", allowed > 0 ? "True" : "False",
                       allowed > 0 ? "SufficientPods" : "InsufficientPods", ""},
                      queue_.now());
        return true;
      }));
}

}  // namespace stowage::local
