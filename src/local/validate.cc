#include "local/validate.h"

#include <string>

#include <fmt/core.h>

#include "base/text.h"
#include "local/names.h"

namespace stowage::local {
namespace {

constexpr std::size_t kAnnotationBytesMax = std::size_t{256} * 1024;

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

std::optional<std::string> name_problem(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::ns:
    case Kind::service: return dns_label_problem(name);
    case Kind::role:
    case Kind::role_binding:
    case Kind::cluster_role:
    case Kind::cluster_role_binding: return path_segment_problem(name);
    default: return dns_subdomain_problem(name);
  }
}

void check_annotations(const json::object& object, Problems& problems) {
  const json::object* annotations = object_at(object, "metadata.annotations");
  if (annotations == nullptr) return;
  std::size_t bytes = 0;
  for (const auto& member : *annotations) {
    bytes += member.key().size() + text_of(member.value()).size();
    // Upper case is accepted in the prefix of annotations.
    if (auto why = label_key_problem(base::ascii_lower(member.key()))) {
      problems.invalid("metadata.annotations", quoted(member.key()), *why);
    }
  }
  if (bytes > kAnnotationBytesMax) {
    problems.invalid("metadata.annotations", std::to_string(bytes),
                     "may not be more than 262144 bytes");
  }
}

void check_owners(const json::object& object, Problems& problems) {
  const json::array* owners = array_at(object, "metadata.ownerReferences");
  if (owners == nullptr) return;
  int controllers = 0;
  for (std::size_t i = 0; i < owners->size(); ++i) {
    const json::object* owner = (*owners)[i].if_object();
    if (owner == nullptr) continue;
    for (const std::string_view key : {"apiVersion", "kind", "name", "uid"}) {
      if (text_at(*owner, key).empty()) {
        problems.invalid(fmt::format("metadata.ownerReferences[{}].{}", i, key), "\"\"",
                         fmt::format("{} must not be empty", key));
      }
    }
    if (true_at(*owner, "controller")) ++controllers;
  }
  if (controllers > 1) {
    problems.invalid("metadata.ownerReferences", std::to_string(controllers),
                     "Only one reference can have Controller set to true");
  }
}

// "25%" or a whole number, not negative.
void check_int_or_percent(const json::object& spec, std::string_view key, Problems& problems) {
  const json::value* value = spec.if_contains(key);
  if (value == nullptr) return;
  const std::string path = fmt::format("spec.{}", key);
  if (value->is_string()) {
    const std::string_view text = text_of(*value);
    const std::string_view digits = text.substr(0, text.empty() ? 0 : text.size() - 1);
    if (!text.ends_with('%') || digits.empty() ||
        digits.find_first_not_of("0123456789") != std::string_view::npos) {
      problems.invalid(path, quoted(text),
                       "a valid percent string must be a numeric string followed by an ending '%' "
                       "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')");
    }
  } else if (int_at(spec, key).value_or(0) < 0) {
    problems.invalid(path, std::to_string(*int_at(spec, key)),
                     "must be greater than or equal to 0");
  }
}

void check_not_negative(const json::object& spec, std::string_view key, Problems& problems) {
  const auto value = int_at(spec, key);
  if (value && *value < 0) {
    problems.invalid(fmt::format("spec.{}", key), std::to_string(*value),
                     "must be greater than or equal to 0");
  }
}

void check_selector(const json::object& spec, Problems& problems) {
  const json::object* selector = object_at(spec, "selector");
  const json::object* wanted = selector == nullptr ? nullptr : object_at(*selector, "matchLabels");
  const json::array* rules =
      selector == nullptr ? nullptr : array_at(*selector, "matchExpressions");
  const bool empty = (wanted == nullptr || wanted->empty()) && (rules == nullptr || rules->empty());
  if (selector == nullptr) problems.required("spec.selector");
  if (empty) {
    problems.invalid("spec.selector", "{}", "empty selector is invalid for deployment");
    return;
  }
  if (wanted == nullptr) return;
  const json::object* labels = object_at(spec, "template.metadata.labels");
  for (const auto& member : *wanted) {
    const json::value* own = labels == nullptr ? nullptr : labels->if_contains(member.key());
    if (own != nullptr && *own == member.value()) continue;
    problems.invalid("spec.template.metadata.labels",
                     labels == nullptr ? "null" : json::serialize(*labels),
                     "`selector` does not match template `labels`");
    return;
  }
}

void validate_workload(const json::object& object, Problems& problems) {
  const json::object none;
  const json::object* found = object_at(object, "spec");
  const json::object& spec = found == nullptr ? none : *found;
  check_not_negative(spec, "replicas", problems);
  check_selector(spec, problems);
  validate_labels(object_at(spec, "template.metadata.labels"), "spec.template.metadata.labels",
                  problems);
  const json::object* pod = object_at(spec, "template.spec");
  validate_pod_spec(pod == nullptr ? none : *pod, "spec.template.spec", problems);
  const std::string_view policy = text_at(spec, "template.spec.restartPolicy");
  if (policy != "Always" && (policy == "OnFailure" || policy == "Never")) {
    problems.unsupported("spec.template.spec.restartPolicy", policy, {"Always"});
  }
}

void validate_job(const json::object& object, Problems& problems) {
  const json::object none;
  const json::object* found = object_at(object, "spec");
  const json::object& spec = found == nullptr ? none : *found;
  for (const std::string_view key : {"parallelism", "completions", "backoffLimit"}) {
    check_not_negative(spec, key, problems);
  }
  const json::object* pod = object_at(spec, "template.spec");
  validate_pod_spec(pod == nullptr ? none : *pod, "spec.template.spec", problems);
  const std::string_view policy = text_at(spec, "template.spec.restartPolicy");
  if (policy == "Always") {
    problems.required("spec.template.spec.restartPolicy", "valid values: \"OnFailure\", \"Never\"");
  }
  problems.one_of("spec.completionMode", text_at(spec, "completionMode"),
                  {"NonIndexed", "Indexed"});
}

void validate_node(const json::object& node, Problems& problems) {
  const json::array* taints = array_at(node, "spec.taints");
  if (taints == nullptr) return;
  for (std::size_t i = 0; i < taints->size(); ++i) {
    const json::object* taint = (*taints)[i].if_object();
    if (taint == nullptr) continue;
    const std::string at = fmt::format("metadata.taints[{}]", i);
    const std::string_view key = text_at(*taint, "key");
    if (auto why = label_key_problem(key)) problems.invalid(at + ".key", quoted(key), *why);
    const std::string_view effect = text_at(*taint, "effect");
    if (effect.empty()) problems.required(at + ".effect");
    problems.one_of(at + ".effect", effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    if (auto why = label_value_problem(text_at(*taint, "value"))) {
      problems.invalid(at + ".value", quoted(text_at(*taint, "value")), *why);
    }
  }
}

void validate_claim(const json::object& claim, Problems& problems) {
  const json::array* modes = array_at(claim, "spec.accessModes");
  if (modes == nullptr || modes->empty()) {
    problems.required("spec.accessModes", "at least 1 access mode is required");
  }
  if (text_at(claim, "spec.resources.requests.storage").empty()) {
    problems.required("spec.resources[storage]");
  }
}

void validate_budget(const json::object& budget, Problems& problems) {
  const json::object none;
  const json::object* found = object_at(budget, "spec");
  const json::object& spec = found == nullptr ? none : *found;
  if (spec.contains("minAvailable") && spec.contains("maxUnavailable")) {
    problems.invalid("spec", json::serialize(spec),
                     "minAvailable and maxUnavailable cannot be both set");
  }
  check_int_or_percent(spec, "minAvailable", problems);
  check_int_or_percent(spec, "maxUnavailable", problems);
}

void immutable(const json::object& before, const json::object& after, std::string_view path,
               Problems& problems) {
  const json::value* old_value = find_at(before, path);
  const json::value* new_value = find_at(after, path);
  const json::value null;
  if ((old_value == nullptr ? null : *old_value) == (new_value == nullptr ? null : *new_value)) {
    return;
  }
  problems.invalid(std::string(path), new_value == nullptr ? "null" : json::serialize(*new_value),
                   "field is immutable");
}

}  // namespace

void validate_labels(const json::object* labels, std::string_view path, Problems& problems) {
  if (labels == nullptr) return;
  for (const auto& member : *labels) {
    const std::string_view value = text_of(member.value());
    if (auto why = label_key_problem(member.key())) {
      problems.invalid(std::string(path), quoted(member.key()), *why);
    }
    if (auto why = label_value_problem(value)) {
      problems.invalid(std::string(path), quoted(value), *why);
    }
  }
}

void validate_metadata(Kind kind, const json::object& object, Problems& problems) {
  const std::string_view name = text_at(object, "metadata.name");
  if (auto why = name_problem(kind, name)) problems.invalid("metadata.name", quoted(name), *why);
  validate_labels(object_at(object, "metadata.labels"), "metadata.labels", problems);
  check_annotations(object, problems);
  check_owners(object, problems);
}

void validate_object(Kind kind, const json::object& object, Problems& problems) {
  switch (kind) {
    case Kind::pod: {
      const json::object none;
      const json::object* spec = object_at(object, "spec");
      return validate_pod_spec(spec == nullptr ? none : *spec, "spec", problems);
    }
    case Kind::deployment:
    case Kind::replica_set:
    case Kind::stateful_set:
    case Kind::daemon_set: return validate_workload(object, problems);
    case Kind::job: return validate_job(object, problems);
    case Kind::node: return validate_node(object, problems);
    case Kind::persistent_volume_claim: return validate_claim(object, problems);
    case Kind::pod_disruption_budget: return validate_budget(object, problems);
    case Kind::priority_class:
      problems.one_of("preemptionPolicy", text_at(object, "preemptionPolicy"),
                      {"PreemptLowerPriority", "Never"});
      if (int_at(object, "value").value_or(0) > 1'000'000'000 &&
          !text_at(object, "metadata.name").starts_with("system-")) {
        problems.forbidden("value",
                           "maximum allowed value of a user defined priority is 1000000000");
      }
      return;
    case Kind::storage_class:
      if (text_at(object, "provisioner").empty()) problems.required("provisioner");
      return;
    case Kind::csi_storage_capacity:
      if (text_at(object, "storageClassName").empty()) problems.required("storageClassName");
      return;
    case Kind::volume_attachment:
      if (text_at(object, "spec.attacher").empty()) problems.required("spec.attacher");
      if (text_at(object, "spec.nodeName").empty()) problems.required("spec.nodeName");
      return;
    case Kind::lease:
      if (int_at(object, "spec.leaseDurationSeconds").value_or(1) <= 0) {
        problems.invalid("spec.leaseDurationSeconds",
                         std::to_string(*int_at(object, "spec.leaseDurationSeconds")),
                         "must be greater than 0");
      }
      return;
    default: return;
  }
}

void validate_change(Kind kind, const json::object& before, const json::object& after,
                     Problems& problems) {
  switch (kind) {
    case Kind::pod: return validate_pod_change(before, after, problems);
    case Kind::deployment:
    case Kind::replica_set:
    case Kind::daemon_set:
    case Kind::stateful_set: return immutable(before, after, "spec.selector", problems);
    case Kind::job:
      immutable(before, after, "spec.selector", problems);
      immutable(before, after, "spec.template", problems);
      return immutable(before, after, "spec.completions", problems);
    case Kind::priority_class: return immutable(before, after, "value", problems);
    case Kind::config_map:
    case Kind::secret:
      if (!true_at(before, "immutable")) return;
      return immutable(before, after, "data", problems);
    default: return;
  }
}

}  // namespace stowage::local
