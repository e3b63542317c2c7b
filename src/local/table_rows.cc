#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "local/selectors.h"
#include "local/table.h"

namespace stowage::local {
namespace {

std::string or_none(std::string_view text, std::string_view none = "<none>") {
  return std::string(text.empty() ? none : text);
}

bool is_true(const json::object& object, std::string_view type) {
  const json::object* condition = find_condition(object, type);
  return condition != nullptr && text_at(*condition, "status") == "True";
}

// READY, STATUS and RESTARTS of a pod.
struct PodState {
  std::size_t ready = 0;
  std::size_t total = 0;
  std::int64_t restarts = 0;
  std::string reason;
};

std::string exit_text(const json::object& ended) {
  const std::string_view reason = text_at(ended, "reason");
  if (!reason.empty()) return std::string(reason);
  const std::int64_t signal = int_at(ended, "signal").value_or(0);
  if (signal != 0) return fmt::format("Signal:{}", signal);
  return fmt::format("ExitCode:{}", int_at(ended, "exitCode").value_or(0));
}

bool is_sidecar(const json::object& pod, std::string_view container) {
  for (const json::object* one : objects_at(pod, "spec.initContainers")) {
    if (text_at(*one, "name") == container) return text_at(*one, "restartPolicy") == "Always";
  }
  return false;
}

// Reads the init containers; true if one of them has not completed.
bool read_init_containers(const json::object& pod, PodState& state) {
  const auto statuses = objects_at(pod, "status.initContainerStatuses");
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const json::object& status = *statuses[i];
    const bool sidecar = is_sidecar(pod, text_at(status, "name"));
    if (sidecar) state.restarts += int_at(status, "restartCount").value_or(0);
    const json::object* ended = object_at(status, "state.terminated");
    if (ended != nullptr && int_at(*ended, "exitCode").value_or(0) == 0) continue;
    if (sidecar && true_at(status, "started")) {
      if (true_at(status, "ready")) ++state.ready;
      continue;
    }
    const std::string_view waiting = text_at(status, "state.waiting.reason");
    if (ended != nullptr) {
      state.reason = "Init:" + exit_text(*ended);
    } else if (!waiting.empty() && waiting != "PodInitializing") {
      state.reason = fmt::format("Init:{}", waiting);
    } else {
      state.reason = fmt::format("Init:{}/{}", i, objects_at(pod, "spec.initContainers").size());
    }
    return true;
  }
  return false;
}

void read_containers(const json::object& pod, PodState& state) {
  bool running = false;
  const auto statuses = objects_at(pod, "status.containerStatuses");
  for (auto at = statuses.rbegin(); at != statuses.rend(); ++at) {
    const json::object& status = **at;
    state.restarts += int_at(status, "restartCount").value_or(0);
    const std::string_view waiting = text_at(status, "state.waiting.reason");
    const json::object* ended = object_at(status, "state.terminated");
    if (!waiting.empty()) {
      state.reason = waiting;
    } else if (ended != nullptr) {
      state.reason = exit_text(*ended);
    } else if (true_at(status, "ready") && object_at(status, "state.running") != nullptr) {
      running = true;
      ++state.ready;
    }
  }
  if (state.reason == "Completed" && running) {
    state.reason = is_true(pod, "Ready") ? "Running" : "NotReady";
  }
}

PodState read_pod(const json::object& pod) {
  PodState state;
  state.total = objects_at(pod, "spec.containers").size();
  for (const json::object* one : objects_at(pod, "spec.initContainers")) {
    if (text_at(*one, "restartPolicy") == "Always") ++state.total;
  }
  const std::string_view phase = text_at(pod, "status.phase");
  const std::string_view given = text_at(pod, "status.reason");
  state.reason = given.empty() ? phase : given;
  const json::object* scheduled = find_condition(pod, "PodScheduled");
  if (scheduled != nullptr && text_at(*scheduled, "reason") == "SchedulingGated") {
    state.reason = "SchedulingGated";
  }
  const bool initializing = read_init_containers(pod, state);
  if (!initializing || is_true(pod, "Initialized")) read_containers(pod, state);
  const bool over = phase == "Succeeded" || phase == "Failed";
  if (!text_at(pod, "metadata.deletionTimestamp").empty() && !over) state.reason = "Terminating";
  return state;
}

std::string address_of(const json::object& node, std::string_view type) {
  for (const json::object* one : objects_at(node, "status.addresses")) {
    if (text_at(*one, "type") == type) return std::string(text_at(*one, "address"));
  }
  return "<none>";
}

std::string roles_of(const json::object& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::vector<std::string> roles;
  if (const json::object* labels = object_at(node, "metadata.labels")) {
    for (const auto& label : *labels) {
      const std::string_view key = label.key();
      if (key.starts_with(kPrefix)) roles.emplace_back(key.substr(kPrefix.size()));
      if (key == "kubernetes.io/role") roles.emplace_back(text_of(label.value()));
    }
  }
  std::sort(roles.begin(), roles.end());
  return or_none(fmt::format("{}", fmt::join(roles, ",")));
}

std::string readiness_gates(const json::object& pod) {
  const auto gates = objects_at(pod, "spec.readinessGates");
  if (gates.empty()) return "<none>";
  const auto open = std::count_if(gates.begin(), gates.end(), [&](const json::object* gate) {
    return is_true(pod, text_at(*gate, "conditionType"));
  });
  return fmt::format("{}/{}", open, gates.size());
}

std::string ports_text(const json::object& service) {
  std::vector<std::string> parts;
  for (const json::object* port : objects_at(service, "spec.ports")) {
    const std::int64_t node = int_at(*port, "nodePort").value_or(0);
    const std::string number = std::to_string(int_at(*port, "port").value_or(0));
    parts.push_back(fmt::format("{}{}/{}", number, node > 0 ? fmt::format(":{}", node) : "",
                                text_at(*port, "protocol")));
  }
  return or_none(fmt::format("{}", fmt::join(parts, ",")));
}

}  // namespace

std::string age_since(const json::object& object, std::string_view path, WallTime now) {
  const auto then = parse_time(text_at(object, path));
  return then ? age_text(now - *then) : "<unknown>";
}

ContainerCells container_cells(const json::object& object) {
  std::vector<std::string_view> names;
  std::vector<std::string_view> images;
  for (const json::object* one : objects_at(object, "spec.template.spec.containers")) {
    names.push_back(text_at(*one, "name"));
    images.push_back(text_at(*one, "image"));
  }
  return {fmt::format("{}", fmt::join(names, ",")), fmt::format("{}", fmt::join(images, ","))};
}

std::string selector_cell(const json::object& object) {
  const json::object* selector = object_at(object, "spec.selector");
  if (selector == nullptr) return "<none>";
  const auto read = selector_of(*selector);
  return read ? selector_text(*read) : "<error>";
}

json::array pod_cells(const json::object& pod, WallTime now) {
  const PodState state = read_pod(pod);
  return {text_at(pod, "metadata.name"),
          fmt::format("{}/{}", state.ready, state.total),
          state.reason,
          std::to_string(state.restarts),
          age_since(pod, "metadata.creationTimestamp", now),
          or_none(text_at(pod, "status.podIP")),
          or_none(text_at(pod, "spec.nodeName")),
          or_none(text_at(pod, "status.nominatedNodeName")),
          readiness_gates(pod)};
}

json::array node_cells(const json::object& node, WallTime now) {
  std::string status = "Unknown";
  if (find_condition(node, "Ready") != nullptr)
    status = is_true(node, "Ready") ? "Ready" : "NotReady";
  if (true_at(node, "spec.unschedulable")) status += ",SchedulingDisabled";
  return {text_at(node, "metadata.name"),
          status,
          roles_of(node),
          age_since(node, "metadata.creationTimestamp", now),
          text_at(node, "status.nodeInfo.kubeletVersion"),
          address_of(node, "InternalIP"),
          address_of(node, "ExternalIP"),
          or_none(text_at(node, "status.nodeInfo.osImage"), "<unknown>"),
          or_none(text_at(node, "status.nodeInfo.kernelVersion"), "<unknown>"),
          or_none(text_at(node, "status.nodeInfo.containerRuntimeVersion"), "<unknown>")};
}

json::array event_cells(const json::object& event, WallTime now) {
  const bool has_first = !text_at(event, "firstTimestamp").empty();
  const std::string first = age_since(event, has_first ? "firstTimestamp" : "eventTime", now);
  std::string last =
      text_at(event, "lastTimestamp").empty() ? first : age_since(event, "lastTimestamp", now);
  std::int64_t count = std::max<std::int64_t>(1, int_at(event, "count").value_or(0));
  if (object_at(event, "series") != nullptr) {
    last = age_since(event, "series.lastObservedTime", now);
    count = int_at(event, "series.count").value_or(1);
  }
  std::string target = base::ascii_lower(text_at(event, "involvedObject.kind"));
  const std::string_view name = text_at(event, "involvedObject.name");
  if (!name.empty()) target += fmt::format("/{}", name);
  std::string source(text_at(event, "source.component"));
  if (source.empty()) source = text_at(event, "reportingComponent");
  const std::string_view host = text_at(event, "source.host");
  if (!host.empty()) source += fmt::format(", {}", host);
  std::string_view message = text_at(event, "message");
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) {
    message.remove_suffix(1);
  }
  return {last,
          text_at(event, "type"),
          text_at(event, "reason"),
          target,
          text_at(event, "involvedObject.fieldPath"),
          source,
          message,
          first,
          count,
          text_at(event, "metadata.name")};
}

json::array job_cells(const json::object& job, WallTime now) {
  const std::int64_t succeeded = int_at(job, "status.succeeded").value_or(0);
  const auto completions = int_at(job, "spec.completions");
  const std::int64_t parallelism = int_at(job, "spec.parallelism").value_or(0);
  std::string done = fmt::format("{}/{}", succeeded, completions.value_or(1));
  if (!completions && parallelism > 1) done += fmt::format(" of {}", parallelism);
  std::string duration;
  if (const auto start = parse_time(text_at(job, "status.startTime"))) {
    const auto end = parse_time(text_at(job, "status.completionTime"));
    duration = age_text(end.value_or(now) - *start);
  }
  std::string status = "Running";
  if (!text_at(job, "metadata.deletionTimestamp").empty()) status = "Terminating";
  for (const auto& [type, word] :
       {std::pair{"SuccessCriteriaMet", "SuccessCriteriaMet"},
        std::pair{"FailureTarget", "FailureTarget"}, std::pair{"Suspended", "Suspended"},
        std::pair{"Failed", "Failed"}, std::pair{"Complete", "Complete"}}) {
    if (is_true(job, type)) status = word;
  }
  const auto [names, images] = container_cells(job);
  return {text_at(job, "metadata.name"),
          status,
          done,
          duration,
          age_since(job, "metadata.creationTimestamp", now),
          names,
          images,
          selector_cell(job)};
}

json::array service_cells(const json::object& service, WallTime now) {
  const std::string_view type = text_at(service, "spec.type");
  std::string external = "<none>";
  if (type == "LoadBalancer") external = "<pending>";
  if (type == "ExternalName") external = text_at(service, "spec.externalName");
  std::vector<std::string> selector;
  if (const json::object* labels = object_at(service, "spec.selector")) {
    for (const auto& label : *labels) {
      selector.push_back(
          fmt::format("{}={}", std::string_view(label.key()), text_of(label.value())));
    }
  }
  std::sort(selector.begin(), selector.end());
  return {text_at(service, "metadata.name"),
          type,
          or_none(text_at(service, "spec.clusterIP")),
          external,
          ports_text(service),
          age_since(service, "metadata.creationTimestamp", now),
          or_none(fmt::format("{}", fmt::join(selector, ",")))};
}

}  // namespace stowage::local
