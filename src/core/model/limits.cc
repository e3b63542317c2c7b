#include "core/model/limits.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace stowage::core {
namespace {

template <class List, class Weigh>
std::size_t sum(const List& list, Weigh weigh) {
  return std::accumulate(
      list.begin(), list.end(), std::size_t{0},
      [&](std::size_t so_far, const auto& entry) { return so_far + weigh(entry); });
}

std::size_t weight(const std::string& text) { return text.size() + kBytesPerEntry; }

std::size_t weight(const std::vector<std::string>& list) {
  return sum(list, [](const std::string& text) { return weight(text); });
}

std::size_t weight(const std::vector<Requirement>& list) {
  return sum(list, [](const Requirement& r) { return weight(r.key) + weight(r.values); });
}

std::size_t weight(const NodeTerm& term) {
  return kBytesPerEntry + weight(term.labels) + weight(term.fields);
}

std::size_t weight(const std::vector<PodTerm>& terms) {
  return sum(terms, [](const PodTerm& term) { return rule_bytes(term); });
}

std::size_t weight(const Disk& disk) { return weight(disk.id) + weight(disk.monitors); }
std::size_t weight(const HostPort& port) { return weight(port.ip) + port.protocol.size(); }
std::size_t weight(const ClaimUse& claim) { return weight(claim.name); }

struct Limit {
  std::size_t most;
  std::string_view what;
  std::string_view remedy;
};

tl::unexpected<Error> over(std::string_view pod, const Limit& limit) {
  std::string words("pod ");
  words += pod;
  words += " has more than ";
  words += std::to_string(limit.most);
  words += ' ';
  words += limit.what;
  words += "; ";
  words += limit.remedy;
  return fail(std::move(words));
}

std::size_t pod_terms(const PodConstraints& constraints) {
  return constraints.affinity.size() + constraints.anti_affinity.size() +
         constraints.preferred.size() + constraints.preferred_anti.size();
}

std::size_t node_terms(const NodeRules& rules) {
  return (rules.required ? rules.required->size() : 0) + rules.preferred.size();
}

using Names = std::set<std::string_view>;

void add_names(const Resources& resources, Names& names) {
  for (const auto& [name, amount] : resources.extended) names.insert(name);
}

bool few_names(const PodSpec& pod) {
  std::size_t most = pod.overhead.extended.size() + pod.pod_hugepages.size();
  for (const auto& container : pod.containers) most += container.resources.extended.size();
  if (most <= kMaxResourceNames) return true;
  Names names;
  add_names(pod.overhead, names);
  for (const auto& [name, amount] : pod.pod_hugepages) names.insert(name);
  for (const auto& container : pod.containers) add_names(container.resources, names);
  return names.size() <= kMaxResourceNames;
}

std::size_t weight(const CardFilter& filter) {
  return weight(filter.models_any) + weight(filter.models_none) + weight(filter.ids_any) +
         weight(filter.ids_none);
}

// ---- cutting ----------------------------------------------------------------------------------

// Keeps the first entries, as many as the limit and the budget allow.
template <class List, class Weigh>
void cut(List& list, std::size_t most, std::size_t& budget, Weigh weigh) {
  auto end = list.begin();
  for (std::size_t kept = 0; kept < most && end != list.end(); ++kept, ++end) {
    const std::size_t bytes = weigh(*end);
    if (bytes > budget) break;
    budget -= bytes;
  }
  list.erase(end, list.end());
}

}  // namespace

void cut_rules(NodeRules& rules, PodConstraints& constraints) {
  rules = {};
  constraints.affinity.clear();
  constraints.preferred.clear();
  constraints.preferred_anti.clear();
  constraints.spread.clear();
  std::size_t budget = kMaxRuleBytes / 2;
  cut(constraints.labels, kMaxLabels, budget,
      [](const auto& label) { return weight(label.first) + weight(label.second); });
  budget = kMaxRuleBytes / 2;
  cut(constraints.anti_affinity, kMaxPodTerms, budget,
      [](const PodTerm& term) { return rule_bytes(term); });
  const auto weigh = [](const auto& entry) { return weight(entry); };
  budget = kMaxRuleBytes / 4;
  cut(constraints.ports, kMaxHostPorts, budget, weigh);
  budget = kMaxRuleBytes / 2;
  cut(constraints.claims, kMaxVolumes, budget, weigh);
  cut(constraints.disks, kMaxDisks, budget, weigh);
}

namespace {

void cut_names(PodSpec& pod) {
  Names names;
  add_names(pod.overhead, names);
  for (const auto& container : pod.containers) add_names(container.resources, names);
  if (names.size() <= kMaxBoundResourceNames) return;
  const std::string last(*std::next(names.begin(), kMaxBoundResourceNames));
  const auto cut_one = [&](std::map<std::string, std::int64_t>& extended) {
    extended.erase(extended.lower_bound(last), extended.end());
  };
  cut_one(pod.overhead.extended);
  for (auto& container : pod.containers) cut_one(container.resources.extended);
}

// Moves all resources except cards into the overhead, and keeps only containers with cards, up to
// the limit. Container names of an annotation then no longer match, so the cards count as unnamed.
void fold_containers(PodSpec& pod) {
  if (pod.containers.size() <= kMaxContainers) return;
  Resources all = effective_resources(pod);
  all.pods = 0;
  std::vector<ContainerSpec> with_cards;
  for (auto& container : pod.containers) {
    if (container.gpu.count == 0 || with_cards.size() == kMaxContainers - 1) continue;
    container.resources = {};
    with_cards.push_back(std::move(container));
  }
  with_cards.push_back({.name = "others"});
  pod.containers = std::move(with_cards);
  pod.overhead = std::move(all);
  pod.pod_cpu_milli.reset();
  pod.pod_memory_bytes.reset();
  pod.pod_hugepages.clear();
}

}  // namespace

std::size_t rule_bytes(const Labels& labels) {
  return sum(labels, [](const auto& label) { return weight(label.first) + weight(label.second); });
}

std::size_t rule_bytes(const LabelSelector& selector) { return weight(selector.all); }

std::size_t rule_bytes(std::span<const NodeTerm> terms) {
  return sum(terms, [](const NodeTerm& term) { return weight(term); });
}

std::size_t rule_bytes(const PodTerm& term) {
  return weight(term.topology_key) + rule_bytes(term.selector) + weight(term.namespaces) +
         (term.namespace_selector ? rule_bytes(*term.namespace_selector) : 0);
}

std::size_t rule_bytes(const NodeRules& rules) {
  std::size_t bytes = rule_bytes(rules.selector);
  if (rules.required) bytes += rule_bytes(std::span<const NodeTerm>(*rules.required));
  bytes += sum(rules.preferred, [](const PreferredNodes& p) { return weight(p.term); });
  return bytes + sum(rules.tolerations,
                     [](const Toleration& t) { return weight(t.key) + weight(t.value); });
}

std::size_t rule_bytes(const PodConstraints& constraints) {
  const auto weigh = [](const auto& entry) { return weight(entry); };
  return rule_bytes(constraints.labels) + weight(constraints.affinity) +
         weight(constraints.anti_affinity) + weight(constraints.preferred) +
         weight(constraints.preferred_anti) +
         sum(constraints.spread,
             [](const SpreadRule& rule) {
               return weight(rule.topology_key) + rule_bytes(rule.selector);
             }) +
         sum(constraints.ports, weigh) + sum(constraints.claims, weigh) +
         sum(constraints.disks, weigh);
}

Status within_limits(std::string_view pod, const NodeRules& rules,
                     const PodConstraints& constraints) {
  static constexpr Limit kTerms{kMaxPodTerms, "terms of pod affinity and anti-affinity",
                                "merge some of them into one with several values"};
  static constexpr Limit kSpread{kMaxSpreadRules, "topology spread constraints",
                                 "keep those that matter"};
  static constexpr Limit kNodes{kMaxNodeTerms, "terms of node affinity",
                                "put a label on the nodes that are meant, and select that"};
  static constexpr Limit kTolerations{kMaxTolerations, "tolerations",
                                      "tolerate several taints with operator Exists"};
  static constexpr Limit kSelector{kMaxLabels, "labels in its nodeSelector",
                                   "put one label on the nodes that are meant, and select that"};
  static constexpr Limit kLabels{kMaxLabels, "labels",
                                 "use annotations for labels that no selector needs"};
  static constexpr Limit kPorts{kMaxHostPorts, "host ports", "use a Service"};
  static constexpr Limit kVolumes{kMaxVolumes, "volume claims", "use fewer, larger ones"};
  static constexpr Limit kDisks{kMaxDisks, "disks named in it", "use volume claims"};
  if (pod_terms(constraints) > kTerms.most) return over(pod, kTerms);
  if (constraints.spread.size() > kSpread.most) return over(pod, kSpread);
  if (node_terms(rules) > kNodes.most) return over(pod, kNodes);
  if (rules.tolerations.size() > kTolerations.most) return over(pod, kTolerations);
  if (rules.selector.size() > kSelector.most) return over(pod, kSelector);
  if (constraints.labels.size() > kLabels.most) return over(pod, kLabels);
  if (constraints.ports.size() > kPorts.most) return over(pod, kPorts);
  if (constraints.claims.size() > kVolumes.most) return over(pod, kVolumes);
  if (constraints.disks.size() > kDisks.most) return over(pod, kDisks);
  if (rule_bytes(rules) + rule_bytes(constraints) > kMaxRuleBytes) {
    static constexpr Limit kBytes{
        kMaxRuleBytes >> 10U, "KiB of labels and scheduling rules",
        "put a label on the nodes or pods that are meant, and select that"};
    return over(pod, kBytes);
  }
  return {};
}

Status within_limits(const PodSpec& pod) {
  if (pod.containers.size() > kMaxContainers) {
    return over(pod.name, {kMaxContainers, "containers", "split the pod"});
  }
  const auto asking = std::count_if(pod.containers.begin(), pod.containers.end(),
                                    [](const ContainerSpec& c) { return c.gpu.count > 0; });
  if (static_cast<std::size_t>(asking) > kMaxCardContainers) {
    return over(pod.name, {kMaxCardContainers, "containers that ask for cards", "split the pod"});
  }
  if (!few_names(pod)) {
    return over(pod.name, {kMaxResourceNames, "different resources", "ask for fewer"});
  }
  const std::size_t filters =
      sum(pod.containers, [](const ContainerSpec& c) { return weight(c.gpu.filter); });
  if (filters > kMaxRuleBytes) {
    return over(pod.name, {kMaxRuleBytes >> 10U, "KiB of models and card ids over its containers",
                           "name fewer of them"});
  }
  return within_limits(pod.name, pod.rules, pod.constraints);
}

void cut_to_limits(PodSpec& pod) {
  if (within_limits(pod)) return;
  const std::size_t filters =
      sum(pod.containers, [](const ContainerSpec& c) { return weight(c.gpu.filter); });
  for (auto& container : pod.containers) {
    if (filters > kMaxRuleBytes) container.gpu.filter = {};
  }
  if (!within_limits(pod.name, pod.rules, pod.constraints)) cut_rules(pod.rules, pod.constraints);
  fold_containers(pod);
  cut_names(pod);
}

}  // namespace stowage::core
