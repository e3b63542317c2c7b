#include "local/api.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "local/api_current.h"
#include "local/apply.h"
#include "local/conform.h"
#include "local/defaults.h"
#include "local/patch.h"
#include "local/strategic_patch.h"
#include "local/validate.h"

namespace stowage::local {
namespace {

constexpr int kNameTries = 8;

json::object named(std::string_view name) {
  json::object object;
  make_object(object, "metadata")["name"] = name;
  return object;
}

// Kinds whose status a client may give when it creates the object.
bool accepts_status(Kind kind) {
  return kind == Kind::node || !resource_of(kind).has_subresource("status");
}

ApiResult<void> refuse_invalid(Kind kind, const json::object& object, Problems& problems) {
  if (problems.empty()) return {};
  return refuse(invalid(resource_of(kind), text_at(object, "metadata.name"), problems.take()));
}

// What only the server may set.
void strip_metadata(json::object& metadata) {
  for (const std::string_view key :
       {"uid", "creationTimestamp", "resourceVersion", "deletionTimestamp", "generation",
        "deletionGracePeriodSeconds", "managedFields", "selfLink"}) {
    metadata.erase(key);
  }
}

// Copies a member from one object to the other; if it is absent, removes it there.
void keep(const json::object& from, json::object& to, std::string_view key) {
  if (const json::value* value = from.if_contains(key)) {
    to[key] = *value;
  } else {
    to.erase(key);
  }
}

void keep_server_metadata(const json::object& before, json::object& after) {
  const json::object none;
  const json::object* old_metadata = object_at(before, "metadata");
  json::object& metadata = make_object(after, "metadata");
  for (const std::string_view key :
       {"name", "namespace", "uid", "creationTimestamp", "generation", "deletionTimestamp",
        "deletionGracePeriodSeconds", "generateName"}) {
    keep(old_metadata == nullptr ? none : *old_metadata, metadata, key);
  }
  metadata.erase("managedFields");
  metadata.erase("selfLink");
}

// Restores everything except status, labels, annotations and finalizers.
void keep_all_but_status(const json::object& before, json::object& after) {
  json::object result = before;
  keep(after, result, "status");
  json::object& metadata = make_object(result, "metadata");
  const json::object none;
  const json::object* changed = object_at(after, "metadata");
  for (const std::string_view key : {"labels", "annotations", "finalizers"}) {
    keep(changed == nullptr ? none : *changed, metadata, key);
  }
  after = std::move(result);
}

bool has_finalizers(const json::object& object) {
  const json::array* finalizers = array_at(object, "metadata.finalizers");
  return finalizers != nullptr && !finalizers->empty();
}

}  // namespace

Api::Api(const StoreOptions& options) : store_(options), names_(options.seed + 1) {
  const auto must = [](const ApiResult<ObjectPtr>& made) { STOWAGE_CHECK(made.has_value()); };
  for (const std::string_view ns : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    must(create(Kind::ns, "", named(ns)));
  }
  const auto priority = [&](std::string_view name, std::int64_t value, std::string_view use) {
    json::object made = named(name);
    made["value"] = value;
    made["description"] = use;
    must(create(Kind::priority_class, "", std::move(made)));
  };
  priority("system-cluster-critical", 2'000'000'000,
           "Used for system critical pods that must run in the cluster, but can be moved to "
           "another node if necessary.");
  priority("system-node-critical", 2'000'001'000,
           "Used for system critical pods that must not be moved from their current node.");
}

ApiResult<void> Api::check(Kind kind, json::object& object, const WriteOptions& options) const {
  const Resource& resource = resource_of(kind);
  Findings findings = conform(object, schema_.of(kind));
  const auto refused = [&](std::string_view why) {
    return refuse(bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}",
                                          resource.kind, resource.version, resource.kind, why)));
  };
  if (!findings.error.empty()) return refused(findings.error);
  if (findings.unknown.empty()) return {};
  std::vector<std::string> words;
  for (const std::string& field : findings.unknown) {
    words.push_back(fmt::format("unknown field \"{}\"", field));
  }
  if (options.validation == FieldValidation::strict) {
    return refused(fmt::format("strict decoding error: {}", fmt::join(words, ", ")));
  }
  if (options.validation == FieldValidation::warn && options.warnings != nullptr) {
    for (std::string& word : words) options.warnings->push_back(std::move(word));
  }
  return {};
}

// Determines namespace and name.
ApiResult<void> Api::place(Kind kind, std::string_view ns, json::object& object) const {
  const Resource& resource = resource_of(kind);
  json::object& metadata = make_object(object, "metadata");
  const std::string own(text_at(metadata, "namespace"));
  if (!resource.namespaced) {
    if (!own.empty()) return refuse(bad_request("namespace is not allowed on this type"));
    metadata.erase("namespace");
    return {};
  }
  if (!own.empty() && !ns.empty() && own != ns) {
    return refuse(
        bad_request(fmt::format("the namespace of the provided object does not match the "
                                "namespace sent on the request ({} and {})",
                                own, ns)));
  }
  const std::string chosen = own.empty() ? std::string(ns) : own;
  if (chosen.empty()) {
    return refuse(bad_request("an empty namespace may not be set during creation"));
  }
  const ObjectPtr home = store_.get(Kind::ns, {"", chosen});
  if (home == nullptr) return refuse(not_found(resource_of(Kind::ns), chosen));
  if (home->deleting) {
    return refuse(forbidden(resource, text_at(metadata, "name"),
                            fmt::format("unable to create new content in namespace {} because it "
                                        "is being terminated",
                                        chosen)));
  }
  metadata["namespace"] = chosen;
  return {};
}

ApiResult<ObjectPtr> Api::create(Kind kind, std::string_view ns, json::object object,
                                 const WriteOptions& options) {
  STOWAGE_TRY_VOID(check(kind, object, options));
  const Resource& resource = resource_of(kind);
  if (!text_at(object, "metadata.resourceVersion").empty()) {
    return refuse(bad_request("resourceVersion should not be set on objects to be created"));
  }
  STOWAGE_TRY_VOID(place(kind, ns, object));
  json::object& metadata = make_object(object, "metadata");
  strip_metadata(metadata);
  const std::string home(text_at(metadata, "namespace"));
  const std::string prefix(text_at(metadata, "generateName"));
  const bool generate = text_at(metadata, "name").empty() && !prefix.empty();
  if (text_at(metadata, "name").empty() && !generate) {
    Problems problems;
    problems.required("metadata.name", "name or generateName is required");
    return refuse(invalid(resource, "", problems.take()));
  }
  const auto new_name = [&] {
    constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
    std::string name = prefix.substr(0, 58);
    for (int i = 0; i < 5; ++i) name += kLetters[names_.below(kLetters.size())];
    return name;
  };
  if (generate) {
    metadata["name"] = new_name();
    for (int i = 0; i < kNameTries; ++i) {
      if (store_.get(kind, {home, std::string(text_at(metadata, "name"))}) == nullptr) break;
      metadata["name"] = new_name();
    }
  }
  metadata["uid"] = store_.new_uid();
  if (!accepts_status(kind)) object.erase("status");
  set_defaults(kind, object);
  set_first_values(kind, object, store_.now());
  STOWAGE_TRY_VOID(admit(kind, object));
  Problems problems;
  validate_metadata(kind, object, problems);
  validate_object(kind, object, problems);
  STOWAGE_TRY_VOID(refuse_invalid(kind, object, problems));
  const ObjectName name{home, std::string(text_at(object, "metadata.name"))};
  if (options.dry_run) {
    if (store_.get(kind, name) != nullptr) return refuse(already_exists(resource, name.name));
    make_object(object, "metadata")["creationTimestamp"] = time_text(store_.now());
    return store_.preview(kind, name, object);
  }
  return store_.create(kind, name, std::move(object));
}

ApiResult<ObjectPtr> Api::finish_update(Kind kind, const Current& current, json::object after,
                                        Part part, const WriteOptions& options) {
  const Resource& resource = resource_of(kind);
  const json::object& before = current.tree;
  keep_server_metadata(before, after);
  if (part == Part::status) keep_all_but_status(before, after);
  if (part == Part::main) {
    if (resource.has_subresource("status")) keep(before, after, "status");
    set_defaults(kind, after);
    Problems problems;
    validate_metadata(kind, after, problems);
    validate_object(kind, after, problems);
    validate_change(kind, before, after, problems);
    STOWAGE_TRY_VOID(refuse_invalid(kind, after, problems));
  }
  // A binding changes the spec of a pod but does not increase its generation.
  const bool counts = part == Part::main || (part == Part::whole && kind != Kind::pod);
  if (counts && resource.counts_generation) {
    const json::value* old_spec = before.if_contains("spec");
    const json::value* new_spec = after.if_contains("spec");
    if (old_spec != nullptr && new_spec != nullptr && *old_spec != *new_spec) {
      const std::int64_t generation = int_at(before, "metadata.generation").value_or(0) + 1;
      make_object(after, "metadata")["generation"] = generation;
    }
  }
  const ObjectName& name = current.object->name;
  if (options.dry_run) return store_.preview(kind, name, after);
  const bool done = current.object->deleting && !has_finalizers(after) && kind != Kind::ns &&
                    int_at(before, "metadata.deletionGracePeriodSeconds").value_or(0) == 0;
  auto written = store_.update(kind, name, after);
  if (!written || !done) return written;
  STOWAGE_TRY(removal, take_out(*written, {}));
  return removal.object;
}

ApiResult<ObjectPtr> Api::update(Kind kind, const ObjectName& name, Part part, const Edit& change,
                                 const WriteOptions& options) {
  const ObjectPtr object = store_.get(kind, name);
  if (object == nullptr) return refuse(not_found(resource_of(kind), name.name));
  Current current(object);
  json::object after(current.tree, current.memory());
  STOWAGE_TRY(wanted, change(after));
  if (!wanted) return object;
  return finish_update(kind, current, std::move(after), part, options);
}

ApiResult<ObjectPtr> Api::replace(Kind kind, const ObjectName& name, Part part, json::object object,
                                  const WriteOptions& options) {
  STOWAGE_TRY_VOID(check(kind, object, options));
  const Resource& resource = resource_of(kind);
  const std::string_view own = text_at(object, "metadata.name");
  if (!own.empty() && own != name.name) {
    return refuse(bad_request(fmt::format(
        "the name of the object ({}) does not match the name on the URL ({})", own, name.name)));
  }
  const std::string_view own_ns = text_at(object, "metadata.namespace");
  if (!own_ns.empty() && own_ns != name.ns) {
    return refuse(
        bad_request("the namespace of the provided object does not match the namespace "
                    "sent on the request"));
  }
  const ObjectPtr stored = store_.get(kind, name);
  if (stored == nullptr) return refuse(not_found(resource, name.name));
  const Preconditions preconditions{std::string(text_at(object, "metadata.uid")),
                                    std::string(text_at(object, "metadata.resourceVersion"))};
  if (preconditions.resource_version.empty() && kind == Kind::lease) {
    Problems problems;
    problems.invalid("metadata.resourceVersion", "0", "must be specified for an update");
    return refuse(invalid(resource, name.name, problems.take()));
  }
  STOWAGE_TRY_VOID(check_preconditions(preconditions, *stored));
  Current current(stored);
  return finish_update(kind, current, std::move(object), part, options);
}

ApiResult<json::object> Api::patched(Kind kind, const Current& current, PatchType type,
                                     const json::value& patch, const std::string& manager) const {
  if (type != PatchType::json && !patch.is_object()) {
    return refuse(bad_request("the patch is not a JSON object"));
  }
  if (type == PatchType::strategic || type == PatchType::apply) {
    json::object tree(current.tree, current.memory());
    const auto owned = applied_.find(current.object->uid);
    if (type == PatchType::apply && owned != applied_.end()) {
      if (const auto last = owned->second.find(manager); last != owned->second.end()) {
        const auto before = parse_json(last->second);
        STOWAGE_CHECK(before.has_value() && before->is_object());
        take_back(tree, before->get_object(), patch.get_object(), schema_.of(kind));
      }
    }
    STOWAGE_TRY_VOID(strategic_patch(tree, patch.get_object(), schema_.of(kind)));
    return tree;
  }
  json::value tree(json::object(current.tree, current.memory()));
  if (type == PatchType::merge) {
    merge_patch(tree, patch);
  } else if (auto done = json_patch(tree, patch); !done) {
    return refuse(std::move(done.error()));
  }
  if (!tree.is_object()) return refuse(bad_request("the result of the patch is not an object"));
  return std::move(tree.get_object());
}

ApiResult<ObjectPtr> Api::patch(Kind kind, const ObjectName& name, Part part, PatchType type,
                                const json::value& patch, const WriteOptions& options) {
  const Resource& resource = resource_of(kind);
  const ObjectPtr stored = store_.get(kind, name);
  if (stored == nullptr) {
    if (type != PatchType::apply || !patch.is_object() || part != Part::main) {
      return refuse(not_found(resource, name.name));
    }
    json::object object = patch.get_object();
    make_object(object, "metadata")["name"] = name.name;
    auto made = create(kind, name.ns, std::move(object), options);
    if (made && !options.dry_run) applied_[(*made)->uid][options.manager] = json::serialize(patch);
    return made;
  }
  Current current(stored);
  STOWAGE_TRY(after, patched(kind, current, type, patch, options.manager));
  STOWAGE_TRY_VOID(check(kind, after, options));
  if (text_at(after, "metadata.name") != name.name ||
      text_at(after, "metadata.namespace") != name.ns) {
    return refuse(bad_request("the patch would change the name or the namespace of the object"));
  }
  const Preconditions preconditions{std::string(text_at(after, "metadata.uid")),
                                    std::string(text_at(after, "metadata.resourceVersion"))};
  STOWAGE_TRY_VOID(check_preconditions(preconditions, *stored));
  auto written = finish_update(kind, current, std::move(after), part, options);
  if (written && type == PatchType::apply && !options.dry_run) {
    applied_[stored->uid][options.manager] = json::serialize(patch);
  }
  return written;
}

ApiResult<void> check_preconditions(const Preconditions& preconditions,
                                    const StoredObject& object) {
  const Resource& resource = resource_of(object.kind);
  const std::string& name = object.name.name;
  if (!preconditions.uid.empty() && preconditions.uid != object.uid) {
    return refuse(conflict(resource, name,
                           fmt::format("Precondition failed: UID in precondition: {}, UID in "
                                       "object meta: {}",
                                       preconditions.uid, object.uid)));
  }
  if (!preconditions.resource_version.empty() &&
      preconditions.resource_version != std::to_string(object.version)) {
    return refuse(version_conflict(resource, name));
  }
  return {};
}

}  // namespace stowage::local
