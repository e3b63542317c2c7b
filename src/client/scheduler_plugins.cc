#include "client/scheduler_plugins.h"

#include <algorithm>
#include <iterator>

#include "client/tree.h"

namespace stowage::client {
namespace {

using Names = std::span<const std::string_view>;

constexpr ScoreDefault kScores[] = {{"TaintToleration", 3},  {"NodeAffinity", 2},
                                    {"NodeResourcesFit", 1}, {"PodTopologySpread", 2},
                                    {"InterPodAffinity", 2}, {"NodeResourcesBalancedAllocation", 1},
                                    {"ImageLocality", 1}};

constexpr std::string_view kPlugins[] = {"DefaultBinder",     "DefaultPreemption",
                                         "DynamicResources",  "ImageLocality",
                                         "InterPodAffinity",  "NodeAffinity",
                                         "NodeName",          "NodePorts",
                                         "NodeResourcesFit",  "NodeResourcesBalancedAllocation",
                                         "NodeUnschedulable", "NodeVolumeLimits",
                                         "PodTopologySpread", "PrioritySort",
                                         "SchedulingGates",   "TaintToleration",
                                         "VolumeBinding",     "VolumeRestrictions",
                                         "VolumeZone"};

constexpr std::string_view kPoints[] = {
    "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore",  "score",
    "reserve",    "permit",    "preBind",   "bind",   "postBind",   "multiPoint"};

constexpr std::string_view kFitKeys[] = {"ignoredResources", "ignoredResourceGroups",
                                         "scoringStrategy"};
constexpr std::string_view kPodAffinityKeys[] = {"hardPodAffinityWeight",
                                                 "ignorePreferredTermsOfExistingPods"};
constexpr std::string_view kSpreadKeys[] = {"defaultConstraints", "defaultingType"};
constexpr std::string_view kVolumeKeys[] = {"bindTimeoutSeconds", "shape"};
constexpr std::string_view kAffinityKeys[] = {"addedAffinity"};
constexpr std::string_view kPreemptionKeys[] = {"minCandidateNodesPercentage",
                                                "minCandidateNodesAbsolute"};
constexpr std::string_view kBalanceKeys[] = {"resources"};

struct Arguments {
  std::string_view plugin;
  Names keys;
};
constexpr Arguments kArguments[] = {{"NodeResourcesFit", kFitKeys},
                                    {"InterPodAffinity", kPodAffinityKeys},
                                    {"PodTopologySpread", kSpreadKeys},
                                    {"VolumeBinding", kVolumeKeys},
                                    {"NodeAffinity", kAffinityKeys},
                                    {"DefaultPreemption", kPreemptionKeys},
                                    {"NodeResourcesBalancedAllocation", kBalanceKeys}};

constexpr std::string_view kByTaints = "nodes in this condition have a taint now";
constexpr std::string_view kUseAffinity =
    "it no longer exists; give the pods node affinity, or the profile NodeAffinity's addedAffinity";
constexpr std::string_view kUseSpread =
    "it no longer exists; give the pods topology spread constraints or pod affinity";
constexpr std::string_view kAvoid = "it no longer exists; taint the nodes to avoid";

constexpr Successor kPredicates[] = {
    {"PodFitsHostPorts", "NodePorts", "", ""},
    {"PodFitsPorts", "NodePorts", "", ""},
    {"PodFitsResources", "NodeResourcesFit", "", ""},
    {"HostName", "NodeName", "", ""},
    {"MatchNodeSelector", "NodeAffinity", "", ""},
    {"GeneralPredicates", "NodeResourcesFit, NodeName, NodePorts and NodeAffinity", "", ""},
    {"NoDiskConflict", "VolumeRestrictions", "", ""},
    {"NoVolumeZoneConflict", "VolumeZone", "", ""},
    {"MaxCSIVolumeCountPred", "NodeVolumeLimits", "", ""},
    {"MaxCSIVolumeCount", "NodeVolumeLimits", "", ""},
    {"MaxEBSVolumeCount", "NodeVolumeLimits", "", ""},
    {"MaxGCEPDVolumeCount", "NodeVolumeLimits", "", ""},
    {"MaxAzureDiskVolumeCount", "NodeVolumeLimits", "", ""},
    {"MaxCinderVolumeCount", "NodeVolumeLimits", "", ""},
    {"CheckVolumeBinding", "VolumeBinding", "", ""},
    {"PodToleratesNodeTaints", "TaintToleration", "", ""},
    {"PodToleratesNodeNoExecuteTaints", "TaintToleration", "", ""},
    {"CheckNodeUnschedulable", "NodeUnschedulable", "", ""},
    {"MatchInterPodAffinity", "InterPodAffinity", "", ""},
    {"EvenPodsSpread", "PodTopologySpread", "", ""},
    {"CheckNodeCondition", "TaintToleration", "", kByTaints},
    {"CheckNodeMemoryPressure", "TaintToleration", "", kByTaints},
    {"CheckNodeDiskPressure", "TaintToleration", "", kByTaints},
    {"CheckNodePIDPressure", "TaintToleration", "", kByTaints},
    {"CheckNodeLabelPresence", "", "", kUseAffinity},
    {"NodeLabelPresence", "", "", kUseAffinity},
    {"TestLabelsPresence", "", "", kUseAffinity},
    {"CheckServiceAffinity", "", "", kUseSpread},
    {"ServiceAffinity", "", "", kUseSpread},
    {"TestServiceAffinity", "", "", kUseSpread},
};

constexpr Successor kPriorities[] = {
    {"LeastRequestedPriority", "NodeResourcesFit", "LeastAllocated", ""},
    {"MostRequestedPriority", "NodeResourcesFit", "MostAllocated", ""},
    {"RequestedToCapacityRatioPriority", "NodeResourcesFit", "RequestedToCapacityRatio", ""},
    {"BalancedResourceAllocation", "NodeResourcesBalancedAllocation", "", ""},
    {"NodeAffinityPriority", "NodeAffinity", "", ""},
    {"TaintTolerationPriority", "TaintToleration", "", ""},
    {"ImageLocalityPriority", "ImageLocality", "", ""},
    {"InterPodAffinityPriority", "InterPodAffinity", "", ""},
    {"SelectorSpreadPriority", "PodTopologySpread", "", ""},
    {"ServiceSpreadingPriority", "PodTopologySpread", "", ""},
    {"EvenPodsSpreadPriority", "PodTopologySpread", "", ""},
    {"NodePreferAvoidPodsPriority", "", "", kAvoid},
    {"EqualPriority", "", "", "it gave all nodes the same score, so nothing is lost"},
    {"ResourceLimitsPriority", "", "", "it no longer exists and has no replacement"},
    {"NodeLabelPriority", "", "", kUseAffinity},
    {"ServiceAntiAffinityPriority", "", "", kUseSpread},
};

constexpr Successor kFormer[] = {
    {"NodeResourcesLeastAllocated", "NodeResourcesFit", "LeastAllocated", ""},
    {"NodeResourcesMostAllocated", "NodeResourcesFit", "MostAllocated", ""},
    {"RequestedToCapacityRatio", "NodeResourcesFit", "RequestedToCapacityRatio", ""},
    {"SelectorSpread", "PodTopologySpread", "", ""},
    {"DefaultPodTopologySpread", "PodTopologySpread", "", ""},
    {"EBSLimits", "NodeVolumeLimits", "", ""},
    {"GCEPDLimits", "NodeVolumeLimits", "", ""},
    {"AzureDiskLimits", "NodeVolumeLimits", "", ""},
    {"CinderLimits", "NodeVolumeLimits", "", ""},
    {"NodeLabel", "", "", kUseAffinity},
    {"ServiceAffinity", "", "", kUseSpread},
    {"NodePreferAvoidPods", "", "", kAvoid},
    {"NodeResourceLimits", "", "", "it no longer exists and has no replacement"},
};

const Successor* find(std::span<const Successor> table, std::string_view name) {
  const auto* found = std::find_if(table.data(), table.data() + table.size(),
                                   [&](const Successor& row) { return row.old == name; });
  return found == table.data() + table.size() ? nullptr : found;
}

}  // namespace

std::optional<int> default_weight(std::string_view plugin) {
  for (const ScoreDefault& row : kScores) {
    if (row.plugin == plugin) return row.weight;
  }
  return std::nullopt;
}

bool is_current_plugin(std::string_view name) {
  return std::find(std::begin(kPlugins), std::end(kPlugins), name) != std::end(kPlugins);
}

std::string_view current_point(std::string_view name) {
  for (const std::string_view point : kPoints) {
    if (same_key(point, name)) return point;
  }
  return {};
}

Names argument_keys(std::string_view plugin) {
  for (const Arguments& row : kArguments) {
    if (row.plugin == plugin) return row.keys;
  }
  return {};
}

const Successor* predicate(std::string_view name) { return find(kPredicates, name); }
const Successor* priority(std::string_view name) { return find(kPriorities, name); }
const Successor* former_plugin(std::string_view name) { return find(kFormer, name); }

}  // namespace stowage::client
