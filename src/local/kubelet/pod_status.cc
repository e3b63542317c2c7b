#include "local/kubelet/pod_status.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number.h"
#include "local/defaults.h"

namespace stowage::local {
namespace {

using std::chrono::microseconds;

// A number of seconds, such as "5" or "0.25"; unset if it is anything else.
std::optional<microseconds> seconds(std::string_view text) {
  constexpr double kMost = 1e9;
  const auto number = base::parse_number<double>(text);
  if (!number || !(*number >= 0) || *number > kMost) return std::nullopt;
  return microseconds{static_cast<std::int64_t>(*number * 1e6)};
}

bool of_a_job(const json::object& pod) {
  const json::array* owners = array_at(pod, "metadata.ownerReferences");
  if (owners == nullptr) return false;
  return std::any_of(owners->begin(), owners->end(), [](const json::value& owner) {
    return owner.is_object() && text_at(owner.get_object(), "kind") == "Job";
  });
}

bool is_sidecar(const json::object& container) {
  return text_at(container, "restartPolicy") == "Always";
}

struct Moment {
  WallTime started;
  WallTime now;
};

json::object terminated(int exit_code, std::string_view id, const Moment& moment) {
  return {{"terminated",
           {{"containerID", id},
            {"exitCode", exit_code},
            {"finishedAt", time_text(moment.now)},
            {"reason", exit_code == 0 ? "Completed" : "Error"},
            {"startedAt", time_text(moment.started)}}}};
}

json::object container_status(const json::object& pod, const json::object& container,
                              const json::object& state, bool running) {
  const std::string_view name = text_at(container, "name");
  const std::string_view image = text_at(container, "image");
  return {{"containerID", fmt::format("simulated://{}/{}", text_at(pod, "metadata.uid"), name)},
          {"image", image},
          {"imageID", fmt::format("simulated://{}", image)},
          {"lastState", json::object()},
          {"name", name},
          {"ready", running},
          {"restartCount", 0},
          {"started", running},
          {"state", state}};
}

enum class Which : std::uint8_t { init, app };

// The statuses of the pod's containers: `exit_code` unset while they run.
json::array container_statuses(const json::object& pod, Which which, std::optional<int> exit_code,
                               const Moment& moment) {
  json::array statuses;
  const bool init = which == Which::init;
  for (const json::object* container :
       objects_at(pod, init ? "spec.initContainers" : "spec.containers")) {
    const bool done_before = init && !is_sidecar(*container);
    if (!done_before && !exit_code) {
      statuses.push_back(container_status(
          pod, *container, {{"running", {{"startedAt", time_text(moment.started)}}}}, true));
      continue;
    }
    const std::string id =
        fmt::format("simulated://{}/{}", text_at(pod, "metadata.uid"), text_at(*container, "name"));
    const int code = done_before ? 0 : *exit_code;
    json::object status =
        container_status(pod, *container, terminated(code, id, moment), done_before);
    status["started"] = false;
    statuses.push_back(std::move(status));
  }
  return statuses;
}

void set_containers(json::object& status, const json::object& pod, std::optional<int> exit_code,
                    const Moment& moment) {
  json::array init = container_statuses(pod, Which::init, exit_code, moment);
  if (!init.empty()) status["initContainerStatuses"] = std::move(init);
  status["containerStatuses"] = container_statuses(pod, Which::app, exit_code, moment);
}

}  // namespace

PodPlan plan_of(const json::object& pod, const KubeletOptions& options) {
  PodPlan plan;
  plan.exit_code = base::parse_number<int>(annotation(pod, kExitCodeAnnotation)).value_or(0);
  if (text_at(pod, "spec.restartPolicy") != "Always") {
    plan.run_for = seconds(annotation(pod, kRunSecondsAnnotation));
    if (!plan.run_for && of_a_job(pod)) plan.run_for = options.job_runs_for;
  }
  constexpr std::int64_t kLongest = 1'000'000'000;
  const std::int64_t own = int_at(pod, "spec.terminationGracePeriodSeconds").value_or(30);
  const std::int64_t grace = int_at(pod, "metadata.deletionGracePeriodSeconds").value_or(own);
  const microseconds wish =
      seconds(annotation(pod, kStopSecondsAnnotation)).value_or(options.stop_after);
  plan.stop_after = std::min<microseconds>(
      wish, std::chrono::seconds{std::clamp<std::int64_t>(grace, 0, kLongest)});
  return plan;
}

void set_running(json::object& status, const json::object& pod, const PodStart& start) {
  status["phase"] = "Running";
  for (const std::string_view type :
       {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    set_condition(status, {type, "True", "", ""}, start.now);
  }
  status["hostIP"] = start.host_ip;
  status["hostIPs"] = {{{"ip", start.host_ip}}};
  status["podIP"] = start.pod_ip;
  status["podIPs"] = {{{"ip", start.pod_ip}}};
  status["startTime"] = time_text(start.now);
  set_containers(status, pod, std::nullopt, {start.now, start.now});
}

void set_ended(json::object& status, const json::object& pod, int exit_code, WallTime now) {
  const WallTime started = parse_time(text_at(pod, "status.startTime")).value_or(now);
  const bool good = exit_code == 0;
  status["phase"] = good ? "Succeeded" : "Failed";
  const std::string_view why = good ? "PodCompleted" : "PodFailed";
  for (const std::string_view type : {"Ready", "ContainersReady"}) {
    set_condition(status, {type, "False", why, ""}, now);
  }
  set_condition(status, {"PodReadyToStartContainers", "False", "", ""}, now);
  if (good) set_condition(status, {"Initialized", "True", "PodCompleted", ""}, now);
  set_containers(status, pod, exit_code, {started, now});
}

void set_refused(json::object& status, const AdmissionRefusal& refusal, WallTime now) {
  status["phase"] = "Failed";
  status["reason"] = refusal.reason;
  status["message"] = "Pod was rejected: " + refusal.message;
  status["startTime"] = time_text(now);
}

}  // namespace stowage::local
