#include <algorithm>
#include <array>
#include <string>

#include "local/api.h"
#include "local/api_current.h"

namespace stowage::local {
namespace {

constexpr std::int64_t kDefaultGrace = 30;

// Kinds whose dependents are deleted with them.
bool owns_others(Kind kind) {
  constexpr std::array kOwners{Kind::deployment, Kind::replica_set, Kind::stateful_set,
                               Kind::daemon_set, Kind::job,         Kind::replication_controller};
  return std::find(kOwners.begin(), kOwners.end(), kind) != kOwners.end();
}

bool is_protected(std::string_view ns) {
  return ns == "default" || ns == "kube-system" || ns == "kube-public" || ns == "kube-node-lease";
}

bool has_finalizers(const json::object& object) {
  const json::array* finalizers = array_at(object, "metadata.finalizers");
  return finalizers != nullptr && !finalizers->empty();
}

}  // namespace

ApiResult<Api::Removal> Api::remove(Kind kind, const ObjectName& name,
                                    const DeleteOptions& options) {
  const ObjectPtr object = store_.get(kind, name);
  if (object == nullptr) return refuse(not_found(resource_of(kind), name.name));
  STOWAGE_TRY_VOID(check_preconditions(options.preconditions, *object));
  if (kind == Kind::pod) return remove_pod(object, options);
  if (kind == Kind::ns) return remove_namespace(object, options);
  if (object->deleting) return Removal{object, false};
  if (has_finalizers(object->tree())) return mark_deleted(object, 0, options);
  return take_out(object, options);
}

ApiResult<Api::Removal> Api::remove_pod(const ObjectPtr& pod, const DeleteOptions& options) {
  const json::object tree = pod->tree();
  const std::string_view phase = pod->field("status.phase");
  const bool idle =
      pod->field("spec.nodeName").empty() || phase == "Succeeded" || phase == "Failed";
  std::int64_t grace = options.grace_seconds.value_or(
      int_at(tree, "spec.terminationGracePeriodSeconds").value_or(kDefaultGrace));
  if (grace < 0) grace = 1;
  if (idle) grace = 0;
  if (pod->deleting) {
    const std::int64_t left = int_at(tree, "metadata.deletionGracePeriodSeconds").value_or(0);
    const bool held = left == 0 && has_finalizers(tree);
    if (held || (grace >= left && grace != 0)) return Removal{pod, false};
  }
  if (grace > 0 || has_finalizers(tree)) return mark_deleted(pod, grace, options);
  return take_out(pod, options);
}

ApiResult<Api::Removal> Api::remove_namespace(const ObjectPtr& object,
                                              const DeleteOptions& options) {
  const std::string ns = object->name.name;
  if (is_protected(ns)) {
    return refuse(forbidden(resource_of(Kind::ns), ns, "this namespace may not be deleted"));
  }
  if (options.dry_run) return Removal{object, false};
  if (!object->deleting) {
    STOWAGE_TRY(marked, mark_deleted(object, 0, options));
    static_cast<void>(marked);
  }
  for (const Resource& resource : all_resources()) {
    if (!resource.namespaced) continue;
    std::vector<ObjectName> names;
    store_.visit(resource.kind_id, ns, [&](const ObjectPtr& one) { names.push_back(one->name); });
    // An object may already have been deleted with its owner.
    for (const ObjectName& name : names) static_cast<void>(remove(resource.kind_id, name));
  }
  const ObjectPtr last = store_.get(Kind::ns, object->name);
  if (last == nullptr) return Removal{object, true};
  after_removal(last, {});
  const bool gone = store_.get(Kind::ns, object->name) == nullptr;
  return Removal{last, gone};
}

ApiResult<Api::Removal> Api::mark_deleted(const ObjectPtr& object, std::int64_t grace_seconds,
                                          const DeleteOptions& options) {
  Current current(object);
  json::object tree(current.tree, current.memory());
  json::object& metadata = make_object(tree, "metadata");
  metadata["deletionTimestamp"] = time_text(store_.now() + std::chrono::seconds{grace_seconds});
  metadata["deletionGracePeriodSeconds"] = grace_seconds;
  if (object->kind == Kind::ns) make_object(tree, "status")["phase"] = "Terminating";
  if (options.dry_run) {
    return Removal{store_.preview(object->kind, object->name, tree), false};
  }
  STOWAGE_TRY(marked, store_.update(object->kind, object->name, tree));
  return Removal{std::move(marked), false};
}

ApiResult<Api::Removal> Api::take_out(const ObjectPtr& object, const DeleteOptions& options) {
  if (options.dry_run) return Removal{object, true};
  STOWAGE_TRY(last, store_.remove(object->kind, object->name));
  applied_.erase(object->uid);
  after_removal(last, options.propagation);
  return Removal{std::move(last), true};
}

void Api::after_removal(const ObjectPtr& object, std::string_view propagation) {
  if (owns_others(object->kind)) release_dependents(object, propagation == "Orphan");
  const std::string& ns = object->kind == Kind::ns ? object->name.name : object->name.ns;
  if (ns.empty()) return;
  const ObjectPtr home = store_.get(Kind::ns, {"", ns});
  if (home == nullptr || !home->deleting) return;
  bool empty = true;
  for (const Resource& resource : all_resources()) {
    if (!resource.namespaced || !empty) continue;
    const auto page = store_.list(resource.kind_id, {.filter = {.ns = ns}, .limit = 1});
    empty = !page || page->items.empty();
  }
  if (empty) static_cast<void>(store_.remove(Kind::ns, home->name));
}

// Deletes the objects that the removed object controlled, or orphans them.
void Api::release_dependents(const ObjectPtr& owner, bool orphan) {
  for (const Kind kind : {Kind::replica_set, Kind::pod}) {
    std::vector<ObjectName> names;
    store_.visit(kind, owner->name.ns, [&](const ObjectPtr& one) {
      if (one->owner_uid == owner->uid) names.push_back(one->name);
    });
    for (const ObjectName& name : names) {
      if (!orphan) {
        static_cast<void>(remove(kind, name));
        continue;
      }
      static_cast<void>(update(kind, name, Part::whole, [&](json::object& tree) -> ApiResult<bool> {
        json::array& owners = make_array(make_object(tree, "metadata"), "ownerReferences");
        for (auto at = owners.begin(); at != owners.end();) {
          const json::object* one = at->if_object();
          const bool same = one != nullptr && text_at(*one, "uid") == owner->uid;
          at = same ? owners.erase(at) : at + 1;
        }
        return true;
      }));
    }
  }
}

}  // namespace stowage::local
