#include "local/defaults.h"

#include <string>

#include "base/base64.h"

namespace stowage::local {
namespace {

void default_template(json::object& spec) {
  json::object& pod = make_object(spec, "template");
  make_object(pod, "metadata");
  default_pod_spec(make_object(pod, "spec"));
}

void default_deployment(json::object& spec) {
  set_default(spec, "replicas", 1);
  set_default(spec, "revisionHistoryLimit", 10);
  set_default(spec, "progressDeadlineSeconds", 600);
  json::object& strategy = make_object(spec, "strategy");
  set_default(strategy, "type", "RollingUpdate");
  if (text_at(strategy, "type") == "RollingUpdate") {
    json::object& rolling = make_object(strategy, "rollingUpdate");
    set_default(rolling, "maxUnavailable", "25%");
    set_default(rolling, "maxSurge", "25%");
  }
  default_template(spec);
}

void default_stateful_set(json::object& spec) {
  set_default(spec, "replicas", 1);
  set_default(spec, "revisionHistoryLimit", 10);
  set_default(spec, "podManagementPolicy", "OrderedReady");
  json::object& strategy = make_object(spec, "updateStrategy");
  set_default(strategy, "type", "RollingUpdate");
  if (text_at(strategy, "type") == "RollingUpdate") {
    set_default(make_object(strategy, "rollingUpdate"), "partition", 0);
  }
  default_template(spec);
}

void default_daemon_set(json::object& spec) {
  set_default(spec, "revisionHistoryLimit", 10);
  json::object& strategy = make_object(spec, "updateStrategy");
  set_default(strategy, "type", "RollingUpdate");
  if (text_at(strategy, "type") == "RollingUpdate") {
    json::object& rolling = make_object(strategy, "rollingUpdate");
    set_default(rolling, "maxUnavailable", 1);
    set_default(rolling, "maxSurge", 0);
  }
  default_template(spec);
}

void default_job(json::object& spec) {
  if (!spec.contains("completions") && !spec.contains("parallelism")) spec["completions"] = 1;
  set_default(spec, "parallelism", 1);
  set_default(spec, "backoffLimit", 6);
  set_default(spec, "completionMode", "NonIndexed");
  set_default(spec, "suspend", false);
  set_default(spec, "podReplacementPolicy", "TerminatingOrFailed");
  default_template(spec);
}

void default_replication_controller(json::object& spec) {
  set_default(spec, "replicas", 1);
  default_template(spec);
  const json::value* labels = find_at(spec, "template.metadata.labels");
  if (!spec.contains("selector") && labels != nullptr) spec["selector"] = json::value(*labels);
}

void default_service(json::object& spec) {
  set_default(spec, "type", "ClusterIP");
  set_default(spec, "sessionAffinity", "None");
  each_object(spec, "ports", [](json::object& port) {
    set_default(port, "protocol", "TCP");
    const json::value* number = port.if_contains("port");
    if (number != nullptr) set_default(port, "targetPort", json::value(*number));
  });
}

void default_secret(json::object& secret) {
  set_default(secret, "type", "Opaque");
  const json::object* plain = object_at(secret, "stringData");
  if (plain == nullptr) return;
  const json::object texts = *plain;
  json::object& data = make_object(secret, "data");
  for (const auto& text : texts) data[text.key()] = base::base64_encode(text_of(text.value()));
  secret.erase("stringData");
}

// The labels that select a job's pods.
void select_by_uid(json::object& job) {
  json::object& spec = make_object(job, "spec");
  if (true_at(spec, "manualSelector")) return;
  const std::string uid(text_at(job, "metadata.uid"));
  const std::string name(text_at(job, "metadata.name"));
  json::object& labels =
      make_object(make_object(make_object(spec, "template"), "metadata"), "labels");
  for (const std::string_view key : {"batch.kubernetes.io/controller-uid", "controller-uid"}) {
    labels[key] = uid;
  }
  for (const std::string_view key : {"batch.kubernetes.io/job-name", "job-name"}) {
    labels[key] = name;
  }
  make_object(make_object(spec, "selector"), "matchLabels")["batch.kubernetes.io/controller-uid"] =
      uid;
}

void start_pod(json::object& pod, WallTime now) {
  json::object& status = make_object(pod, "status");
  const json::object* spec = object_at(pod, "spec");
  // A client may not set the status of a new pod.
  status.clear();
  status["phase"] = "Pending";
  if (spec == nullptr) return;
  status["qosClass"] = qos_class(*spec);
  const json::array* gates = array_at(*spec, "schedulingGates");
  if (gates != nullptr && !gates->empty()) {
    set_condition(status,
                  {"PodScheduled", "False", "SchedulingGated",
                   "Scheduling is blocked due to non-empty scheduling gates"},
                  now);
  }
}

void set_phase(json::object& object, std::string_view phase) {
  make_object(object, "status")["phase"] = phase;
}

}  // namespace

void set_defaults(Kind kind, json::object& object) {
  switch (kind) {
    case Kind::pod: {
      json::object& spec = make_object(object, "spec");
      default_pod_spec(spec);
      set_default(spec, "enableServiceLinks", true);
      return;
    }
    case Kind::deployment: return default_deployment(make_object(object, "spec"));
    case Kind::replica_set: {
      json::object& spec = make_object(object, "spec");
      set_default(spec, "replicas", 1);
      return default_template(spec);
    }
    case Kind::stateful_set: return default_stateful_set(make_object(object, "spec"));
    case Kind::daemon_set: return default_daemon_set(make_object(object, "spec"));
    case Kind::job: return default_job(make_object(object, "spec"));
    case Kind::replication_controller:
      return default_replication_controller(make_object(object, "spec"));
    case Kind::service: return default_service(make_object(object, "spec"));
    case Kind::secret: return default_secret(object);
    case Kind::persistent_volume_claim:
      return set_default(make_object(object, "spec"), "volumeMode", "Filesystem");
    case Kind::persistent_volume: {
      json::object& spec = make_object(object, "spec");
      set_default(spec, "persistentVolumeReclaimPolicy", "Retain");
      return set_default(spec, "volumeMode", "Filesystem");
    }
    case Kind::storage_class:
      set_default(object, "reclaimPolicy", "Delete");
      return set_default(object, "volumeBindingMode", "Immediate");
    case Kind::csi_driver: {
      json::object& spec = make_object(object, "spec");
      set_default(spec, "attachRequired", true);
      for (const std::string_view key :
           {"podInfoOnMount", "requiresRepublish", "seLinuxMount", "storageCapacity"}) {
        set_default(spec, key, false);
      }
      set_default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
      return set_default(spec, "volumeLifecycleModes", json::array{"Persistent"});
    }
    case Kind::priority_class:
      return set_default(object, "preemptionPolicy", "PreemptLowerPriority");
    case Kind::node: {
      json::object& status = make_object(object, "status");
      const json::value* capacity = status.if_contains("capacity");
      if (capacity != nullptr) set_default(status, "allocatable", json::value(*capacity));
      return;
    }
    default: return;
  }
}

void set_first_values(Kind kind, json::object& object, WallTime now) {
  json::object& metadata = make_object(object, "metadata");
  if (resource_of(kind).counts_generation) metadata["generation"] = 1;
  switch (kind) {
    case Kind::pod: return start_pod(object, now);
    case Kind::job: return select_by_uid(object);
    case Kind::ns:
      make_object(metadata, "labels")["kubernetes.io/metadata.name"] =
          std::string(text_at(metadata, "name"));
      make_object(object, "spec")["finalizers"] = json::array{"kubernetes"};
      return set_phase(object, "Active");
    case Kind::persistent_volume_claim: return set_phase(object, "Pending");
    case Kind::persistent_volume: return set_phase(object, "Available");
    default: return;
  }
}

}  // namespace stowage::local
