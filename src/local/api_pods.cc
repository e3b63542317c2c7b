#include <limits>

#include <fmt/core.h>

#include "local/api.h"
#include "local/defaults.h"
#include "local/problems.h"

namespace stowage::local {
namespace {

ApiError bind_conflict(const ObjectName& pod, std::string why) {
  ApiError error;
  error.code = 409;
  error.reason = "Conflict";
  error.kind = "pods/binding";
  error.name = pod.name;
  error.message = fmt::format("Operation cannot be fulfilled on pods/binding \"{}\": {}", pod.name,
                              std::move(why));
  return error;
}

ApiError too_many(std::string message, std::string_view budget) {
  ApiError error = api_error(429, "TooManyRequests",
                             "Cannot evict pod as it would violate the pod's disruption budget.");
  error.causes.push_back({"DisruptionBudget", std::move(message), std::string(budget)});
  return error;
}

struct PriorityClass {
  std::string name;
  std::int64_t value = 0;
  std::string preemption;
};

PriorityClass read_class(const ObjectPtr& object) {
  const json::object tree = object->tree();
  return {object->name.name, int_at(tree, "value").value_or(0),
          std::string(text_at(tree, "preemptionPolicy"))};
}

// The default priority class; if there are several, the lowest.
std::optional<PriorityClass> default_class(const Store& store) {
  std::optional<PriorityClass> best;
  store.visit(Kind::priority_class, "", [&](const ObjectPtr& object) {
    if (object->bytes.find("\"globalDefault\":true") == std::string::npos) return;
    PriorityClass one = read_class(object);
    if (!best || one.value < best->value) best = std::move(one);
  });
  return best;
}

ApiResult<void> set_priority(const Store& store, json::object& pod) {
  const std::string pod_name(text_at(pod, "metadata.name"));
  json::object& spec = make_object(pod, "spec");
  const std::string wanted(text_at(spec, "priorityClassName"));
  PriorityClass chosen{"", 0, "PreemptLowerPriority"};
  if (!wanted.empty()) {
    const ObjectPtr found = store.get(Kind::priority_class, {"", wanted});
    if (found == nullptr) {
      return refuse(forbidden(resource_of(Kind::pod), pod_name,
                              fmt::format("no PriorityClass with name {} was found", wanted)));
    }
    chosen = read_class(found);
  } else if (auto fallback = default_class(store)) {
    chosen = std::move(*fallback);
  }
  const auto given = int_at(spec, "priority");
  if (given && *given != chosen.value) {
    return refuse(forbidden(resource_of(Kind::pod), pod_name,
                            fmt::format("the integer value of priority ({}) must not be provided "
                                        "in pod spec; priority admission controller computed {} "
                                        "from the given PriorityClass name",
                                        *given, chosen.value)));
  }
  spec["priority"] = chosen.value;
  if (!chosen.name.empty()) spec["priorityClassName"] = chosen.name;
  set_default(spec, "preemptionPolicy", json::value(chosen.preemption));
  return {};
}

}  // namespace

ApiResult<void> Api::admit(Kind kind, json::object& object) {
  if (kind == Kind::pod) return set_priority(store_, object);
  if (kind == Kind::service) {
    json::object& spec = make_object(object, "spec");
    if (text_at(spec, "type") == "ExternalName" || text_at(spec, "clusterIP") == "None") return {};
    if (text_at(spec, "clusterIP").empty()) {
      const std::uint32_t n = next_address_++;
      spec["clusterIP"] =
          fmt::format("10.{}.{}.{}", 96 + ((n >> 16U) & 15U), (n >> 8U) & 255U, n & 255U);
    }
    spec["clusterIPs"] = json::array{json::value(spec.at("clusterIP"))};
  }
  return {};
}

ApiResult<ObjectPtr> Api::bind(const BindRequest& request, const WriteOptions& options) {
  const ObjectPtr pod = store_.get(Kind::pod, request.pod);
  if (pod == nullptr) return refuse(not_found(resource_of(Kind::pod), request.pod.name));
  if (request.node.empty()) {
    Problems problems;
    problems.required("target.name");
    ApiError error = invalid(resource_of(Kind::pod), request.pod.name, problems.take());
    error.kind = "Binding";
    return refuse(std::move(error));
  }
  if (auto met = check_preconditions(request.preconditions, *pod); !met) {
    ApiError error = std::move(met.error());
    error.kind = "pods/binding";
    return refuse(std::move(error));
  }
  const std::string& name = request.pod.name;
  if (pod->deleting) {
    return refuse(bind_conflict(
        request.pod, fmt::format("pod {} is being deleted, cannot be assigned to a host", name)));
  }
  if (!pod->field("spec.nodeName").empty()) {
    return refuse(
        bind_conflict(request.pod, fmt::format("pod {} is already assigned to node \"{}\"", name,
                                               pod->field("spec.nodeName"))));
  }
  return update(
      Kind::pod, request.pod, Part::whole,
      [&](json::object& tree) -> ApiResult<bool> {
        const json::array* gates = array_at(tree, "spec.schedulingGates");
        if (gates != nullptr && !gates->empty()) {
          return refuse(bind_conflict(
              request.pod, fmt::format("pod {} has non-empty .spec.schedulingGates", name)));
        }
        make_object(tree, "spec")["nodeName"] = request.node;
        if (!request.annotations.empty()) {
          json::object& annotations = make_object(make_object(tree, "metadata"), "annotations");
          for (const auto& [key, value] : request.annotations) annotations[key] = value;
        }
        json::object& status = make_object(tree, "status");
        status.erase("nominatedNodeName");
        set_condition(status, {"PodScheduled", "True", "", ""}, store_.now());
        return true;
      },
      options);
}

ApiResult<void> Api::check_budgets(const ObjectPtr& pod, bool dry_run) {
  std::vector<ObjectPtr> budgets;
  store_.visit(Kind::pod_disruption_budget, pod->name.ns, [&](const ObjectPtr& budget) {
    const json::object tree = budget->tree();
    const json::object* selector = object_at(tree, "spec.selector");
    if (selector == nullptr) return;
    const auto wanted = selector_of(*selector);
    if (wanted && wanted->matches(pod->labels)) budgets.push_back(budget);
  });
  if (budgets.empty()) return {};
  if (budgets.size() > 1) {
    ApiError error;
    error.message =
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
        "support.";
    return refuse(std::move(error));
  }
  const ObjectPtr& budget = budgets.front();
  const json::object tree = budget->tree();
  if (int_at(tree, "status.observedGeneration").value_or(0) <
      int_at(tree, "metadata.generation").value_or(0)) {
    return refuse(too_many(fmt::format("The disruption budget {} is still being processed by the "
                                       "server.",
                                       budget->name.name),
                           budget->name.name));
  }
  const std::int64_t allowed = int_at(tree, "status.disruptionsAllowed").value_or(0);
  if (allowed <= 0) {
    return refuse(
        too_many(fmt::format("The disruption budget {} needs {} healthy pods and has {} currently",
                             budget->name.name, int_at(tree, "status.desiredHealthy").value_or(0),
                             int_at(tree, "status.currentHealthy").value_or(0)),
                 budget->name.name));
  }
  if (dry_run) return {};
  const auto written = update(Kind::pod_disruption_budget, budget->name, Part::status,
                              [&](json::object& changed) -> ApiResult<bool> {
                                json::object& status = make_object(changed, "status");
                                status["disruptionsAllowed"] = allowed - 1;
                                make_object(status, "disruptedPods")[pod->name.name] =
                                    time_text(store_.now());
                                return true;
                              });
  if (!written) return refuse(written.error());
  return {};
}

ApiResult<Api::Removal> Api::evict(const ObjectName& name, const DeleteOptions& options) {
  const ObjectPtr pod = store_.get(Kind::pod, name);
  if (pod == nullptr) return refuse(not_found(resource_of(Kind::pod), name.name));
  const std::string_view phase = pod->field("status.phase");
  const bool counted = phase != "Succeeded" && phase != "Failed" && phase != "Pending";
  if (counted && !pod->deleting) {
    STOWAGE_TRY_VOID(check_budgets(pod, options.dry_run));
  }
  if (!options.dry_run && !pod->deleting) {
    const auto told =
        update(Kind::pod, name, Part::status, [&](json::object& tree) -> ApiResult<bool> {
          set_condition(
              make_object(tree, "status"),
              {"DisruptionTarget", "True", "EvictionByEvictionAPI", "Eviction API: evicting"},
              store_.now());
          return true;
        });
    if (!told) return refuse(told.error());
  }
  return remove(Kind::pod, name, options);
}

ApiResult<std::int64_t> Api::scale(Kind kind, const ObjectName& name) const {
  const ObjectPtr object = store_.get(kind, name);
  if (object == nullptr) return refuse(not_found(resource_of(kind), name.name));
  return int_at(object->tree(), "spec.replicas").value_or(1);
}

ApiResult<ObjectPtr> Api::set_scale(Kind kind, const ObjectName& name, std::int64_t replicas,
                                    const Preconditions& preconditions,
                                    const WriteOptions& options) {
  const ObjectPtr object = store_.get(kind, name);
  if (object == nullptr) return refuse(not_found(resource_of(kind), name.name));
  STOWAGE_TRY_VOID(check_preconditions(preconditions, *object));
  if (replicas < 0 || replicas > std::numeric_limits<std::int32_t>::max()) {
    Problems problems;
    problems.invalid("spec.replicas", std::to_string(replicas),
                     "must be between 0 and 2147483647, inclusive");
    return refuse(invalid(resource_of(kind), name.name, problems.take()));
  }
  return update(
      kind, name, Part::main,
      [&](json::object& tree) -> ApiResult<bool> {
        make_object(tree, "spec")["replicas"] = replicas;
        return true;
      },
      options);
}

}  // namespace stowage::local
