#include "local/controllers/pod_index.h"

#include "local/controllers/workload.h"

namespace stowage::local {

std::optional<WallTime> ready_since(const StoredObject& pod) {
  if (pod.field("status.phase") != "Running") return std::nullopt;
  json::monotonic_resource arena(pod.bytes.size() * 8);
  const json::object tree = pod.tree(&arena);
  const json::object* ready = find_condition(tree, "Ready");
  if (ready == nullptr || text_at(*ready, "status") != "True") return std::nullopt;
  return parse_time(text_at(*ready, "lastTransitionTime")).value_or(WallTime{});
}

WallTime created_at(const json::object& object) {
  return parse_time(text_at(object, "metadata.creationTimestamp")).value_or(WallTime{});
}

PodIndex::PodIndex(Store& store) {
  watch_ = follow(store, Kind::pod, [this](const WatchEvent& event) {
    if (event.change == Change::deleted) {
      take(event.object->name);
    } else {
      put(event.object);
    }
  });
}

const PodIndex::Pods& PodIndex::owned_by(const std::string& uid) const {
  static const Pods kNone;
  const auto found = owned_.find(uid);
  return found == owned_.end() ? kNone : found->second;
}

void PodIndex::put(const ObjectPtr& object) {
  const auto found = all_.find(object->name);
  std::optional<PodFacts> before;
  if (found != all_.end()) {
    before = std::move(found->second);
    const std::string& owner = before->object->owner_uid;
    if (owner.empty()) {
      orphans_.erase(object->name);
    } else if (owner != object->owner_uid) {
      const auto old = owned_.find(owner);
      old->second.erase(object->name);
      if (old->second.empty()) owned_.erase(old);
    }
  }
  const PodFacts now{object, ready_since(*object)};
  all_[object->name] = now;
  (object->owner_uid.empty() ? orphans_ : owned_[object->owner_uid])[object->name] = now;
  tell(&now, before ? &*before : nullptr);
}

void PodIndex::take(const ObjectName& name) {
  const auto found = all_.find(name);
  if (found == all_.end()) return;
  const PodFacts before = std::move(found->second);
  all_.erase(found);
  orphans_.erase(name);
  const auto owned = owned_.find(before.object->owner_uid);
  if (owned != owned_.end()) {
    owned->second.erase(name);
    if (owned->second.empty()) owned_.erase(owned);
  }
  tell(nullptr, &before);
}

void PodIndex::tell(const PodFacts* now, const PodFacts* before) const {
  for (const OnChange& callback : callbacks_) callback(now, before);
}

}  // namespace stowage::local
