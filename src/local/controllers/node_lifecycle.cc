#include "local/controllers/node_lifecycle.h"

#include <algorithm>
#include <utility>

#include "local/defaults.h"
#include "local/kubelet/local_kubelets.h"

namespace stowage::local {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
constexpr std::string_view kUnreachable = "node.kubernetes.io/unreachable";
constexpr std::string_view kUnschedulable = "node.kubernetes.io/unschedulable";
constexpr std::string_view kPressures[][2] = {
    {"MemoryPressure", "node.kubernetes.io/memory-pressure"},
    {"DiskPressure", "node.kubernetes.io/disk-pressure"},
    {"PIDPressure", "node.kubernetes.io/pid-pressure"},
    {"NetworkUnavailable", "node.kubernetes.io/network-unavailable"}};
constexpr microseconds kCleaning = seconds{20};

std::string_view condition_status(const json::object& node, std::string_view type) {
  const json::object* condition = find_condition(node, type);
  return condition == nullptr ? std::string_view{} : text_at(*condition, "status");
}

std::vector<Taint> taints_of(const json::object& node) {
  std::vector<Taint> taints;
  for (const json::object* one : objects_at(node, "spec.taints")) {
    taints.push_back({std::string(text_at(*one, "key")), std::string(text_at(*one, "value")),
                      std::string(text_at(*one, "effect")),
                      parse_time(text_at(*one, "timeAdded"))});
  }
  return taints;
}

json::array to_json(const std::vector<Taint>& taints) {
  json::array list;
  for (const Taint& taint : taints) {
    json::object one{{"key", taint.key}, {"effect", taint.effect}};
    if (!taint.value.empty()) one["value"] = taint.value;
    if (taint.added) one["timeAdded"] = time_text(*taint.added);
    list.push_back(std::move(one));
  }
  return list;
}

bool tolerates(const json::object& toleration, const Taint& taint) {
  const std::string_view effect = text_at(toleration, "effect");
  if (!effect.empty() && effect != taint.effect) return false;
  const std::string_view key = text_at(toleration, "key");
  if (!key.empty() && key != taint.key) return false;
  const std::string_view op = text_at(toleration, "operator");
  if (op == "Exists") return true;
  return !key.empty() && text_at(toleration, "value") == taint.value;
}

bool same_kind(const Taint& a, const Taint& b) { return a.key == b.key && a.effect == b.effect; }

// How long a pod tolerates a taint: the shortest of the matching tolerations; unset: for ever.
struct Bearing {
  bool tolerated = false;
  std::optional<seconds> most;
};
Bearing bearing(const json::object& pod, const Taint& taint) {
  Bearing result;
  constexpr std::int64_t kLongest = 1'000'000'000;
  for (const json::object* one : objects_at(pod, "spec.tolerations")) {
    if (!tolerates(*one, taint)) continue;
    result.tolerated = true;
    const auto limit = int_at(*one, "tolerationSeconds");
    if (!limit) continue;
    const seconds own{std::clamp<std::int64_t>(*limit, 0, kLongest)};
    result.most = result.most ? std::min(*result.most, own) : own;
  }
  return result;
}

}  // namespace

bool is_state_taint(std::string_view key) {
  return key == kNotReady || key == kUnreachable || key == kUnschedulable ||
         std::any_of(std::begin(kPressures), std::end(kPressures),
                     [&](const auto& pressure) { return pressure[1] == key; });
}

std::vector<Taint> taints_by_state(const json::object& node) {
  std::vector<Taint> taints;
  const auto add = [&](std::string_view key, std::string_view effect) {
    taints.push_back({std::string(key), "", std::string(effect), std::nullopt});
  };
  const std::string_view ready = condition_status(node, "Ready");
  if (ready != "True") {
    const std::string_view key = ready == "Unknown" ? kUnreachable : kNotReady;
    add(key, "NoSchedule");
    add(key, "NoExecute");
  }
  for (const auto& pressure : kPressures) {
    if (condition_status(node, pressure[0]) == "True") add(pressure[1], "NoSchedule");
  }
  if (true_at(node, "spec.unschedulable")) add(kUnschedulable, "NoSchedule");
  return taints;
}

std::optional<WallTime> may_stay_until(const json::object& pod, const std::vector<Taint>& taints,
                                       microseconds patience) {
  std::optional<WallTime> until;
  const auto leave = [&](WallTime when) { until = until ? std::min(*until, when) : when; };
  for (const Taint& taint : taints) {
    if (taint.effect != "NoExecute") continue;
    const WallTime added = taint.added.value_or(WallTime{});
    const Bearing how = bearing(pod, taint);
    if (!how.tolerated) {
      leave(taint.key == kNotReady || taint.key == kUnreachable ? added + patience : added);
    } else if (how.most) {
      leave(added + *how.most);
    }
  }
  return until;
}

NodeLifecycle::NodeLifecycle(Api& api, WorkQueue& queue, PodIndex& pods,
                             const NodeLifecycleOptions& options)
    : api_(api),
      queue_(queue),
      pods_(pods),
      options_(options),
      work_(api.store(), queue, [this](const ObjectName& name) { look(name); }) {
  watch_ = follow(api_.store(), Kind::node, [this](const WatchEvent& event) { upsert(event); });
  pods_.on_change(
      [this](const PodFacts* after, const PodFacts* before) { upsert_pod(after, before); });
  queue_.after(kCleaning, [this] { remove_ended(); });
}

void NodeLifecycle::upsert(const WatchEvent& event) {
  const std::string& name = event.object->name.name;
  if (event.change != Change::deleted) return work_.add(event.object->name);
  silent_.erase(name);
  repelling_.erase(name);
  queue_.after(options_.lost, [this, name] { remove_lost(name); });
}

void NodeLifecycle::upsert_pod(const PodFacts* now, const PodFacts* before) {
  if (now == nullptr || !now->bound() || (before != nullptr && before->bound())) return;
  const std::string node(now->object->field("spec.nodeName"));
  if (repelling_.contains(node)) work_.add({"", node});
  if (api_.store().get(Kind::node, {"", node}) == nullptr) {
    queue_.after(options_.lost, [this, node] { remove_lost(node); });
  }
}

void NodeLifecycle::look(const ObjectName& name) {
  const ObjectPtr node = api_.store().get(Kind::node, name);
  if (node == nullptr) return;
  const json::object tree = node->tree();
  const WallTime now = queue_.now();
  if (!marked_failed(tree)) {
    silent_.erase(name.name);
  } else if (condition_status(tree, "Ready") != "Unknown") {
    const WallTime since = silent_.try_emplace(name.name, now).first->second;
    const WallTime until = since + options_.silence;
    if (until <= now) {
      set_unknown(name);  // the change triggers a new look
      return;
    }
    work_.add_after(name, until - now);
  }
  const std::vector<Taint> taints = settle_taints(node, tree);
  const bool repels = std::any_of(taints.begin(), taints.end(),
                                  [](const Taint& taint) { return taint.effect == "NoExecute"; });
  if (repels) {
    drive_away(name.name, taints);
  } else {
    repelling_.erase(name.name);
  }
}

void NodeLifecycle::set_unknown(const ObjectName& name) {
  static_cast<
      void>(api_.update(Kind::node, name, Part::status, [&](json::object& tree) -> ApiResult<bool> {
    json::object& status = make_object(tree, "status");
    for (const std::string_view type : {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"}) {
      set_condition(status,
                    {type, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."},
                    queue_.now());
    }
    return true;
  }));
}

std::vector<Taint> NodeLifecycle::settle_taints(const ObjectPtr& node, const json::object& tree) {
  const std::vector<Taint> before = taints_of(tree);
  std::vector<Taint> after;
  for (const Taint& taint : before) {
    if (!is_state_taint(taint.key)) after.push_back(taint);
  }
  for (Taint& taint : taints_by_state(tree)) {
    const auto old = std::find_if(before.begin(), before.end(),
                                  [&](const Taint& other) { return same_kind(other, taint); });
    if (old != before.end()) {
      after.push_back(*old);
      continue;
    }
    if (taint.effect == "NoExecute") taint.added = queue_.now();
    after.push_back(std::move(taint));
  }
  if (after == before) return after;
  static_cast<void>(api_.update(Kind::node, node->name, Part::main,
                                [&](json::object& changed) -> ApiResult<bool> {
                                  json::object& spec = make_object(changed, "spec");
                                  if (after.empty()) {
                                    spec.erase("taints");
                                  } else {
                                    spec["taints"] = to_json(after);
                                  }
                                  return true;
                                }));
  return after;
}

void NodeLifecycle::drive_away(const std::string& node, std::vector<Taint> taints) {
  const WallTime now = queue_.now();
  Repelling& repelling = repelling_[node];
  std::map<std::string, WallTime> since;
  for (Taint& taint : taints) {
    if (taint.effect != "NoExecute" || taint.added) continue;
    const auto known = repelling.since.find(taint.key);
    taint.added = since[taint.key] = known == repelling.since.end() ? now : known->second;
  }
  repelling.since = std::move(since);
  std::optional<WallTime> next;
  std::vector<ObjectPtr> leaving;
  for (const auto& [name, pod] : pods_.all()) {
    if (!pod.active() || pod.object->field("spec.nodeName") != node) continue;
    const auto until = may_stay_until(pod.object->tree(), taints, options_.patience);
    if (!until) continue;
    if (*until <= now) {
      leaving.push_back(pod.object);
    } else {
      next = next ? std::min(*next, *until) : *until;
    }
  }
  for (const ObjectPtr& pod : leaving) evict(pod);
  if (!next || (repelling.look_at > now && repelling.look_at <= *next)) return;
  repelling.look_at = *next;
  work_.add_after({"", node}, *next - now);
}

void NodeLifecycle::evict(const ObjectPtr& pod) {
  const auto told =
      api_.update(Kind::pod, pod->name, Part::status, [&](json::object& tree) -> ApiResult<bool> {
        if (text_at(tree, "metadata.uid") != pod->uid) return false;
        set_condition(make_object(tree, "status"),
                      {"DisruptionTarget", "True", "DeletionByTaintManager",
                       "Taint manager: deleting due to NoExecute taint"},
                      queue_.now());
        return true;
      });
  if (!told) return;
  static_cast<void>(api_.remove(Kind::pod, pod->name, {.preconditions = {pod->uid, ""}}));
}

void NodeLifecycle::remove_lost(const std::string& node) {
  if (api_.store().get(Kind::node, {"", node}) != nullptr) return;
  std::vector<ObjectPtr> lost;
  for (const auto& [name, pod] : pods_.all()) {
    if (pod.object->field("spec.nodeName") == node) lost.push_back(pod.object);
  }
  for (const ObjectPtr& pod : lost) {
    static_cast<void>(
        api_.remove(Kind::pod, pod->name, {.grace_seconds = 0, .preconditions = {pod->uid, ""}}));
  }
}

void NodeLifecycle::remove_ended() {
  queue_.after(kCleaning, [this] { remove_ended(); });
  std::vector<ObjectPtr> ended;
  for (const auto& [name, pod] : pods_.all()) {
    if (pod.ended() && !pod.object->deleting) ended.push_back(pod.object);
  }
  if (ended.size() <= options_.ended_pods_max) return;
  std::sort(ended.begin(), ended.end(),
            [](const ObjectPtr& a, const ObjectPtr& b) { return a->version < b->version; });
  ended.resize(ended.size() - options_.ended_pods_max);
  for (const ObjectPtr& pod : ended) static_cast<void>(api_.remove(Kind::pod, pod->name));
}

}  // namespace stowage::local
