// Decoder::pod, and pods inside other texts.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "codec/fields.h"
#include "codec/kubernetes.h"
#include "codec/pod_constraints.h"

namespace stowage::codec {
namespace {

using dialect::ContainerObject;
using dialect::PodObject;

// The parts of a pod before it is complete.
struct Parts {
  PodObject pod;
  std::vector<ContainerObject> init;
  std::vector<ContainerObject> app;
  ConstraintParts constraints;
  std::vector<std::vector<core::HostPort>> init_ports;  // by container
  std::vector<std::vector<core::HostPort>> app_ports;
  std::map<std::string, dialect::Quantities> given;  // by container name
  bool infeasible = false;                           // the requested resize is infeasible
};

void add_once(std::vector<std::string>& list, std::string words) {
  if (std::find(list.begin(), list.end(), words) == list.end()) list.push_back(std::move(words));
}

Status read_resources(JsonValue& value, ContainerObject& container, PodObject& pod) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "requests") return read_quantities(field, container.requests);
    if (key == "limits") return read_quantities(field, container.limits);
    if (key == "claims") add_once(pod.unsupported, "resource claims");
    return {};
  });
}

Status read_containers(JsonValue& value, bool init, Parts& parts) {
  auto& containers = init ? parts.init : parts.app;
  auto& ports = init ? parts.init_ports : parts.app_ports;
  containers.clear();
  ports.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    ContainerObject& container = containers.emplace_back();
    auto& own_ports = ports.emplace_back();
    container.init = init;
    return each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      if (key == "name") return read(field, container.name);
      if (key == "resources") return read_resources(field, container, parts.pod);
      if (key == "ports") {
        own_ports.clear();
        return read_host_ports(field, own_ports);
      }
      if (key == "restartPolicy" && init) {
        STOWAGE_TRY(policy, field.text());
        container.sidecar = policy == "Always";
      }
      return {};
    });
  });
}

// Pod-level requests.
Status read_pod_resources(JsonValue& value, PodObject& pod) {
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    return key == "requests" ? read_quantities(field, pod.pod_requests) : Status();
  });
}

Status read_gates(JsonValue& value, PodObject& pod) {
  pod.gates.clear();
  constexpr std::size_t kMaxGates = 64;
  return each_element(value, [&](JsonValue& element) -> Status {
    if (pod.gates.size() == kMaxGates) return {};
    std::string& gate = pod.gates.emplace_back();
    return each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      return key == "name" ? read(field, gate) : Status();
    });
  });
}

// Hard rules that are unsupported whenever they are present.
Status refuse_if_any(JsonValue& value, const char* words, PodObject& pod) {
  switch (value.kind()) {
    case JsonValue::Kind::object: {
      STOWAGE_TRY(fields, value.fields());
      STOWAGE_TRY(any, fields.next());
      if (any) add_once(pod.unsupported, words);
      return {};
    }
    case JsonValue::Kind::array: {
      STOWAGE_TRY(elements, value.elements());
      STOWAGE_TRY(any, elements.next());
      if (any) add_once(pod.unsupported, words);
      return {};
    }
    default: add_once(pod.unsupported, words); return {};
  }
}

Status read_spec_field(std::string_view key, JsonValue& field, Parts& parts) {
  PodObject& pod = parts.pod;
  if (key == "containers") return read_containers(field, false, parts);
  if (key == "initContainers") return read_containers(field, true, parts);
  if (key == "schedulerName") return read(field, pod.scheduler);
  if (key == "nodeName") return read(field, pod.node);
  if (key == "priority") {
    pod.has_priority = true;
    return read(field, pod.priority);
  }
  if (key == "preemptionPolicy") {
    STOWAGE_TRY(policy, field.text());
    pod.never_preempts = policy == "Never";
    return {};
  }
  if (key == "nodeSelector") return read_texts(field, pod.rules.selector);
  if (key == "tolerations") return read_tolerations(field, pod.rules, pod.unsupported);
  if (key == "affinity") return read_affinity(field, pod.rules, parts.constraints, pod.unsupported);
  if (key == "overhead") return read_quantities(field, pod.overhead);
  if (key == "schedulingGates") return read_gates(field, pod);
  if (key == "volumes") return read_volumes(field, parts.constraints);
  if (key == "topologySpreadConstraints")
    return read_spread(field, parts.constraints, pod.unsupported);
  if (key == "resources") return read_pod_resources(field, pod);
  if (key == "resourceClaims") return refuse_if_any(field, "resource claims", pod);
  if (key == "schedulingGroup") return refuse_if_any(field, "a scheduling group", pod);
  if (key == "workloadRef") return refuse_if_any(field, "a workload reference", pod);
  return {};
}

Status read_conditions(JsonValue& value, Parts& parts) {
  PodObject& pod = parts.pod;
  parts.infeasible = false;
  pod.unscheduled_reason.clear();
  pod.unscheduled_message.clear();
  pod.unscheduled_since.clear();
  pod.scheduled_since.clear();
  return each_element(value, [&](JsonValue& element) -> Status {
    std::string_view type;
    std::string_view status;
    std::string_view reason;
    std::string_view message;
    std::string_view since;
    STOWAGE_TRY_VOID(each_field(element, [&](std::string_view key, JsonValue& field) -> Status {
      std::string_view* out = key == "type"                 ? &type
                              : key == "status"             ? &status
                              : key == "reason"             ? &reason
                              : key == "message"            ? &message
                              : key == "lastTransitionTime" ? &since
                                                            : nullptr;
      if (out == nullptr) return {};
      STOWAGE_TRY_ASSIGN(*out, field.text());
      return {};
    }));
    if (type == "PodResizePending") parts.infeasible = reason == "Infeasible";
    if (type == "PodScheduled" && status == "False") {
      pod.unscheduled_reason.assign(reason);
      pod.unscheduled_message.assign(message);
      pod.unscheduled_since.assign(since);
    }
    if (type == "PodScheduled" && status == "True") pod.scheduled_since.assign(since);
    return {};
  });
}

// The kubelet's allocation of a container: the larger of its two fields. The newer field
// (resources) shows whether the kubelet reports an allocation at all.
Status read_given(JsonValue& value, Parts& parts) {
  std::string name;
  dialect::Quantities allocated;
  dialect::Quantities current;
  bool said = false;
  STOWAGE_TRY_VOID(each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "name") return read(field, name);
    if (key == "allocatedResources") return read_quantities(field, allocated);
    if (key != "resources") return {};
    said = true;
    return each_field(field, [&](std::string_view kind, JsonValue& amounts) -> Status {
      return kind == "requests" ? read_quantities(amounts, current) : Status();
    });
  }));
  if (!said) return {};
  for (const auto& [resource, quantity] : current) {
    auto& amount = allocated[resource];
    amount = std::max(amount, quantity);
  }
  parts.given[name] = std::move(allocated);
  return {};
}

// A pod without a node has no allocation yet, and plain init containers are never resized.
void put_given(Parts& parts) {
  if (parts.pod.node.empty()) return;
  for (ContainerObject& container : parts.pod.containers) {
    const auto given = parts.given.find(container.name);
    if (given == parts.given.end() || (container.init && !container.sidecar)) continue;
    container.given = std::move(given->second);
    container.only_given = parts.infeasible;
  }
}

void put_ports(Parts& parts) {
  auto& ports = parts.pod.constraints.ports;
  const auto put = [&](std::vector<core::HostPort>& from) {
    std::move(from.begin(), from.end(), std::back_inserter(ports));
  };
  for (std::size_t i = 0; i < parts.init.size(); ++i) {
    if (parts.init[i].sidecar) put(parts.init_ports[i]);  // others end before the app starts
  }
  for (auto& from : parts.app_ports) put(from);
}

Status read_status(JsonValue& value, Parts& parts) {
  PodObject& pod = parts.pod;
  return each_field(value, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "phase") return read(field, pod.phase);
    if (key == "startTime") return read(field, pod.started);
    if (key == "nominatedNodeName") return read(field, pod.nominated);
    if (key == "conditions") return read_conditions(field, parts);
    if (key == "containerStatuses" || key == "initContainerStatuses") {
      return each_element(field,
                          [&](JsonValue& element) -> Status { return read_given(element, parts); });
    }
    return {};
  });
}

void take(Metadata& meta, Parts& parts) {
  PodObject& pod = parts.pod;
  pod.ns = std::move(meta.ns);
  pod.name = std::move(meta.name);
  pod.uid = std::move(meta.uid);
  pod.resource_version = std::move(meta.resource_version);
  pod.annotations = std::move(meta.annotations);
  pod.deleting = meta.deleting;
  pod.created = std::move(meta.created);
  pod.owner_kinds = std::move(meta.owner_kinds);
  pod.constraints =
      settle(std::move(parts.constraints), std::move(meta.labels), {pod.ns, pod.name});
}

}  // namespace

Result<PodObject> read_pod(JsonFields& fields) {
  Parts parts;
  Metadata meta;
  STOWAGE_TRY_VOID(each_field(fields, [&](std::string_view key, JsonValue& field) -> Status {
    if (key == "metadata") return read_metadata(field, meta);
    if (key == "spec") {
      return each_field(field, [&](std::string_view name, JsonValue& value) -> Status {
        return read_spec_field(name, value, parts);
      });
    }
    if (key == "status") return read_status(field, parts);
    return {};
  }));
  take(meta, parts);
  put_ports(parts);
  parts.pod.containers = std::move(parts.init);
  std::move(parts.app.begin(), parts.app.end(), std::back_inserter(parts.pod.containers));
  put_given(parts);
  PodObject& pod = parts.pod;
  const auto few =
      core::within_limits(fmt::format("{}/{}", pod.ns, pod.name), pod.rules, pod.constraints);
  if (!few) {  // objects are stored in several places, so they must be small
    pod.over_limit = few.error().message;
    core::cut_rules(pod.rules, pod.constraints);
  }
  return std::move(parts.pod);
}

Result<PodObject> Decoder::pod(std::string_view json) {
  STOWAGE_TRY(fields, text_.open(json, kMaxObjectBytes));
  STOWAGE_TRY(pod, read_pod(fields));
  STOWAGE_TRY_VOID(text_.close());
  return pod;
}

}  // namespace stowage::codec
