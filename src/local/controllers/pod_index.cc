#include "local/controllers/pod_index.h"

#include "base/check.h"

namespace stowage::local {

std::optional<WallTime> ready_since(const StoredObject& pod) {
  if (pod.field("status.phase") != "Running") return std::nullopt;
  json::monotonic_resource arena(pod.bytes.size() * 8);
  const json::object tree = pod.tree(&arena);
  const json::array* conditions = array_at(tree, "status.conditions");
  if (conditions == nullptr) return std::nullopt;
  for (const json::value& element : *conditions) {
    const json::object* one = element.if_object();
    if (one == nullptr || text_at(*one, "type") != "Ready") continue;
    if (text_at(*one, "status") != "True") return std::nullopt;
    return parse_time(text_at(*one, "lastTransitionTime")).value_or(WallTime{});
  }
  return std::nullopt;
}

WallTime created_at(const json::object& object) {
  return parse_time(text_at(object, "metadata.creationTimestamp")).value_or(WallTime{});
}

PodIndex::PodIndex(Store& store) {
  const std::uint64_t now = store.version();
  store.visit(Kind::pod, "", [this](const ObjectPtr& pod) { put(pod); });
  auto watch = store.watch(Kind::pod, {}, now, [this](const WatchEvent& event) {
    if (event.change == Change::deleted) {
      take(event.object->name);
    } else {
      put(event.object);
    }
    return Store::Flow::more;
  });
  STOWAGE_CHECK(watch.has_value());
  watch_ = *std::move(watch);
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
