#include "local/resources.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace stowage::local {
namespace {

using Span = std::span<const std::string_view>;

constexpr std::string_view kAll[] = {"all"};
constexpr std::string_view kStatus[] = {"status"};
constexpr std::string_view kStatusScale[] = {"status", "scale"};
constexpr std::string_view kPodSubresources[] = {"status", "binding", "eviction"};

constexpr std::string_view kPodFields[] = {
    "spec.nodeName",           "status.phase",     "spec.schedulerName", "spec.restartPolicy",
    "spec.serviceAccountName", "spec.hostNetwork", "status.podIP",       "status.podIPs",
    "status.nominatedNodeName"};
constexpr std::string_view kEventFields[] = {"involvedObject.kind",
                                             "involvedObject.namespace",
                                             "involvedObject.name",
                                             "involvedObject.uid",
                                             "involvedObject.apiVersion",
                                             "involvedObject.resourceVersion",
                                             "involvedObject.fieldPath",
                                             "reason",
                                             "reportingComponent",
                                             "source",
                                             "type"};
constexpr std::string_view kNodeFields[] = {"spec.unschedulable"};
constexpr std::string_view kNamespaceFields[] = {"status.phase"};
constexpr std::string_view kSecretFields[] = {"type"};
constexpr std::string_view kReplicasFields[] = {"status.replicas"};
constexpr std::string_view kJobFields[] = {"status.successful"};

constexpr std::string_view kCm[] = {"cm"};
constexpr std::string_view kEp[] = {"ep"};
constexpr std::string_view kEv[] = {"ev"};
constexpr std::string_view kNs[] = {"ns"};
constexpr std::string_view kNo[] = {"no"};
constexpr std::string_view kPvc[] = {"pvc"};
constexpr std::string_view kPv[] = {"pv"};
constexpr std::string_view kPo[] = {"po"};
constexpr std::string_view kRc[] = {"rc"};
constexpr std::string_view kSa[] = {"sa"};
constexpr std::string_view kSvc[] = {"svc"};
constexpr std::string_view kDs[] = {"ds"};
constexpr std::string_view kDeploy[] = {"deploy"};
constexpr std::string_view kRs[] = {"rs"};
constexpr std::string_view kSts[] = {"sts"};
constexpr std::string_view kPdb[] = {"pdb"};
constexpr std::string_view kPc[] = {"pc"};
constexpr std::string_view kSc[] = {"sc"};

constexpr bool kNamespaced = true;
constexpr bool kCluster = false;
constexpr bool kCounted = true;
constexpr bool kUncounted = false;
constexpr Span kNone{};

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

constexpr std::array<Resource, kKinds> kTable{{
    {Kind::config_map, "", "v1", "configmaps", "configmap", "ConfigMap", kNamespaced, kUncounted,
     kCm},
    {Kind::endpoints, "", "v1", "endpoints", "endpoints", "Endpoints", kNamespaced, kUncounted,
     kEp},
    {Kind::event, "", "v1", "events", "event", "Event", kNamespaced, kUncounted, kEv, kNone, kNone,
     kEventFields},
    {Kind::ns, "", "v1", "namespaces", "namespace", "Namespace", kCluster, kUncounted, kNs, kNone,
     kStatus, kNamespaceFields},
    {Kind::node, "", "v1", "nodes", "node", "Node", kCluster, kUncounted, kNo, kNone, kStatus,
     kNodeFields},
    {Kind::persistent_volume_claim, "", "v1", "persistentvolumeclaims", "persistentvolumeclaim",
     "PersistentVolumeClaim", kNamespaced, kUncounted, kPvc, kNone, kStatus},
    {Kind::persistent_volume, "", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume",
     kCluster, kUncounted, kPv, kNone, kStatus},
    {Kind::pod, "", "v1", "pods", "pod", "Pod", kNamespaced, kCounted, kPo, kAll, kPodSubresources,
     kPodFields},
    {Kind::replication_controller, "", "v1", "replicationcontrollers", "replicationcontroller",
     "ReplicationController", kNamespaced, kCounted, kRc, kAll, kStatusScale, kReplicasFields},
    {Kind::secret, "", "v1", "secrets", "secret", "Secret", kNamespaced, kUncounted, kNone, kNone,
     kNone, kSecretFields},
    {Kind::service_account, "", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount",
     kNamespaced, kUncounted, kSa},
    {Kind::service, "", "v1", "services", "service", "Service", kNamespaced, kUncounted, kSvc, kAll,
     kStatus},
    {Kind::daemon_set, "apps", "v1", "daemonsets", "daemonset", "DaemonSet", kNamespaced, kCounted,
     kDs, kAll, kStatus},
    {Kind::deployment, "apps", "v1", "deployments", "deployment", "Deployment", kNamespaced,
     kCounted, kDeploy, kAll, kStatusScale},
    {Kind::replica_set, "apps", "v1", "replicasets", "replicaset", "ReplicaSet", kNamespaced,
     kCounted, kRs, kAll, kStatusScale, kReplicasFields},
    {Kind::stateful_set, "apps", "v1", "statefulsets", "statefulset", "StatefulSet", kNamespaced,
     kCounted, kSts, kAll, kStatusScale},
    {Kind::job, "batch", "v1", "jobs", "job", "Job", kNamespaced, kCounted, kNone, kAll, kStatus,
     kJobFields},
    {Kind::lease, "coordination.k8s.io", "v1", "leases", "lease", "Lease", kNamespaced},
    {Kind::pod_disruption_budget, "policy", "v1", "poddisruptionbudgets", "poddisruptionbudget",
     "PodDisruptionBudget", kNamespaced, kCounted, kPdb, kNone, kStatus},
    {Kind::cluster_role_binding, kRbac, "v1", "clusterrolebindings", "clusterrolebinding",
     "ClusterRoleBinding", kCluster},
    {Kind::cluster_role, kRbac, "v1", "clusterroles", "clusterrole", "ClusterRole", kCluster},
    {Kind::role_binding, kRbac, "v1", "rolebindings", "rolebinding", "RoleBinding", kNamespaced},
    {Kind::role, kRbac, "v1", "roles", "role", "Role", kNamespaced},
    {Kind::priority_class, "scheduling.k8s.io", "v1", "priorityclasses", "priorityclass",
     "PriorityClass", kCluster, kUncounted, kPc},
    {Kind::csi_driver, "storage.k8s.io", "v1", "csidrivers", "csidriver", "CSIDriver", kCluster,
     kCounted},
    {Kind::csi_node, "storage.k8s.io", "v1", "csinodes", "csinode", "CSINode", kCluster},
    {Kind::csi_storage_capacity, "storage.k8s.io", "v1", "csistoragecapacities",
     "csistoragecapacity", "CSIStorageCapacity", kNamespaced},
    {Kind::storage_class, "storage.k8s.io", "v1", "storageclasses", "storageclass", "StorageClass",
     kCluster, kUncounted, kSc},
    {Kind::volume_attachment, "storage.k8s.io", "v1", "volumeattachments", "volumeattachment",
     "VolumeAttachment", kCluster, kUncounted, kNone, kNone, kStatus},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].kind_id) != i) return false;
  }
  return true;
}
static_assert(in_order(), "the table has the order of Kind");

}  // namespace

bool Resource::has_subresource(std::string_view name) const {
  return std::find(subresources.begin(), subresources.end(), name) != subresources.end();
}

std::optional<std::size_t> Resource::field_index(std::string_view path) const {
  const auto found = std::find(fields.begin(), fields.end(), path);
  if (found == fields.end()) return std::nullopt;
  return static_cast<std::size_t>(found - fields.begin());
}

std::span<const Resource> all_resources() { return kTable; }

const Resource& resource_of(Kind kind) {
  const auto index = static_cast<std::size_t>(kind);
  STOWAGE_CHECK(index < kKinds);
  return kTable[index];
}

const Resource* find_resource(std::string_view group, std::string_view version,
                              std::string_view plural) {
  if (group == kEventsGroup && plural == "events") group = "";
  for (const Resource& resource : kTable) {
    if (resource.group == group && resource.version == version && resource.plural == plural) {
      return &resource;
    }
  }
  return nullptr;
}

std::string_view api_version_of(Kind kind) {
  const std::string_view group = resource_of(kind).group;
  if (group.empty()) return "v1";
  if (group == "apps") return "apps/v1";
  if (group == "batch") return "batch/v1";
  if (group == "policy") return "policy/v1";
  if (group == "coordination.k8s.io") return "coordination.k8s.io/v1";
  if (group == "scheduling.k8s.io") return "scheduling.k8s.io/v1";
  if (group == "storage.k8s.io") return "storage.k8s.io/v1";
  STOWAGE_CHECK(group == kRbac);
  return "rbac.authorization.k8s.io/v1";
}

}  // namespace stowage::local
