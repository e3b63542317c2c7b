#include "tests/hostile/objects.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/model/limits.h"

namespace stowage::hostile {
namespace {

// The frame with its entries, as many as the size allows.
std::string fill(const Kind& kind, std::size_t number, Size size, std::size_t constraints) {
  const auto at = kind.frame.find('@');
  const std::size_t most = size == Size::largest ? ~std::size_t{0} : kind.most;
  const std::size_t allowed =
      size == Size::largest ? std::min(kind.bytes, kLargest) - constraints : core::kMaxRuleBytes;
  std::string entries;
  for (std::size_t i = 0; i < most; ++i) {
    const std::string entry = kind.entry(number, i);
    // Within the limits every entry weighs more than its text, by at most this much.
    const std::size_t weight = size == Size::largest ? 0 : 3 * core::kBytesPerEntry * (i + 1);
    if (entries.size() + entry.size() + 1 + weight > allowed) break;
    if (!entries.empty()) entries += ',';
    entries += entry;
  }
  return kind.frame.substr(0, at) + entries + kind.frame.substr(at + 1);
}

std::string selector(std::size_t pod, std::size_t i) {
  return fmt::format(R"({{"matchLabels":{{"a":"v{}-{}"}}}})", pod, i);
}

std::string pod_term(std::size_t pod, std::size_t i) {
  return fmt::format(R"({{"labelSelector":{},"topologyKey":"k{}-{}"}})", selector(pod, i), pod, i);
}

// Matches every pod of every namespace, and is different from all others.
std::string broad_term(std::size_t pod, std::size_t i) {
  return fmt::format(
      R"({{"labelSelector":{{"matchExpressions":[{{"key":"x{}-{}","operator":"DoesNotExist"}}]}},)"
      R"("namespaceSelector":{{}},"topologyKey":"zone"}})",
      pod, i);
}

std::string wish_term(std::size_t pod, std::size_t i) {
  return fmt::format(R"({{"weight":1,"podAffinityTerm":{}}})", pod_term(pod, i));
}

std::string terms(const char* of, const char* when) {
  return fmt::format(R"(S"affinity":{{"{}":{{"{}DuringSchedulingIgnoredDuringExecution":[)", of,
                     when) +
         "@]}}";
}

std::string text_pair(std::size_t pod, std::size_t i) {
  return fmt::format(R"("a{}.{}":"")", pod, i);
}

using std::size_t;

std::string quoted(size_t pod, size_t i) { return fmt::format(R"("v{}-{}")", pod, i); }

// A list in the spec.
std::string list(const char* name) { return fmt::format(R"(S"{}":[@])", name); }
std::string map(const char* name) { return fmt::format(R"(S"{}":{{@}})", name); }

// One term of required affinity to pods or nodes, with one long part.
std::string one_term(const char* of, const char* term) {
  std::string frame = terms(of, "required");
  return frame.replace(frame.find('@'), 1, term);
}
constexpr const char* kNodeTerms =
    R"(S"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
    R"({"nodeSelectorTerms":[@]}}})";
std::string one_node_term(const char* term) {
  std::string frame = kNodeTerms;
  return frame.replace(frame.find('@'), 1, term);
}

std::string spread(const std::string& key, const char* when, const std::string& labels) {
  return fmt::format(
      R"({{"maxSkew":1,"topologyKey":"{}","whenUnsatisfiable":"{}","labelSelector":{}}})", key,
      when, labels);
}

std::string soft_spread(size_t pod, size_t i) {
  return spread(fmt::format("k{}-{}", pod, i), "ScheduleAnyway", selector(pod, i));
}
std::string hard_spread(size_t pod, size_t i) {
  return spread("kubernetes.io/hostname", "DoNotSchedule", selector(pod, i));
}

std::string node_term(size_t pod, size_t i) {
  return fmt::format(
      R"({{"matchExpressions":[{{"key":"zone","operator":"In","values":["v{}-{}"]}}]}})", pod, i);
}
std::string node_wish(size_t pod, size_t i) {
  return fmt::format(R"({{"weight":1,"preference":{}}})", node_term(pod, i));
}

std::vector<Kind> rules_about_pods() {
  return {
      {"podAffinity terms", terms("podAffinity", "required"), pod_term, core::kMaxPodTerms},
      {"podAntiAffinity terms", terms("podAntiAffinity", "required"), pod_term, core::kMaxPodTerms},
      {"podAntiAffinity, all pods", terms("podAntiAffinity", "required"), broad_term,
       core::kMaxPodTerms},
      {"podAffinity, preferred", terms("podAffinity", "preferred"), wish_term, core::kMaxPodTerms},
      {"podAntiAffinity, preferred", terms("podAntiAffinity", "preferred"), wish_term,
       core::kMaxPodTerms},
      {"podAntiAffinity values",
       one_term("podAntiAffinity", R"({"topologyKey":"zone","labelSelector":{"matchExpressions":)"
                                   R"([{"key":"a","operator":"NotIn","values":[@]}]}})"),
       quoted},
      {"podAffinity namespaces",
       one_term("podAffinity", R"({"labelSelector":{},"topologyKey":"zone","namespaces":[@]})"),
       quoted},
      {"topologySpreadConstraints", list("topologySpreadConstraints"), soft_spread,
       core::kMaxSpreadRules},
      {"spread, hard, by host", list("topologySpreadConstraints"), hard_spread,
       core::kMaxSpreadRules},
  };
}

std::vector<Kind> rules_about_nodes() {
  return {
      {"nodeAffinity terms", kNodeTerms, node_term, core::kMaxNodeTerms},
      {"nodeAffinity values",
       one_node_term(R"({"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In",)"
                     R"("values":[@]}]})"),
       [](size_t pod, size_t i) { return fmt::format(R"("n{:03}-{:04}")", pod, i); }},
      {"nodeAffinity, preferred", terms("nodeAffinity", "preferred"), node_wish,
       core::kMaxNodeTerms},
      {"nodeSelector", map("nodeSelector"), text_pair, core::kMaxLabels},
      {"tolerations", list("tolerations"),
       [](size_t pod, size_t i) {
         return fmt::format(R"({{"key":"k{}-{}","operator":"Exists"}})", pod, i);
       },
       core::kMaxTolerations},
      {"unknown operators", list("tolerations"),
       [](size_t pod, size_t i) {
         return fmt::format(R"({{"key":"k{}","operator":"O{}"}})", pod, i);
       },
       core::kMaxTolerations},
  };
}

std::vector<Kind> texts_and_amounts() {
  return {
      {"labels", R"(L@)", text_pair, core::kMaxLabels},
      {"annotations", R"(A@)", text_pair, 512, kAnnotations},
      {"annotation of card ids", R"(A"stowage.dev/gpu-ids":"@")",
       [](size_t pod, size_t i) { return fmt::format("GPU-{}-{}", pod, i); }, 250, kAnnotations},
      {"annotation of models", R"(A"stowage.dev/exclude-gpu-model":"@")",
       [](size_t pod, size_t i) { return fmt::format("M {} {}", pod, i); }, 100, kAnnotations},
      {"resources", R"(R@)",
       [](size_t pod, size_t i) { return fmt::format(R"("example.com/r{}-{}":"1")", pod, i); }, 60},
      {"overhead", map("overhead"),
       [](size_t pod, size_t i) { return fmt::format(R"("example.com/o{}-{}":"1")", pod, i); }, 60},
      {"host ports", R"(P@)",
       [](size_t pod, size_t i) {
         return fmt::format(R"({{"containerPort":1,"hostPort":{},"hostIP":"10.0.{}.{}"}})",
                            1 + i % 65000, pod % 250, i % 250);
       },
       core::kMaxHostPorts},
      {"volume claims", list("volumes"),
       [](size_t pod, size_t i) {
         return fmt::format(R"({{"name":"v{}","persistentVolumeClaim":{{"claimName":"c{}-{}"}}}})",
                            i, pod, i);
       },
       core::kMaxVolumes},
      {"disks", list("volumes"),
       [](size_t pod, size_t i) {
         return fmt::format(R"({{"name":"v{}","gcePersistentDisk":{{"pdName":"d{}-{}"}}}})", i, pod,
                            i);
       },
       core::kMaxDisks},
  };
}

std::vector<Kind> other_lists() {
  const auto named = [](const char* letter) {
    return [letter](size_t /*pod*/, size_t i) {
      return fmt::format(R"({{"name":"{}{}","restartPolicy":"Always"}})", letter, i);
    };
  };
  return {
      {"containers", R"(C@)",
       [](size_t /*pod*/, size_t i) {
         return fmt::format(R"({{"name":"c{}","resources":{{"requests":{{"cpu":"1m"}}}}}})", i);
       },
       core::kMaxContainers - 1},
      {"containers with cards", R"(C@)",
       [](size_t /*pod*/, size_t i) {
         return fmt::format(R"({{"name":"c{}","resources":{{"limits":{{"nvidia.com/gpu":"1"}}}}}})",
                            i);
       },
       core::kMaxCardContainers - 1},
      {"initContainers", list("initContainers"), named("i"), core::kMaxContainers - 1},
      {"schedulingGates", list("schedulingGates"), named("g")},
      {"resourceClaims", list("resourceClaims"), named("r")},
      {"ephemeralContainers", list("ephemeralContainers"), named("e")},
      {"ownerReferences", R"(O@)",
       [](size_t /*pod*/, size_t i) { return fmt::format(R"({{"kind":"K{}","uid":"u"}})", i); }},
      {"status.conditions", R"(T"conditions":[@])",
       [](size_t /*pod*/, size_t i) {
         return fmt::format(R"({{"type":"T{}","status":"False"}})", i);
       }},
  };
}

std::vector<Kind> make_pod_kinds() {
  std::vector<Kind> kinds;
  for (auto make : {rules_about_pods, rules_about_nodes, texts_and_amounts, other_lists}) {
    for (Kind& kind : make()) kinds.push_back(std::move(kind));
  }
  return kinds;
}

}  // namespace

const std::vector<Kind>& pod_kinds() {
  static const std::vector<Kind> kinds = make_pod_kinds();
  return kinds;
}

std::string pod_uid(const Kind& kind, std::size_t number) {
  return fmt::format("{}-{}", kind.name, number);
}

std::string pod_json(const Kind& kind, const PodRequest& ask) {
  const std::string list = fill(kind, ask.number, ask.size, 1024);
  const auto part = [&](char where) { return list[0] == where ? list.substr(1) : std::string(); };
  const auto more = [&](char where) {
    return list[0] == where ? "," + list.substr(1) : std::string();
  };
  const std::string uid = pod_uid(kind, ask.number);
  const std::string node = ask.node.empty() ? "" : fmt::format(R"("nodeName":"{}",)", ask.node);
  const int priority = static_cast<int>(ask.number % 3) - 1;
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"ns{}","uid":"{}","resourceVersion":"1",)"
      R"("labels":{{{}}},"annotations":{{{}}},"ownerReferences":[{}]}},)"
      R"("spec":{{"schedulerName":"stowage",{}"priority":{},)"
      R"("containers":[{{"name":"main","ports":[{}],"resources":{{"requests":{{"cpu":"10m",)"
      R"("nvidia.com/gpu":"1"{}}},"limits":{{"nvidia.com/gpu":"1"}}}}}}{}]{}}},)"
      R"("status":{{"phase":"Pending"{}}}}})",
      uid, ask.number % 7, uid, part('L'), part('A'), part('O'), node, priority, part('P'),
      more('R'), more('C'), more('S'), more('T'));
}

std::string plain_pod_json(const std::string& name, int priority, const std::string& node) {
  const std::string bound = node.empty() ? "" : fmt::format(R"("nodeName":"{}",)", node);
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"plain","uid":"{0}","labels":{{"app":"plain"}}}},)"
      R"("spec":{{"schedulerName":"stowage",{1}"priority":{2},"containers":[{{"name":"main",)"
      R"("resources":{{"requests":{{"cpu":"100m","nvidia.com/gpu":"1"}},)"
      R"("limits":{{"nvidia.com/gpu":"1"}}}}}}]}},"status":{{"phase":"Pending"}}}})",
      name, bound, priority);
}

std::string scattered_uid(std::size_t number) { return fmt::format("scattered-{}", number); }

std::string scattered_pod_json(std::size_t number, int priority) {
  std::string containers;
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t percent = 52 + (number * 7 + i * 5 + number / 15 * i) % 15;
    containers += fmt::format(
        R"({}{{"name":"c{}","resources":{{"limits":{{"stowage.dev/gpu-core":"{}"}}}}}})",
        i == 0 ? "" : ",", i, percent);
  }
  return fmt::format(R"({{"metadata":{{"name":"{0}","namespace":"ns","uid":"{0}"}},)"
                     R"("spec":{{"schedulerName":"stowage","priority":{1},"containers":[{2}]}},)"
                     R"("status":{{"phase":"Pending"}}}})",
                     scattered_uid(number), priority, containers);
}

std::string share_pod_json(const std::string& name, int priority, const std::string& node) {
  const std::string bound = node.empty() ? "" : fmt::format(R"("nodeName":"{}",)", node);
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"plain","uid":"{0}"}},)"
      R"("spec":{{"schedulerName":"stowage",{1}"priority":{2},"containers":[{{"name":"main",)"
      R"("resources":{{"limits":{{"stowage.dev/gpu-core":"40"}}}}}}]}},)"
      R"("status":{{"phase":"Pending"}}}})",
      name, bound, priority);
}

std::string shares_pod_json(const std::string& name, int containers, int percent,
                            const std::string& node) {
  std::string list;
  for (int i = 0; i < containers; ++i) {
    list += fmt::format(
        R"({}{{"name":"c{}","resources":{{"limits":{{"stowage.dev/gpu-core":"{}"}}}}}})",
        i == 0 ? "" : ",", i, percent);
  }
  const std::string bound = node.empty() ? "" : fmt::format(R"("nodeName":"{}",)", node);
  return fmt::format(R"({{"metadata":{{"name":"{0}","namespace":"ns","uid":"{0}"}},)"
                     R"("spec":{{"schedulerName":"another",{1}"containers":[{2}]}},)"
                     R"("status":{{"phase":"Running"}}}})",
                     name, bound, list);
}

std::string share_node_json(const std::string& name) {
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","uid":"{0}","labels":{{"kubernetes.io/hostname":"{0}"}}}},)"
      R"("spec":{{}},"status":{{"allocatable":{{"cpu":"64","memory":"512Gi","pods":"250",)"
      R"("stowage.dev/gpu":"8","stowage.dev/gpu-memory":"640000"}}}}}})",
      name);
}

const std::vector<Kind>& node_kinds() {
  static const std::vector<Kind> kinds{
      {"labels", R"(L@)", text_pair, core::kMaxNodeLabels - 8},
      {"annotations", R"(A@)", text_pair, 500, kAnnotations},
      {"taints", R"(S"taints":[@])",
       [](size_t /*node*/, std::size_t i) {
         return fmt::format(R"({{"key":"k{}","effect":"NoSchedule"}})", i);
       },
       core::kMaxTaints},
      {"resources", R"(R@)",
       [](std::size_t node, std::size_t i) {
         return fmt::format(R"("example.com/n{}-{}":"1")", node, i);
       },
       core::kMaxNodeResources},
      {"conditions", R"(T"conditions":[@])",
       [](size_t /*node*/, std::size_t i) { return fmt::format(R"({{"type":"T{}"}})", i); }},
      {"images", R"(T"images":[@])",
       [](size_t /*node*/, std::size_t i) { return fmt::format(R"({{"names":["n{}"]}})", i); }},
  };
  return kinds;
}

std::string node_json(const Kind* kind, const std::string& name, Size size) {
  const std::string list = kind == nullptr ? "-" : fill(*kind, 0, size, 1024);
  const auto more = [&](char where) {
    return list[0] == where ? "," + list.substr(1) : std::string();
  };
  const auto part = [&](char where) { return list[0] == where ? list.substr(1) : std::string(); };
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","uid":"{0}","labels":{{"kubernetes.io/hostname":"{0}",)"
      R"("zone":"z{1}"{2}}},"annotations":{{{3}}}}},"spec":{{"x":1{4}}},"status":{{"allocatable":)"
      R"({{"cpu":"64","memory":"512Gi","pods":"250","nvidia.com/gpu":"8"{5}}}{6}}}}})",
      name, std::hash<std::string>()(name) % 10, more('L'), part('A'), more('S'), more('R'),
      more('T'));
}

const std::vector<AuxKind>& aux_kinds() {
  using K = core::AuxKind;
  static const std::vector<AuxKind> kinds{
      {K::name_space, {"Namespace labels", R"(L@)", text_pair}},
      {K::claim,
       {"PersistentVolumeClaim selector",
        R"(S"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"In","values":[@]}]}})",
        quoted}},
      {K::volume,
       {"PersistentVolume nodeAffinity",
        R"(S"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":)"
        R"([{"matchExpressions":[{"key":"a","operator":"In","values":[@]}]}]}}})",
        quoted}},
      {K::volume, {"PersistentVolume labels", R"(L@)", text_pair}},
      {K::storage_class,
       {"StorageClass topologies",
        R"(S"allowedTopologies":[{"matchLabelExpressions":[{"key":"a","values":[@]}]}])", quoted}},
      {K::storage_driver, {"CSIDriver annotations", R"(A@)", text_pair, 512, kAnnotations}},
      {K::storage_capacity,
       {"CSIStorageCapacity topology",
        R"(S"nodeTopology":{"matchExpressions":[{"key":"a","operator":"In","values":[@]}]})",
        quoted}},
      {K::node_volume_limits,
       {"CSINode drivers", R"(S"spec":{"drivers":[@]})",
        [](std::size_t n, std::size_t i) {
          return fmt::format(R"({{"name":"d{}-{}","allocatable":{{"count":1}}}})", n, i);
        },
        core::kMaxDrivers}},
      {K::attachment, {"VolumeAttachment annotations", R"(A@)", text_pair, 512, kAnnotations}},
      {K::budget,
       {"PodDisruptionBudget selector",
        R"(S"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"In","values":[@]}]}})",
        quoted, 40}},
      {K::budget,
       {"PodDisruptionBudget disruptedPods", R"(S"status":{"disruptedPods":{@}})",
        [](std::size_t n, std::size_t i) { return fmt::format(R"("p{}-{}":"t")", n, i); }, 1000}},
  };
  return kinds;
}

std::string aux_object_name(const AuxKind& kind, std::size_t number) {
  return fmt::format("{}-{}", kind.list.name, number);
}

std::string aux_object_json(const AuxKind& kind, std::size_t number, Size size) {
  const std::string list = fill(kind.list, number, size, 1024);
  const auto part = [&](char where) { return list[0] == where ? list.substr(1) : std::string(); };
  const std::string more = list[0] == 'S' ? "," + list.substr(1) : "";
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"ns","labels":{{{}}},"annotations":{{{}}}}}{}}})",
      aux_object_name(kind, number), part('L'), part('A'), more);
}

}  // namespace stowage::hostile
