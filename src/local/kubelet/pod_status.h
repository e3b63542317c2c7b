// The pod statuses that a kubelet writes, made from the pod itself. Pure. The functions change only
// the fields that they are about.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "local/json.h"
#include "local/kubelet/admission.h"
#include "local/wall_time.h"

namespace stowage::local {

// Annotations of pods and nodes that control the simulation.
inline constexpr std::string_view kRunSecondsAnnotation = "local.stowage.dev/run-seconds";
inline constexpr std::string_view kStopSecondsAnnotation = "local.stowage.dev/stop-seconds";
inline constexpr std::string_view kExitCodeAnnotation = "local.stowage.dev/exit-code";
inline constexpr std::string_view kNodeFailedAnnotation = "local.stowage.dev/failed";

struct KubeletOptions {
  std::chrono::microseconds start_after = std::chrono::milliseconds{200};  // from bound to Running
  std::chrono::microseconds stop_after = std::chrono::milliseconds{500};   // from delete to gone
  std::chrono::microseconds job_runs_for = std::chrono::seconds{10};
};

// How the pod will behave once it runs.
struct PodPlan {
  // Unset: until it is deleted. Only pods that are not restarted end: those of a Job, and those
  // with the annotation.
  std::optional<std::chrono::microseconds> run_for;
  int exit_code = 0;
  std::chrono::microseconds stop_after{};  // never more than its grace period
  friend bool operator==(const PodPlan&, const PodPlan&) = default;
};
[[nodiscard]] PodPlan plan_of(const json::object& pod, const KubeletOptions& options);

struct PodStart {
  std::string host_ip;
  std::string pod_ip;
  WallTime now;
};
// All containers run and are ready; init containers have completed.
void set_running(json::object& status, const json::object& pod, const PodStart& start);
// All containers have ended with the code: Succeeded if it is 0, else Failed.
void set_ended(json::object& status, const json::object& pod, int exit_code, WallTime now);
void set_refused(json::object& status, const AdmissionRefusal& refusal, WallTime now);

}  // namespace stowage::local
