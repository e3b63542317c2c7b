// The fields of Kubernetes messages that our decoders read, by protobuf number. Add a field here
// before a decoder reads it. Others are skipped, so this is not the whole schema of
// local/schema_table.cc; local/protobuf_test.cc compares the two.
#include "codec/protobuf_json.h"

namespace stowage::codec {
namespace {

using Member = ProtobufMember;
using Message = ProtobufMessage;
using Kind = Member::Kind;
using Shape = Member::Shape;

consteval Member text(std::uint32_t number, std::string_view name) {
  return {.number = number, .name = name};
}
consteval Member texts(std::uint32_t number, std::string_view name) {
  return {.number = number, .name = name, .shape = Shape::list};
}
consteval Member text_map(std::uint32_t number, std::string_view name) {
  return {.number = number, .name = name, .shape = Shape::map};
}
consteval Member amounts(std::uint32_t number, std::string_view name) {
  return {.number = number, .name = name, .kind = Kind::quantity, .shape = Shape::map};
}
consteval Member number(std::uint32_t number, std::string_view name) {
  return {.number = number, .name = name, .kind = Kind::number};
}
consteval Member boolean(std::uint32_t number, std::string_view name) {
  return {.number = number, .name = name, .kind = Kind::boolean};
}
consteval Member time(std::uint32_t number, std::string_view name) {
  return {.number = number, .name = name, .kind = Kind::time};
}
consteval Member one(std::uint32_t number, std::string_view name, const Message& message) {
  return {.number = number, .name = name, .kind = Kind::message, .message = &message};
}
consteval Member list(std::uint32_t number, std::string_view name, const Message& message) {
  return {.number = number,
          .name = name,
          .kind = Kind::message,
          .shape = Shape::list,
          .message = &message};
}
consteval Member inlined(std::uint32_t number, const Message& message) {
  return {.number = number, .kind = Kind::inlined, .message = &message};
}

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

// Only presence matters.
constexpr Message kAnything{{}};

constexpr std::array kOwnerReferenceMembers{text(1, "kind"), text(4, "uid"),
                                            boolean(6, "controller")};
constexpr Message kOwnerReference{kOwnerReferenceMembers};

constexpr std::array kObjectMetaMembers{
    text(1, "name"),
    text(3, "namespace"),
    text(5, "uid"),
    text(6, "resourceVersion"),
    time(8, "creationTimestamp"),
    time(9, "deletionTimestamp"),
    text_map(11, "labels"),
    text_map(12, "annotations"),
    list(13, "ownerReferences", kOwnerReference),
};
constexpr Message kObjectMeta{kObjectMetaMembers};

// For both label selectors and node selectors.
constexpr std::array kRequirementMembers{text(1, "key"), text(2, "operator"), texts(3, "values")};
constexpr Message kRequirement{kRequirementMembers};

constexpr std::array kLabelSelectorMembers{text_map(1, "matchLabels"),
                                           list(2, "matchExpressions", kRequirement)};
constexpr Message kLabelSelector{kLabelSelectorMembers};

constexpr std::array kNodeSelectorTermMembers{list(1, "matchExpressions", kRequirement),
                                              list(2, "matchFields", kRequirement)};
constexpr Message kNodeSelectorTerm{kNodeSelectorTermMembers};
constexpr std::array kNodeSelectorMembers{list(1, "nodeSelectorTerms", kNodeSelectorTerm)};
constexpr Message kNodeSelector{kNodeSelectorMembers};
constexpr std::array kPreferredNodesMembers{number(1, "weight"),
                                            one(2, "preference", kNodeSelectorTerm)};
constexpr Message kPreferredNodes{kPreferredNodesMembers};
constexpr std::array kNodeAffinityMembers{one(1, kRequired, kNodeSelector),
                                          list(2, kPreferred, kPreferredNodes)};
constexpr Message kNodeAffinity{kNodeAffinityMembers};

constexpr std::array kPodTermMembers{
    one(1, "labelSelector", kLabelSelector),
    texts(2, "namespaces"),
    text(3, "topologyKey"),
    one(4, "namespaceSelector", kLabelSelector),
    texts(5, "matchLabelKeys"),
    texts(6, "mismatchLabelKeys"),
};
constexpr Message kPodTerm{kPodTermMembers};
constexpr std::array kWeightedPodTermMembers{number(1, "weight"),
                                             one(2, "podAffinityTerm", kPodTerm)};
constexpr Message kWeightedPodTerm{kWeightedPodTermMembers};
// Affinity and anti-affinity have the same fields.
constexpr std::array kPodAffinityMembers{list(1, kRequired, kPodTerm),
                                         list(2, kPreferred, kWeightedPodTerm)};
constexpr Message kPodAffinity{kPodAffinityMembers};
constexpr std::array kAffinityMembers{one(1, "nodeAffinity", kNodeAffinity),
                                      one(2, "podAffinity", kPodAffinity),
                                      one(3, "podAntiAffinity", kPodAffinity)};
constexpr Message kAffinity{kAffinityMembers};

constexpr std::array kTolerationMembers{text(1, "key"), text(2, "operator"), text(3, "value"),
                                        text(4, "effect")};
constexpr Message kToleration{kTolerationMembers};

constexpr std::array kSpreadMembers{
    number(1, "maxSkew"),         text(2, "topologyKey"),
    text(3, "whenUnsatisfiable"), one(4, "labelSelector", kLabelSelector),
    number(5, "minDomains"),      text(6, "nodeAffinityPolicy"),
    text(7, "nodeTaintsPolicy"),  texts(8, "matchLabelKeys"),
};
constexpr Message kSpread{kSpreadMembers};

constexpr std::array kResourcesMembers{amounts(1, "limits"), amounts(2, "requests"),
                                       list(3, "claims", kAnything)};
constexpr Message kResources{kResourcesMembers};

constexpr std::array kPortMembers{number(2, "hostPort"), text(4, "protocol"), text(5, "hostIP")};
constexpr Message kPort{kPortMembers};
constexpr std::array kContainerMembers{text(1, "name"), list(6, "ports", kPort),
                                       one(8, "resources", kResources), text(24, "restartPolicy")};
constexpr Message kContainer{kContainerMembers};

constexpr std::array kClaimVolumeMembers{text(1, "claimName")};
constexpr Message kClaimVolume{kClaimVolumeMembers};
constexpr std::array kGceDiskMembers{text(1, "pdName"), boolean(4, "readOnly")};
constexpr Message kGceDisk{kGceDiskMembers};
constexpr std::array kAwsDiskMembers{text(1, "volumeID"), boolean(4, "readOnly")};
constexpr Message kAwsDisk{kAwsDiskMembers};
constexpr std::array kIscsiMembers{text(2, "iqn"), boolean(6, "readOnly")};
constexpr Message kIscsi{kIscsiMembers};
constexpr std::array kRbdMembers{texts(1, "monitors"), text(2, "image"), text(4, "pool"),
                                 boolean(8, "readOnly")};
constexpr Message kRbd{kRbdMembers};
constexpr std::array kVolumeSourceMembers{
    one(3, "gcePersistentDisk", kGceDisk),
    one(4, "awsElasticBlockStore", kAwsDisk),
    one(8, "iscsi", kIscsi),
    one(10, "persistentVolumeClaim", kClaimVolume),
    one(11, "rbd", kRbd),
    one(29, "ephemeral", kAnything),
};
constexpr Message kVolumeSource{kVolumeSourceMembers};
constexpr std::array kVolumeMembers{text(1, "name"), inlined(2, kVolumeSource)};
constexpr Message kVolume{kVolumeMembers};

constexpr std::array kGateMembers{text(1, "name")};
constexpr Message kGate{kGateMembers};
constexpr std::array kWorkloadMembers{text(1, "name"), text(2, "podGroup")};
constexpr Message kWorkload{kWorkloadMembers};
constexpr std::array kGroupMembers{text(1, "podGroupName")};
constexpr Message kGroup{kGroupMembers};

constexpr std::array kPodSpecMembers{
    list(1, "volumes", kVolume),
    list(2, "containers", kContainer),
    text_map(7, "nodeSelector"),
    text(10, "nodeName"),
    one(18, "affinity", kAffinity),
    text(19, "schedulerName"),
    list(20, "initContainers", kContainer),
    list(22, "tolerations", kToleration),
    number(25, "priority"),
    text(31, "preemptionPolicy"),
    amounts(32, "overhead"),
    list(33, "topologySpreadConstraints", kSpread),
    list(38, "schedulingGates", kGate),
    list(39, "resourceClaims", kAnything),
    one(40, "resources", kResources),
    one(42, "workloadRef", kWorkload),
    one(43, "schedulingGroup", kGroup),
};
constexpr Message kPodSpec{kPodSpecMembers};

constexpr std::array kPodConditionMembers{text(1, "type"), text(2, "status"),
                                          time(4, "lastTransitionTime"), text(5, "reason"),
                                          text(6, "message")};
constexpr Message kPodCondition{kPodConditionMembers};
constexpr std::array kContainerStatusMembers{text(1, "name"), amounts(10, "allocatedResources"),
                                             one(11, "resources", kResources)};
constexpr Message kContainerStatus{kContainerStatusMembers};
constexpr std::array kPodStatusMembers{
    text(1, "phase"),
    list(2, "conditions", kPodCondition),
    time(7, "startTime"),
    list(8, "containerStatuses", kContainerStatus),
    list(10, "initContainerStatuses", kContainerStatus),
    text(11, "nominatedNodeName"),
};
constexpr Message kPodStatus{kPodStatusMembers};

constexpr std::array kPodMembers{one(1, "metadata", kObjectMeta), one(2, "spec", kPodSpec),
                                 one(3, "status", kPodStatus)};
constexpr Message kPod{kPodMembers};

constexpr std::array kTaintMembers{text(1, "key"), text(2, "value"), text(3, "effect")};
constexpr Message kTaint{kTaintMembers};
constexpr std::array kNodeSpecMembers{boolean(4, "unschedulable"), list(5, "taints", kTaint)};
constexpr Message kNodeSpec{kNodeSpecMembers};
constexpr std::array kNodeStatusMembers{amounts(1, "capacity"), amounts(2, "allocatable")};
constexpr Message kNodeStatus{kNodeStatusMembers};
constexpr std::array kNodeMembers{one(1, "metadata", kObjectMeta), one(2, "spec", kNodeSpec),
                                  one(3, "status", kNodeStatus)};
constexpr Message kNode{kNodeMembers};

constexpr std::array kListMetaMembers{text(3, "continue")};
constexpr Message kListMeta{kListMetaMembers};
constexpr std::array kCauseMembers{text(1, "reason"), text(2, "message"), text(3, "field")};
constexpr Message kCause{kCauseMembers};
constexpr std::array kDetailsMembers{text(1, "name"), text(3, "kind"), list(4, "causes", kCause),
                                     number(5, "retryAfterSeconds")};
constexpr Message kDetails{kDetailsMembers};
constexpr std::array kStatusMembers{
    one(1, "metadata", kListMeta), text(2, "status"), text(3, "message"), text(4, "reason"),
    one(5, "details", kDetails),   number(6, "code"),
};
constexpr Message kStatus{kStatusMembers};

}  // namespace

const ProtobufMessage* protobuf_message(std::string_view kind) {
  if (kind == "Pod") return &kPod;
  if (kind == "Node") return &kNode;
  if (kind == "Status") return &kStatus;
  return nullptr;
}

}  // namespace stowage::codec
