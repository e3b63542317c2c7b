#include "local/controllers/workload.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"

namespace stowage::local {
namespace {

void drop_reference(json::object& tree, std::string_view uid) {
  json::array* owners = array_in(make_object(tree, "metadata"), "ownerReferences");
  if (owners == nullptr) return;
  for (auto at = owners->begin(); at != owners->end();) {
    const json::object* one = at->if_object();
    at = one != nullptr && text_at(*one, "uid") == uid ? owners->erase(at) : at + 1;
  }
  if (owners->empty()) make_object(tree, "metadata").erase("ownerReferences");
}

}  // namespace

WorkList::WorkList(Store& store, WorkQueue& queue, Look look, std::chrono::microseconds gather)
    : store_(store),
      queue_(queue),
      look_(std::move(look)),
      soon_(queue, gather, [this] { run(); }) {}

void WorkList::add(const ObjectName& name) {
  names_.insert(name);
  soon_.ask();
}

void WorkList::add_after(const ObjectName& name, std::chrono::microseconds delay) {
  queue_.after(delay, [this, name] { add(name); });
}

void WorkList::run() {
  store_.deliver();
  for (const ObjectName& name : std::exchange(names_, {})) look_(name);
}

json::object owner_reference(const StoredObject& owner) {
  return {{"apiVersion", api_version_of(owner.kind)},
          {"blockOwnerDeletion", true},
          {"controller", true},
          {"kind", resource_of(owner.kind).kind},
          {"name", owner.name.name},
          {"uid", owner.uid}};
}

json::object pod_of_template(const StoredObject& owner, const json::object& tree) {
  json::object pod;
  json::object& metadata = make_object(pod, "metadata");
  metadata["generateName"] = owner.name.name + "-";
  for (const std::string_view key : {"labels", "annotations", "finalizers"}) {
    const json::object* meta = object_at(tree, "spec.template.metadata");
    const json::value* value = meta == nullptr ? nullptr : meta->if_contains(key);
    if (value != nullptr) metadata[key] = *value;
  }
  metadata["ownerReferences"] = json::array{owner_reference(owner)};
  if (const json::object* spec = object_at(tree, "spec.template.spec")) pod["spec"] = *spec;
  return pod;
}

std::int64_t part_of(const json::value* amount, std::int64_t total, Round round) {
  if (amount == nullptr) return 0;
  if (const auto* whole = amount->if_int64()) return std::max<std::int64_t>(*whole, 0);
  const std::string_view text = text_of(*amount);
  std::int64_t percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || std::string_view(end, text.data() + text.size()) != "%") return 0;
  constexpr std::int64_t kMostPercent = 1'000'000;
  const std::int64_t part = std::clamp<std::int64_t>(percent, 0, kMostPercent) *
                            std::clamp<std::int64_t>(total, 0, INT32_MAX);
  return round == Round::up ? (part + 99) / 100 : part / 100;
}

std::string name_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash ^= hash >> 32U;
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string name;
  for (int i = 0; i < 9; ++i, hash /= kLetters.size()) name += kLetters[hash % kLetters.size()];
  return name;
}

void set_count(json::object& status, std::string_view key, std::int64_t count) {
  if (count == 0) {
    status.erase(key);
  } else {
    status[key] = count;
  }
}

Watch follow(Store& store, Kind kind, const std::function<void(const WatchEvent&)>& upsert) {
  const std::uint64_t now = store.version();
  store.visit(kind, "", [&upsert](const ObjectPtr& one) { upsert({Change::added, one, nullptr}); });
  auto watch = store.watch(kind, {}, now, [upsert](const WatchEvent& event) {
    upsert(event);
    return Store::Flow::more;
  });
  STOWAGE_CHECK(watch.has_value());
  return *std::move(watch);
}

void disown(Api& api, const ObjectPtr& object, const std::string& owner_uid) {
  static_cast<void>(api.update(object->kind, object->name, Part::whole,
                               [&](json::object& tree) -> ApiResult<bool> {
                                 if (text_at(tree, "metadata.uid") != object->uid) return false;
                                 drop_reference(tree, owner_uid);
                                 return true;
                               }));
}

void adopt(Api& api, const ObjectPtr& object, const StoredObject& owner) {
  static_cast<void>(api.update(object->kind, object->name, Part::whole,
                               [&](json::object& tree) -> ApiResult<bool> {
                                 if (text_at(tree, "metadata.uid") != object->uid) return false;
                                 drop_reference(tree, owner.uid);
                                 make_array(make_object(tree, "metadata"), "ownerReferences")
                                     .push_back(owner_reference(owner));
                                 return true;
                               }));
}

}  // namespace stowage::local
