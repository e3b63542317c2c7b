#include "local/table.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "local/selectors.h"

namespace stowage::local {
namespace {

using Column = TableColumn;
constexpr bool kText = false;
constexpr bool kNumber = true;
constexpr bool kWide = true;

constexpr Column kName{"Name"};
constexpr Column kAge{"Age"};
constexpr Column kContainers{"Containers", kText, kWide};
constexpr Column kImages{"Images", kText, kWide};
constexpr Column kSelector{"Selector", kText, kWide};

constexpr Column kPod[] = {kName,
                           {"Ready"},
                           {"Status"},
                           {"Restarts"},
                           kAge,
                           {"IP", kText, kWide},
                           {"Node", kText, kWide},
                           {"Nominated Node", kText, kWide},
                           {"Readiness Gates", kText, kWide}};
constexpr Column kNode[] = {kName,
                            {"Status"},
                            {"Roles"},
                            kAge,
                            {"Version"},
                            {"Internal-IP", kText, kWide},
                            {"External-IP", kText, kWide},
                            {"OS-Image", kText, kWide},
                            {"Kernel-Version", kText, kWide},
                            {"Container-Runtime", kText, kWide}};
constexpr Column kEvent[] = {{"Last Seen"},
                             {"Type"},
                             {"Reason"},
                             {"Object"},
                             {"Subobject", kText, kWide},
                             {"Source", kText, kWide},
                             {"Message"},
                             {"First Seen", kText, kWide},
                             {"Count", kNumber, kWide},
                             {"Name", kText, kWide}};
constexpr Column kDeployment[] = {
    kName,   {"Ready"}, {"Up-to-date", kNumber}, {"Available", kNumber}, kAge, kContainers,
    kImages, kSelector};
constexpr Column kReplicaSet[] = {kName,
                                  {"Desired", kNumber},
                                  {"Current", kNumber},
                                  {"Ready", kNumber},
                                  kAge,
                                  kContainers,
                                  kImages,
                                  kSelector};
constexpr Column kStatefulSet[] = {kName, {"Ready"}, kAge, kContainers, kImages};
constexpr Column kDaemonSet[] = {kName,
                                 {"Desired", kNumber},
                                 {"Current", kNumber},
                                 {"Ready", kNumber},
                                 {"Up-to-date", kNumber},
                                 {"Available", kNumber},
                                 {"Node Selector"},
                                 kAge,
                                 kContainers,
                                 kImages,
                                 kSelector};
constexpr Column kJob[] = {kName, {"Status"},  {"Completions"}, {"Duration"},
                           kAge,  kContainers, kImages,         kSelector};
constexpr Column kService[] = {kName,       {"Type"}, {"Cluster-IP"}, {"External-IP"},
                               {"Port(s)"}, kAge,     kSelector};
constexpr Column kData[] = {kName, {"Data", kNumber}, kAge};
constexpr Column kSecret[] = {kName, {"Type"}, {"Data", kNumber}, kAge};
constexpr Column kEndpoints[] = {kName, {"Endpoints"}, kAge};
constexpr Column kNamespace[] = {kName, {"Status"}, kAge};
constexpr Column kServiceAccount[] = {kName, {"Secrets", kNumber}, kAge};
constexpr Column kClaim[] = {kName,
                             {"Status"},
                             {"Volume"},
                             {"Capacity"},
                             {"Access Modes"},
                             {"StorageClass"},
                             {"VolumeAttributesClass"},
                             kAge,
                             {"VolumeMode", kText, kWide}};
constexpr Column kVolume[] = {kName,
                              {"Capacity"},
                              {"Access Modes"},
                              {"Reclaim Policy"},
                              {"Status"},
                              {"Claim"},
                              {"StorageClass"},
                              {"VolumeAttributesClass"},
                              {"Reason"},
                              kAge,
                              {"VolumeMode", kText, kWide}};
constexpr Column kLease[] = {kName, {"Holder"}, kAge};
constexpr Column kBudget[] = {
    kName, {"Min Available"}, {"Max Unavailable"}, {"Allowed Disruptions", kNumber}, kAge};
constexpr Column kBinding[] = {kName, {"Role"}, kAge};
constexpr Column kRole[] = {kName, {"Created At"}};
constexpr Column kPriority[] = {
    kName, {"Value", kNumber}, {"Global-Default"}, kAge, {"PreemptionPolicy"}};
constexpr Column kCsiDriver[] = {
    kName, {"AttachRequired"}, {"PodInfoOnMount"}, {"StorageCapacity"}, {"Modes"}, kAge};
constexpr Column kCapacity[] = {kName, {"StorageClass"}, {"Capacity"}, kAge};
constexpr Column kAttachment[] = {kName, {"Attacher"}, {"PV"}, {"Node"}, {"Attached"}, kAge};
constexpr Column kCsiNode[] = {kName, {"Drivers", kNumber}, kAge};
constexpr Column kStorage[] = {
    kName, {"Provisioner"}, {"ReclaimPolicy"}, {"VolumeBindingMode"}, {"AllowVolumeExpansion"},
    kAge};

std::int64_t number_at(const json::object& object, std::string_view path) {
  return int_at(object, path).value_or(0);
}

std::size_t size_at(const json::object& object, std::string_view path) {
  const json::value* value = find_at(object, path);
  if (value == nullptr) return 0;
  if (const json::object* members = value->if_object()) return members->size();
  if (const json::array* list = value->if_array()) return list->size();
  return 0;
}

// An integer or string as text; `none` if it is absent.
std::string plain(const json::object& object, std::string_view path, std::string_view none) {
  const json::value* value = find_at(object, path);
  if (value == nullptr) return std::string(none);
  return value->is_string() ? std::string(text_of(*value)) : json::serialize(*value);
}

std::string joined_at(const json::object& object, std::string_view path) {
  std::vector<std::string_view> parts;
  if (const json::array* list = array_at(object, path)) {
    for (const json::value& one : *list) parts.push_back(text_of(one));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string access_modes(const json::object& object, std::string_view path) {
  const json::array* modes = array_at(object, path);
  std::vector<std::string_view> parts;
  if (modes == nullptr) return {};
  for (const json::value& mode : *modes) {
    const std::string_view text = text_of(mode);
    if (text == "ReadWriteOnce") parts.emplace_back("RWO");
    if (text == "ReadOnlyMany") parts.emplace_back("ROX");
    if (text == "ReadWriteMany") parts.emplace_back("RWX");
    if (text == "ReadWriteOncePod") parts.emplace_back("RWOP");
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string labels_text(const json::object& object, std::string_view path) {
  const json::object* labels = object_at(object, path);
  if (labels == nullptr || labels->empty()) return "<none>";
  std::vector<std::string> parts;
  for (const auto& label : *labels) {
    parts.push_back(fmt::format("{}={}", std::string_view(label.key()), text_of(label.value())));
  }
  std::sort(parts.begin(), parts.end());
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string phase_or_terminating(const json::object& object) {
  if (!text_at(object, "metadata.deletionTimestamp").empty()) return "Terminating";
  return std::string(text_at(object, "status.phase"));
}

std::string endpoints_text(const json::object& object) {
  std::vector<std::string> parts;
  for (const json::object* subset : objects_at(object, "subsets")) {
    const json::array* ports = array_at(*subset, "ports");
    const json::object* port =
        ports == nullptr || ports->empty() ? nullptr : ports->front().if_object();
    const auto number = port == nullptr ? std::nullopt : int_at(*port, "port");
    for (const json::object* one : objects_at(*subset, "addresses")) {
      parts.push_back(number ? fmt::format("{}:{}", text_at(*one, "ip"), *number)
                             : std::string(text_at(*one, "ip")));
    }
  }
  return parts.empty() ? "<none>" : fmt::format("{}", fmt::join(parts, ","));
}

json::array workload_cells(Kind kind, const json::object& object, const std::string& age) {
  const std::string_view name = text_at(object, "metadata.name");
  const auto [containers, images] = container_cells(object);
  const std::int64_t wanted = number_at(object, "spec.replicas");
  const std::int64_t ready = number_at(object, "status.readyReplicas");
  switch (kind) {
    case Kind::deployment:
      return {name,
              fmt::format("{}/{}", ready, wanted),
              number_at(object, "status.updatedReplicas"),
              number_at(object, "status.availableReplicas"),
              age,
              containers,
              images,
              selector_cell(object)};
    case Kind::stateful_set:
      return {name, fmt::format("{}/{}", ready, wanted), age, containers, images};
    case Kind::daemon_set:
      return {name,
              number_at(object, "status.desiredNumberScheduled"),
              number_at(object, "status.currentNumberScheduled"),
              number_at(object, "status.numberReady"),
              number_at(object, "status.updatedNumberScheduled"),
              number_at(object, "status.numberAvailable"),
              labels_text(object, "spec.template.spec.nodeSelector"),
              age,
              containers,
              images,
              selector_cell(object)};
    default:
      return {name,
              wanted,
              number_at(object, "status.replicas"),
              ready,
              age,
              containers,
              images,
              selector_cell(object)};
  }
}

json::array volume_cells(Kind kind, const json::object& object, const std::string& age) {
  const std::string_view name = text_at(object, "metadata.name");
  const std::string mode = plain(object, "spec.volumeMode", "<unset>");
  const std::string attributes = plain(object, "spec.volumeAttributesClassName", "<unset>");
  if (kind == Kind::persistent_volume_claim) {
    const bool bound = !text_at(object, "spec.volumeName").empty();
    return {name,
            phase_or_terminating(object),
            text_at(object, "spec.volumeName"),
            bound ? plain(object, "status.capacity.storage", "") : "",
            bound ? access_modes(object, "status.accessModes") : "",
            text_at(object, "spec.storageClassName"),
            attributes,
            age,
            mode};
  }
  std::string claim;
  if (object_at(object, "spec.claimRef") != nullptr) {
    claim = fmt::format("{}/{}", text_at(object, "spec.claimRef.namespace"),
                        text_at(object, "spec.claimRef.name"));
  }
  return {name,
          plain(object, "spec.capacity.storage", ""),
          access_modes(object, "spec.accessModes"),
          text_at(object, "spec.persistentVolumeReclaimPolicy"),
          phase_or_terminating(object),
          claim,
          text_at(object, "spec.storageClassName"),
          attributes,
          text_at(object, "status.reason"),
          age,
          mode};
}

json::array storage_class_cells(const json::object& object, const std::string& age) {
  std::string name(text_at(object, "metadata.name"));
  if (annotation(object, "storageclass.kubernetes.io/is-default-class") == "true") {
    name += " (default)";
  }
  return {name,
          text_at(object, "provisioner"),
          text_at(object, "reclaimPolicy"),
          text_at(object, "volumeBindingMode"),
          true_at(object, "allowVolumeExpansion"),
          age};
}

}  // namespace

std::span<const TableColumn> columns_of(Kind kind) {
  switch (kind) {
    case Kind::config_map: return kData;
    case Kind::endpoints: return kEndpoints;
    case Kind::event: return kEvent;
    case Kind::ns: return kNamespace;
    case Kind::node: return kNode;
    case Kind::persistent_volume_claim: return kClaim;
    case Kind::persistent_volume: return kVolume;
    case Kind::pod: return kPod;
    case Kind::replication_controller:
    case Kind::replica_set: return kReplicaSet;
    case Kind::secret: return kSecret;
    case Kind::service_account: return kServiceAccount;
    case Kind::service: return kService;
    case Kind::daemon_set: return kDaemonSet;
    case Kind::deployment: return kDeployment;
    case Kind::stateful_set: return kStatefulSet;
    case Kind::job: return kJob;
    case Kind::lease: return kLease;
    case Kind::pod_disruption_budget: return kBudget;
    case Kind::cluster_role_binding:
    case Kind::role_binding: return kBinding;
    case Kind::cluster_role:
    case Kind::role: return kRole;
    case Kind::priority_class: return kPriority;
    case Kind::csi_driver: return kCsiDriver;
    case Kind::csi_node: return kCsiNode;
    case Kind::csi_storage_capacity: return kCapacity;
    case Kind::storage_class: return kStorage;
    case Kind::volume_attachment: return kAttachment;
  }
  return kNamespace;
}

json::array cells_of(Kind kind, const json::object& object, WallTime now) {
  const std::string_view name = text_at(object, "metadata.name");
  const std::string age = age_since(object, "metadata.creationTimestamp", now);
  switch (kind) {
    case Kind::config_map:
      return {name, size_at(object, "data") + size_at(object, "binaryData"), age};
    case Kind::endpoints: return {name, endpoints_text(object), age};
    case Kind::event: return event_cells(object, now);
    case Kind::ns: return {name, text_at(object, "status.phase"), age};
    case Kind::node: return node_cells(object, now);
    case Kind::persistent_volume_claim:
    case Kind::persistent_volume: return volume_cells(kind, object, age);
    case Kind::pod: return pod_cells(object, now);
    case Kind::secret: return {name, text_at(object, "type"), size_at(object, "data"), age};
    case Kind::service_account: return {name, size_at(object, "secrets"), age};
    case Kind::service: return service_cells(object, now);
    case Kind::replication_controller:
    case Kind::replica_set:
    case Kind::daemon_set:
    case Kind::deployment:
    case Kind::stateful_set: return workload_cells(kind, object, age);
    case Kind::job: return job_cells(object, now);
    case Kind::lease: return {name, text_at(object, "spec.holderIdentity"), age};
    case Kind::pod_disruption_budget:
      return {name, plain(object, "spec.minAvailable", "N/A"),
              plain(object, "spec.maxUnavailable", "N/A"),
              number_at(object, "status.disruptionsAllowed"), age};
    case Kind::cluster_role_binding:
    case Kind::role_binding:
      return {
          name,
          fmt::format("{}/{}", text_at(object, "roleRef.kind"), text_at(object, "roleRef.name")),
          age};
    case Kind::cluster_role:
    case Kind::role: return {name, text_at(object, "metadata.creationTimestamp")};
    case Kind::priority_class:
      return {name, number_at(object, "value"), true_at(object, "globalDefault"), age,
              text_at(object, "preemptionPolicy")};
    case Kind::csi_driver:
      return {name,
              true_at(object, "spec.attachRequired"),
              true_at(object, "spec.podInfoOnMount"),
              true_at(object, "spec.storageCapacity"),
              joined_at(object, "spec.volumeLifecycleModes"),
              age};
    case Kind::csi_node: return {name, size_at(object, "spec.drivers"), age};
    case Kind::csi_storage_capacity:
      return {name, text_at(object, "storageClassName"), plain(object, "capacity", "<unset>"), age};
    case Kind::storage_class: return storage_class_cells(object, age);
    case Kind::volume_attachment:
      return {name,
              text_at(object, "spec.attacher"),
              text_at(object, "spec.source.persistentVolumeName"),
              text_at(object, "spec.nodeName"),
              true_at(object, "status.attached"),
              age};
  }
  return {};
}

void append_row(std::string& out, const StoredObject& object, RowObject with, WallTime now) {
  json::monotonic_resource arena(object.bytes.size() * 8);
  const json::object tree = object.tree(&arena);
  out += "{\"cells\":";
  append_json(out, cells_of(object.kind, tree, now));
  if (with == RowObject::metadata) {
    out +=
        ",\"object\":{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
        "\"metadata\":";
    append_json(out, tree.at("metadata"));
    out += '}';
  } else if (with == RowObject::whole) {
    out += ",\"object\":";
    out += object.bytes;
  }
  out += '}';
}

void append_columns(std::string& out, Kind kind) {
  out += "\"columnDefinitions\":[";
  bool first = true;
  for (const TableColumn& column : columns_of(kind)) {
    if (!first) out += ',';
    first = false;
    out +=
        fmt::format(R"({{"name":"{}","type":"{}","format":"{}","description":"{}","priority":{}}})",
                    column.name, column.number ? "integer" : "string",
                    column.name == "Name" ? "name" : "", column.name, column.wide ? 1 : 0);
  }
  out += ']';
}

}  // namespace stowage::local
