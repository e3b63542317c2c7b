#include "core/affinity/affinity_index.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/model/limits.h"

namespace stowage::core {

AffinityIndex::AffinityIndex(const Ledger& ledger)
    : domains_(ledger.nodes()),
      anti_terms_(domains_),
      anti_matches_(sets_, namespaces_, anti_terms_),
      counters_({.nodes = ledger.nodes(),
                 .domains = domains_,
                 .namespaces = namespaces_,
                 .sets = sets_,
                 .pods = node_counts_,
                 .log = log_}) {}

// ---- pods -----------------------------------------------------------------------------------

void AffinityIndex::add(PodIndex pod, NodeIndex node, const PodSpec& spec) {
  remove(pod);
  auto added = std::make_unique<AffinityPod>();
  added->node = node;
  added->set = sets_.intern(spec);
  added->leaving = spec.leaving;
  for (const PodTerm& term : spec.constraints.anti_affinity) {
    if (added->anti_terms.size() == kMaxPodTerms) break;  // see core/model/limits.h
    added->anti_terms.push_back(anti_terms_.intern(term));
  }
  const std::span<const HostPort> ports(spec.constraints.ports.data(),
                                        std::min(spec.constraints.ports.size(), kMaxHostPorts));
  added->host_ports = !ports.empty();
  count(*added, 1);
  ports_.add(pod, node, ports);
  if (pods_.size() <= pod.at()) pods_.resize(pod.at() + 1);
  pods_[pod.at()] = std::move(added);
}

void AffinityIndex::remove(PodIndex pod) {
  if (contains(pod)) {
    const std::unique_ptr<AffinityPod> removed = std::move(pods_[pod.at()]);
    count(*removed, -1);
    if (removed->host_ports) ports_.remove(pod, removed->node);
  }
  free_unused();
}

void AffinityIndex::touch(PodIndex pod) {
  const AffinityPod* known = find(pod);
  if (known == nullptr) return;
  log(*known, -1);
  log(*known, 1);
}

const Labels* AffinityIndex::labels_of(PodIndex pod) const {
  const AffinityPod* known = find(pod);
  return known == nullptr ? nullptr : &sets_[known->set].labels;
}

void AffinityIndex::count(const AffinityPod& pod, std::int32_t delta) {
  node_counts_.add(pod.node, {.set = pod.set, .pods = delta, .leaving = pod.leaving ? delta : 0});
  sets_.add_pods(pod.set, delta);
  for (const AntiTermIndex term : pod.anti_terms) anti_terms_.add_pods(term, pod.node, delta);
  log(pod, static_cast<std::int8_t>(delta));
}

void AffinityIndex::log(const AffinityPod& pod, std::int8_t delta) {
  log_.append({.node = pod.node,
               .set = pod.set,
               .pods = delta,
               .leaving = pod.leaving ? delta : std::int8_t{0},
               .lifts_constraints = delta < 0 && pod.constrains_others()});
}

void AffinityIndex::free_unused() {
  if (sets_.over_limits()) {
    // The log names sets: without it, counters that have not read it to its end must count again.
    log_.clear();
    anti_matches_.forget(sets_.free_empty());
    counters_.forget_sets();
  }
  anti_terms_.free_unused();
}

// ---- questions ------------------------------------------------------------------------------

AffinityFilter AffinityIndex::filter(const PodSpec& pod) {
  return {pod,
          {.ports = ports_,
           .domains = domains_,
           .namespaces = namespaces_,
           .anti_terms = anti_terms_,
           .anti_matches = anti_matches_,
           .counters = counters_}};
}

bool AffinityIndex::affected_since(const PodSpec& pod, std::uint64_t from,
                                   std::int64_t max_changes) const {
  if (from < log_.start() || changes() - from > static_cast<std::uint64_t>(max_changes)) {
    return true;
  }
  const std::string ns(namespace_of(pod.name));
  const auto has_rule_about = [&](const LabelSet& set) {
    const auto selects = [&](const PodTerm& term) {
      return namespaces_.selects(term, set.ns, set.labels);
    };
    const auto& constraints = pod.constraints;
    return std::any_of(constraints.affinity.begin(), constraints.affinity.end(), selects) ||
           std::any_of(constraints.anti_affinity.begin(), constraints.anti_affinity.end(),
                       selects) ||
           std::any_of(constraints.spread.begin(), constraints.spread.end(),
                       [&](const SpreadRule& rule) {
                         return rule.hard && set.ns == ns && matches(rule.selector, set.labels);
                       });
  };
  for (std::uint64_t at = from; at < changes(); ++at) {
    const PodChange& change = log_.at(at);
    if (change.lifts_constraints || has_rule_about(sets_[change.set])) return true;
  }
  return false;
}

AffinityIndex::Sizes AffinityIndex::sizes() const {
  return {.counters = counters_.size(),
          .counter_bytes = counters_.bytes(),
          .domains = domains_.size(),
          .sets = sets_.size(),
          .anti_terms = anti_terms_.size(),
          .shared = counters_.shared()};
}

std::vector<std::string> AffinityIndex::audit() {
  std::vector<std::string> out;
  std::map<std::pair<std::size_t, LabelSetIndex>, std::pair<std::int32_t, std::int32_t>> seen;
  for (const auto& known : pods_) {
    if (!known) continue;
    auto& [pods, leaving] = seen[{known->node.at(), known->set}];
    ++pods;
    if (known->leaving) ++leaving;
  }
  for (std::size_t n = 0; n < node_counts_.rows(); ++n) {
    for (const SetCount& here : node_counts_.on(n)) {
      const auto found = seen.find({n, here.set});
      if (found == seen.end() ||
          found->second != std::pair<std::int32_t, std::int32_t>{here.pods, here.leaving}) {
        out.push_back("pods of a set on node row " + std::to_string(n) + " are miscounted");
      } else {
        seen.erase(found);
      }
    }
  }
  if (!seen.empty()) out.emplace_back("pods of a set are not counted on their node");
  for (auto& line : counters_.audit()) out.push_back(std::move(line));
  return out;
}

}  // namespace stowage::core
