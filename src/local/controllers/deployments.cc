#include "local/controllers/deployments.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "local/controllers/rollout.h"
#include "local/defaults.h"

namespace stowage::local {
namespace {

constexpr std::string_view kHashLabel = "pod-template-hash";
constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";

// Serialises a value with the members of objects sorted, so that equal values have equal texts.
void append_ordered(std::string& out, const json::value& value) {
  if (const json::object* object = value.if_object()) {
    std::vector<std::string_view> keys;
    for (const auto& member : *object) keys.push_back(member.key());
    std::sort(keys.begin(), keys.end());
    out += '{';
    for (const std::string_view key : keys) {
      append_json_string(out, key);
      append_ordered(out, object->at(key));
    }
    out += '}';
  } else if (const json::array* array = value.if_array()) {
    out += '[';
    for (const json::value& element : *array) append_ordered(out, element);
    out += ']';
  } else {
    append_json(out, value);
    out += ',';
  }
}

std::string template_hash(const json::object& deployment) {
  std::string text;
  if (const json::value* pod = find_at(deployment, "spec.template")) append_ordered(text, *pod);
  const auto collisions = int_at(deployment, "status.collisionCount").value_or(0);
  if (collisions > 0) text += std::to_string(collisions);
  return name_hash(text);
}

std::int64_t revision_of(const json::object& object) {
  const std::string_view text = annotation(object, kRevision);
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool set_revision(json::object& object, std::int64_t revision) {
  if (revision_of(object) == revision) return false;
  make_object(make_object(object, "metadata"), "annotations")[kRevision] = std::to_string(revision);
  return true;
}

RolloutSet numbers_of(const ObjectPtr& object) {
  const json::object tree = object->tree();
  RolloutSet set;
  set.name = object->name;
  set.wanted = int_at(tree, "spec.replicas").value_or(0);
  set.replicas = int_at(tree, "status.replicas").value_or(0);
  set.ready = int_at(tree, "status.readyReplicas").value_or(0);
  set.available = int_at(tree, "status.availableReplicas").value_or(0);
  set.revision = revision_of(tree);
  return set;
}

RolloutWish wish_of(const json::object& tree) {
  RolloutWish wish;
  wish.replicas = int_at(tree, "spec.replicas").value_or(1);
  wish.paused = true_at(tree, "spec.paused");
  wish.recreate = text_at(tree, "spec.strategy.type") == "Recreate";
  if (wish.recreate) {
    wish.max_unavailable = wish.replicas;
    return wish;
  }
  wish.max_surge =
      part_of(find_at(tree, "spec.strategy.rollingUpdate.maxSurge"), wish.replicas, Round::up);
  wish.max_unavailable = part_of(find_at(tree, "spec.strategy.rollingUpdate.maxUnavailable"),
                                 wish.replicas, Round::down);
  // If both are 0, the rollout could never progress.
  if (wish.max_surge == 0 && wish.max_unavailable == 0) wish.max_unavailable = 1;
  wish.max_unavailable = std::min(wish.max_unavailable, wish.replicas);
  return wish;
}

}  // namespace

struct Deployments::Sets {
  std::string hash;
  RolloutSet fresh;  // its name is empty while it does not exist
  std::vector<RolloutSet> old;

  [[nodiscard]] bool has_fresh() const { return !fresh.name.name.empty(); }
  template <typename Number>
  [[nodiscard]] std::int64_t sum(const Number& number) const {
    std::int64_t total = number(fresh);
    for (const RolloutSet& set : old) total += number(set);
    return total;
  }
};

Deployments::Deployments(Api& api, WorkQueue& queue)
    : api_(api),
      queue_(queue),
      work_(api.store(), queue, [this](const ObjectName& name) { look(name); }) {
  watch_ =
      follow(api_.store(), Kind::deployment, [this](const WatchEvent& event) { upsert(event); });
  set_watch_ = follow(api_.store(), Kind::replica_set,
                      [this](const WatchEvent& event) { upsert_set(event); });
}

void Deployments::upsert(const WatchEvent& event) {
  const StoredObject& object = *event.object;
  if (event.change == Change::deleted) {
    names_.erase(object.uid);
    progress_.erase(object.uid);
    return;
  }
  names_[object.uid] = object.name;
  work_.add(object.name);
}

void Deployments::upsert_set(const WatchEvent& event) {
  for (const ObjectPtr& set : {event.previous, event.object}) {
    if (set == nullptr || set->owner_uid.empty()) continue;
    auto& children = children_[set->owner_uid];
    const bool now = set == event.object && event.change != Change::deleted;
    if (now) {
      children[set->name] = set;
    } else {
      children.erase(set->name);
    }
    if (children.empty()) children_.erase(set->owner_uid);
    const auto owner = names_.find(set->owner_uid);
    if (owner != names_.end()) work_.add(owner->second);
  }
}

void Deployments::look(const ObjectName& name) {
  const ObjectPtr deployment = api_.store().get(Kind::deployment, name);
  if (deployment == nullptr || deployment->deleting) return;
  const json::object tree = deployment->tree();
  const RolloutWish wish = wish_of(tree);
  Sets sets = sets_of(deployment, tree);
  if (!sets.has_fresh() && !wish.paused) {
    const ObjectPtr made = make_set(deployment, tree, sets.hash);
    if (made == nullptr) return;
    sets.fresh = numbers_of(made);
  }
  number_revision(deployment, tree, sets);
  roll(wish, sets);
  forget_history(tree, sets);
  report(deployment, tree, wish, sets);
}

Deployments::Sets Deployments::sets_of(const ObjectPtr& deployment, const json::object& tree) {
  Sets sets;
  sets.hash = template_hash(tree);
  const auto children = children_.find(deployment->uid);
  if (children == children_.end()) return sets;
  for (const auto& [name, set] : children->second) {
    const std::string* hash = find_label(set->labels, kHashLabel);
    if (hash != nullptr && *hash == sets.hash && !set->deleting) {
      sets.fresh = numbers_of(set);
    } else {
      sets.old.push_back(numbers_of(set));
    }
  }
  std::stable_sort(sets.old.begin(), sets.old.end(), [](const RolloutSet& a, const RolloutSet& b) {
    return a.revision < b.revision;
  });
  return sets;
}

ObjectPtr Deployments::make_set(const ObjectPtr& deployment, const json::object& tree,
                                const std::string& hash) {
  const ObjectName name{deployment->name.ns, fmt::format("{}-{}", deployment->name.name, hash)};
  json::object spec;
  spec["replicas"] = 0;
  spec["minReadySeconds"] = int_at(tree, "spec.minReadySeconds").value_or(0);
  if (const json::value* selector = find_at(tree, "spec.selector")) spec["selector"] = *selector;
  if (const json::value* pod = find_at(tree, "spec.template")) spec["template"] = *pod;
  make_object(make_object(spec, "selector"), "matchLabels")[kHashLabel] = hash;
  json::object& labels =
      make_object(make_object(make_object(spec, "template"), "metadata"), "labels");
  labels[kHashLabel] = hash;
  json::object metadata;
  metadata["name"] = name.name;
  metadata["labels"] = labels;
  metadata["ownerReferences"] = json::array{owner_reference(*deployment)};
  json::object set;
  set["metadata"] = std::move(metadata);
  set["spec"] = std::move(spec);
  const auto made = api_.create(Kind::replica_set, name.ns, std::move(set));
  if (made) return *made;
  const ObjectPtr other = api_.store().get(Kind::replica_set, name);
  if (other == nullptr) {
    // The API's message says what is wrong with the template. A change of the deployment triggers a
    // new look.
    static_cast<void>(api_.update(Kind::deployment, deployment->name, Part::status,
                                  [&](json::object& changed) -> ApiResult<bool> {
                                    set_condition(make_object(changed, "status"),
                                                  {"Progressing", "False", "ReplicaSetCreateError",
                                                   made.error().message},
                                                  queue_.now());
                                    return true;
                                  }));
    return nullptr;
  }
  if (other->owner_uid.empty()) {
    adopt(api_, other, *deployment);
  } else {
    count_collision(deployment);
  }
  return nullptr;  // the change triggers a new look
}

void Deployments::count_collision(const ObjectPtr& deployment) {
  static_cast<void>(api_.update(Kind::deployment, deployment->name, Part::status,
                                [](json::object& changed) -> ApiResult<bool> {
                                  const std::int64_t before =
                                      int_at(changed, "status.collisionCount").value_or(0);
                                  make_object(changed, "status")["collisionCount"] = before + 1;
                                  return true;
                                }));
}

void Deployments::number_revision(const ObjectPtr& deployment, const json::object& tree,
                                  const Sets& sets) {
  if (!sets.has_fresh()) return;
  std::int64_t newest = 0;
  for (const RolloutSet& set : sets.old) newest = std::max(newest, set.revision);
  const std::int64_t revision = std::max(newest + 1, sets.fresh.revision);
  if (sets.fresh.revision != revision) {
    static_cast<void>(api_.update(
        Kind::replica_set, sets.fresh.name, Part::main,
        [&](json::object& set) -> ApiResult<bool> { return set_revision(set, revision); }));
  }
  if (revision_of(tree) != revision) {
    static_cast<void>(api_.update(
        Kind::deployment, deployment->name, Part::main,
        [&](json::object& changed) -> ApiResult<bool> { return set_revision(changed, revision); }));
  }
}

void Deployments::roll(const RolloutWish& wish, const Sets& sets) {
  const RolloutStep step = next_step(wish, sets.fresh, sets.old);
  if (sets.has_fresh()) set_replicas(sets.fresh, step.fresh);
  for (std::size_t i = 0; i < sets.old.size(); ++i) set_replicas(sets.old[i], step.old[i]);
}

void Deployments::set_replicas(const RolloutSet& set, std::int64_t replicas) {
  if (set.wanted == replicas) return;
  static_cast<void>(api_.set_scale(Kind::replica_set, set.name, replicas, {}));
}

void Deployments::forget_history(const json::object& tree, const Sets& sets) {
  const std::int64_t keep = int_at(tree, "spec.revisionHistoryLimit").value_or(10);
  std::vector<ObjectName> idle;
  for (const RolloutSet& set : sets.old) {
    if (set.wanted == 0 && set.replicas == 0) idle.push_back(set.name);
  }
  for (std::size_t i = 0; std::ssize(idle) - static_cast<std::ptrdiff_t>(i) > keep; ++i) {
    static_cast<void>(api_.remove(Kind::replica_set, idle[i]));
  }
}

void Deployments::report(const ObjectPtr& deployment, const json::object& tree,
                         const RolloutWish& wish, const Sets& sets) {
  static_cast<void>(api_.update(
      Kind::deployment, deployment->name, Part::status,
      [&](json::object& changed) -> ApiResult<bool> {
        if (text_at(changed, "metadata.uid") != deployment->uid) return false;
        json::object& status = make_object(changed, "status");
        const std::int64_t available = sets.sum([](const RolloutSet& s) { return s.available; });
        set_count(status, "replicas", sets.sum([](const RolloutSet& s) { return s.replicas; }));
        set_count(status, "updatedReplicas", sets.fresh.replicas);
        set_count(status, "readyReplicas", sets.sum([](const RolloutSet& s) { return s.ready; }));
        set_count(status, "availableReplicas", available);
        set_count(status, "unavailableReplicas",
                  std::max<std::int64_t>(wish.replicas - available, 0));
        status["observedGeneration"] = int_at(tree, "metadata.generation").value_or(0);
        const bool enough = available >= wish.replicas - wish.max_unavailable;
        set_condition(status,
                      {"Available", enough ? "True" : "False",
                       enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                       enough ? "Deployment has minimum availability."
                              : "Deployment does not have minimum availability."},
                      queue_.now());
        report_progress(deployment, tree, sets, status);
        return true;
      }));
}

void Deployments::report_progress(const ObjectPtr& deployment, const json::object& tree,
                                  const Sets& sets, json::object& status) {
  if (!sets.has_fresh()) return;
  const WallTime now = queue_.now();
  const std::int64_t replicas = int_at(tree, "spec.replicas").value_or(1);
  const std::int64_t all = sets.sum([](const RolloutSet& s) { return s.replicas; });
  Progress& progress = progress_[deployment->uid];
  const std::vector<std::int64_t> numbers = {int_at(tree, "metadata.generation").value_or(0),
                                             sets.fresh.replicas, sets.fresh.available, all};
  if (numbers != progress.numbers) {
    // Only a new generation of the deployment begins a new rollout.
    if (progress.numbers.empty() || numbers[0] != progress.numbers[0]) progress.complete = false;
    progress.numbers = numbers;
    progress.since = now;
  }
  if (sets.fresh.available == replicas && sets.fresh.replicas == replicas && all == replicas) {
    progress.complete = true;
  }
  const auto name = fmt::format("ReplicaSet \"{}\"", sets.fresh.name.name);
  if (progress.complete) {
    const std::string words = name + " has successfully progressed.";
    return set_condition(status, {"Progressing", "True", "NewReplicaSetAvailable", words}, now);
  }
  const std::chrono::seconds limit{int_at(tree, "spec.progressDeadlineSeconds").value_or(600)};
  const WallTime deadline = progress.since + limit;
  if (now >= deadline && !true_at(tree, "spec.paused")) {
    const std::string words = name + " has timed out progressing.";
    return set_condition(status, {"Progressing", "False", "ProgressDeadlineExceeded", words}, now);
  }
  if (progress.look_at <= now) {
    progress.look_at = deadline + std::chrono::milliseconds{1};
    work_.add_after(deployment->name, progress.look_at - now);
  }
  const std::string words = name + " is progressing.";
  set_condition(status, {"Progressing", "True", "ReplicaSetUpdated", words}, now);
}

}  // namespace stowage::local
