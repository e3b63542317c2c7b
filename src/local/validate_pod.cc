#include <algorithm>
#include <set>
#include <string>

#include <fmt/core.h>

#include "base/quantity.h"
#include "local/names.h"
#include "local/validate.h"

namespace stowage::local {
namespace {

using base::Quantity;

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

bool is_standard(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
         resource == "storage" || resource.starts_with("hugepages-");
}

// Resources that are counted in whole units and never overcommitted.
bool is_extended(std::string_view resource) {
  return resource.find('/') != std::string_view::npos && !resource.starts_with("kubernetes.io/");
}

void check_amounts(const json::object& amounts, const std::string& path, Problems& problems) {
  for (const auto& member : amounts) {
    const std::string name(member.key());
    const std::string at = fmt::format("{}[{}]", path, name);
    if (auto why = label_key_problem(name)) problems.invalid(at, quoted(name), *why);
    if (name.find('/') == std::string::npos && !is_standard(name)) {
      problems.invalid(at, quoted(name), "must be a standard resource type or fully qualified");
    }
    const auto amount = Quantity::parse(text_of(member.value()));
    if (!amount) continue;
    const std::string text = quoted(text_of(member.value()));
    if (amount->negative()) {
      problems.invalid(at, text, "must be greater than or equal to 0");
    } else if (is_extended(name) && !amount->whole()) {
      problems.invalid(at, text, "must be an integer");
    }
  }
}

void check_resources(const json::object& container, const std::string& path, Problems& problems) {
  const json::object none;
  const json::object* limits_found = object_at(container, "resources.limits");
  const json::object* requests_found = object_at(container, "resources.requests");
  const json::object& limits = limits_found == nullptr ? none : *limits_found;
  const json::object& requests = requests_found == nullptr ? none : *requests_found;
  check_amounts(limits, path + ".limits", problems);
  check_amounts(requests, path + ".requests", problems);
  for (const auto& member : requests) {
    const std::string_view name = member.key();
    const json::value* limit = limits.if_contains(name);
    if (limit == nullptr) {
      if (is_extended(name)) {
        problems.required(path + ".limits", "Limit must be set for non overcommitable resources");
      }
      continue;
    }
    const auto wanted = Quantity::parse(text_of(member.value()));
    const auto bound = Quantity::parse(text_of(*limit));
    if (!wanted || !bound) continue;
    const std::string text = quoted(text_of(member.value()));
    if (is_extended(name) && *wanted != *bound) {
      problems.invalid(path + ".requests", text,
                       fmt::format("must be equal to {} limit of {}", name, text_of(*limit)));
    } else if (*bound < *wanted) {
      problems.invalid(
          path + ".requests", text,
          fmt::format("must be less than or equal to {} limit of {}", name, text_of(*limit)));
    }
  }
}

void check_ports(const json::object& container, const std::string& path, Problems& problems) {
  const json::array* ports = array_at(container, "ports");
  if (ports == nullptr) return;
  for (std::size_t i = 0; i < ports->size(); ++i) {
    const json::object* port = (*ports)[i].if_object();
    if (port == nullptr) continue;
    const std::string at = fmt::format("{}.ports[{}]", path, i);
    const auto number = int_at(*port, "containerPort");
    if (!number) {
      problems.required(at + ".containerPort");
    } else if (*number < 1 || *number > 65535) {
      problems.invalid(at + ".containerPort", std::to_string(*number),
                       "must be between 1 and 65535, inclusive");
    }
    const std::int64_t host = int_at(*port, "hostPort").value_or(0);
    if (host < 0 || host > 65535) {
      problems.invalid(at + ".hostPort", std::to_string(host),
                       "must be between 1 and 65535, inclusive");
    }
    problems.one_of(at + ".protocol", text_at(*port, "protocol"), {"TCP", "UDP", "SCTP"});
  }
}

void check_containers(const json::object& spec, const std::string& list, const std::string& path,
                      std::set<std::string, std::less<>>& names, Problems& problems) {
  const json::array* containers = array_at(spec, list);
  if (containers == nullptr) return;
  for (std::size_t i = 0; i < containers->size(); ++i) {
    const json::object* container = (*containers)[i].if_object();
    if (container == nullptr) continue;
    const std::string at = fmt::format("{}.{}[{}]", path, list, i);
    const std::string_view name = text_at(*container, "name");
    if (name.empty()) {
      problems.required(at + ".name");
    } else if (auto why = dns_label_problem(name)) {
      problems.invalid(at + ".name", quoted(name), *why);
    } else if (!names.emplace(name).second) {
      problems.duplicate(at + ".name", name);
    }
    if (text_at(*container, "image").empty()) problems.required(at + ".image");
    problems.one_of(at + ".imagePullPolicy", text_at(*container, "imagePullPolicy"),
                    {"Always", "IfNotPresent", "Never"});
    check_resources(*container, at + ".resources", problems);
    check_ports(*container, at, problems);
  }
}

void check_tolerations(const json::object& spec, const std::string& path, Problems& problems) {
  const json::array* tolerations = array_at(spec, "tolerations");
  if (tolerations == nullptr) return;
  for (std::size_t i = 0; i < tolerations->size(); ++i) {
    const json::object* one = (*tolerations)[i].if_object();
    if (one == nullptr) continue;
    const std::string at = fmt::format("{}.tolerations[{}]", path, i);
    const std::string_view key = text_at(*one, "key");
    const std::string_view op = text_at(*one, "operator");
    if (!key.empty()) {
      if (auto why = label_key_problem(key)) problems.invalid(at + ".key", quoted(key), *why);
    } else if (op != "Exists") {
      problems.invalid(
          at + ".operator", quoted(op),
          "operator must be Exists when `key` is empty, which means \"match all values "
          "and all keys\"");
    }
    problems.one_of(at + ".operator", op, {"Equal", "Exists"});
    if (op == "Exists" && !text_at(*one, "value").empty()) {
      problems.invalid(at + ".operator", quoted(text_at(*one, "value")),
                       "value must be empty when `operator` is 'Exists'");
    }
    problems.one_of(at + ".effect", text_at(*one, "effect"),
                    {"NoSchedule", "PreferNoSchedule", "NoExecute"});
  }
}

void check_gates(const json::object& spec, const std::string& path, Problems& problems) {
  const json::array* gates = array_at(spec, "schedulingGates");
  if (gates == nullptr || gates->empty()) return;
  if (!text_at(spec, "nodeName").empty()) {
    problems.forbidden(path + ".nodeName",
                       "cannot be set until all schedulingGates have been cleared");
  }
  std::set<std::string, std::less<>> seen;
  for (std::size_t i = 0; i < gates->size(); ++i) {
    const json::object* gate = (*gates)[i].if_object();
    const std::string_view name = gate == nullptr ? std::string_view{} : text_at(*gate, "name");
    const std::string at = fmt::format("{}.schedulingGates[{}]", path, i);
    if (auto why = label_key_problem(name)) {
      problems.invalid(at, quoted(name), *why);
    } else if (!seen.emplace(name).second) {
      problems.duplicate(at, name);
    }
  }
}

// Removes the fields that may change, so that the rest can be compared.
json::object fixed_part(const json::object& spec, bool gated) {
  json::object fixed = spec;
  for (const std::string_view list : {"containers", "initContainers"}) {
    each_object(fixed, list, [](json::object& container) {
      container.erase("image");
      container.erase("imagePullPolicy");
    });
  }
  for (const std::string_view key : {"activeDeadlineSeconds", "tolerations", "schedulingGates",
                                     "terminationGracePeriodSeconds"}) {
    fixed.erase(key);
  }
  if (gated) {
    fixed.erase("nodeSelector");
    fixed.erase("affinity");
  }
  return fixed;
}

// True if every element of `part` is in `whole`.
bool contained(const json::array* part, const json::array* whole) {
  if (part == nullptr || part->empty()) return true;
  if (whole == nullptr) return false;
  return std::all_of(part->begin(), part->end(), [&](const json::value& one) {
    return std::find(whole->begin(), whole->end(), one) != whole->end();
  });
}

}  // namespace

void validate_pod_spec(const json::object& spec, std::string_view where, Problems& problems) {
  const std::string path(where);
  const json::array* containers = array_at(spec, "containers");
  if (containers == nullptr || containers->empty()) problems.required(path + ".containers");
  std::set<std::string, std::less<>> names;
  check_containers(spec, "initContainers", path, names, problems);
  check_containers(spec, "containers", path, names, problems);
  problems.one_of(path + ".restartPolicy", text_at(spec, "restartPolicy"),
                  {"Always", "OnFailure", "Never"});
  problems.one_of(path + ".preemptionPolicy", text_at(spec, "preemptionPolicy"),
                  {"PreemptLowerPriority", "Never"});
  if (int_at(spec, "terminationGracePeriodSeconds").value_or(0) < 0) {
    problems.invalid(path + ".terminationGracePeriodSeconds",
                     std::to_string(*int_at(spec, "terminationGracePeriodSeconds")),
                     "must be greater than or equal to 0");
  }
  validate_labels(object_at(spec, "nodeSelector"), path + ".nodeSelector", problems);
  if (const std::string_view node = text_at(spec, "nodeName"); !node.empty()) {
    if (auto why = dns_subdomain_problem(node)) {
      problems.invalid(path + ".nodeName", quoted(node), *why);
    }
  }
  check_tolerations(spec, path, problems);
  check_gates(spec, path, problems);
}

void validate_pod_change(const json::object& before, const json::object& after,
                         Problems& problems) {
  const json::object* old_spec = object_at(before, "spec");
  const json::object* new_spec = object_at(after, "spec");
  if (old_spec == nullptr || new_spec == nullptr || *old_spec == *new_spec) return;
  const json::array* old_gates = array_at(*old_spec, "schedulingGates");
  const bool gated = old_gates != nullptr && !old_gates->empty();
  if (!contained(array_at(*new_spec, "schedulingGates"), old_gates)) {
    problems.forbidden("spec.schedulingGates",
                       "only deletion is allowed, but found new scheduling gates");
  }
  const bool kept =
      contained(array_at(*old_spec, "tolerations"), array_at(*new_spec, "tolerations"));
  if (!kept || fixed_part(*old_spec, gated) != fixed_part(*new_spec, gated)) {
    problems.forbidden(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
        "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
        "set to 1 if it was previously negative)");
  }
}

}  // namespace stowage::local
