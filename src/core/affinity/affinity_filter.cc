#include "core/affinity/affinity_filter.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace stowage::core {
namespace {

// With more terms of other pods than this, their domains are merged by topology key.
constexpr std::size_t kMaxUnmerged = 16;

}  // namespace

// ---- making a filter ------------------------------------------------------------------------

AffinityFilter::AffinityFilter(const PodSpec& pod, const Sources& sources)
    : pod_(&pod),
      ports_(&sources.ports),
      domains_(&sources.domains),
      anti_terms_(&sources.anti_terms) {
  sources.counters.start_round();
  for (const SpreadRule& rule : pod.constraints.spread) add_spread(rule, sources);
  if (!pod.constraints.affinity.empty()) add_affinity(sources);
  add_own_terms(sources.counters);
  if (sources.anti_terms.any_used()) add_terms_of_others(sources);
}

void AffinityFilter::add_spread(const SpreadRule& rule, const Sources& sources) {
  PodTerm term{.selector = rule.selector, .namespaces = {std::string(namespace_of(pod_->name))}};
  // As in Kubernetes, an empty selector counts no pod but this one.
  if (rule.selector.all.empty()) term.selector.nothing = true;
  const TopologyCounter& counter =
      sources.counters.get({.terms = {&term, 1},
                            .topology_key = rule.topology_key,
                            .skip_leaving = true,
                            .eligible = sources.counters.criteria().nodes(*pod_, rule)});
  if (!rule.hard) return soft_spread_.push_back(&counter);
  std::int64_t least = std::numeric_limits<std::int32_t>::max();
  std::int64_t domains = 0;
  for (std::size_t d = 0; d < counter.domains(); ++d) {
    if (counter.nodes(DomainIndex(d)) == 0) continue;
    ++domains;
    least = std::min(least, counter.pods(DomainIndex(d)));
  }
  if (domains < rule.min_domains) least = 0;
  const std::int64_t skew =
      rule.max_skew - (matches(rule.selector, pod_->constraints.labels) ? 1 : 0);
  hard_spread_.push_back({.counter = &counter,
                          .limit = skew + least,
                          .skew = skew,
                          .fixed = domains < rule.min_domains});
}

void AffinityFilter::add_affinity(const Sources& sources) {
  const auto& terms = pod_->constraints.affinity;
  // A pod near by counts only if all terms select it.
  CounterCache::Request request{.terms = terms};
  // With several terms their text would be part of each counter's key.
  if (terms.size() > 1) request.shared_terms = sources.counters.criteria().terms(terms);
  for (const PodTerm& term : terms) {
    request.topology_key = term.topology_key;
    const TopologyCounter& counter = sources.counters.get(request);
    affinity_.push_back(&counter);
    affinity_pods_ += counter.total();
  }
  const std::string ns(namespace_of(pod_->name));
  selects_itself_ = std::all_of(terms.begin(), terms.end(), [&](const PodTerm& term) {
    return sources.namespaces.selects(term, ns, pod_->constraints.labels);
  });
}

void AffinityFilter::add_own_terms(CounterCache& counters) {
  const auto counter = [&](const PodTerm& term) {
    return &counters.get({.terms = {&term, 1}, .topology_key = term.topology_key});
  };
  const PodConstraints& constraints = pod_->constraints;
  for (const PodTerm& term : constraints.anti_affinity) anti_affinity_.push_back(counter(term));
  for (const PodTerm& term : constraints.preferred) {
    preferences_.push_back({.counter = counter(term), .weight = term.weight});
  }
  for (const PodTerm& term : constraints.preferred_anti) {
    preferences_.push_back({.counter = counter(term), .weight = -std::int64_t{term.weight}});
  }
}

void AffinityFilter::add_terms_of_others(const Sources& sources) {
  terms_of_others_ = sources.anti_matches.find(*pod_);
  for (const AntiTermIndex term : terms_of_others_) sources.anti_terms.refresh(term);
  if (terms_of_others_.size() > kMaxUnmerged) merge_terms_of_others();
}

void AffinityFilter::merge_terms_of_others() {
  std::map<TopologyKeyIndex, std::size_t> places;  // in excluded_
  for (const AntiTermIndex index : terms_of_others_) {
    const AntiTerm& term = (*anti_terms_)[index];
    const NodeDomains& domains = (*domains_)[term.topology];
    if (domains.count == 0) continue;
    const auto [at, fresh] = places.emplace(term.topology, excluded_.size());
    if (fresh) {
      excluded_.push_back(
          {.topology = term.topology, .pods = std::vector<std::int32_t>(domains.count, 0)});
    }
    for (const auto& [node, pods] : term.by_node) {
      const DomainIndex domain = domains.of(node);
      if (domain.valid()) excluded_[at->second].pods[domain.at()] += pods;
    }
  }
  merged_terms_ = std::exchange(terms_of_others_, {});
}

bool AffinityFilter::any() const {
  return !affinity_.empty() || !anti_affinity_.empty() || !terms_of_others_.empty() ||
         !excluded_.empty() || !hard_spread_.empty() || !pod_->constraints.ports.empty();
}

// ---- one node -------------------------------------------------------------------------------

std::int64_t AffinityFilter::pods_in(const TopologyCounter& counter, DomainIndex domain,
                                     NodeIndex node, const RemovedPods* removed) {
  return counter.pods(domain) - (removed == nullptr ? 0 : removed->counted_by(counter, node));
}

ReasonCode AffinityFilter::check_spread(NodeIndex node, const RemovedPods* removed) const {
  for (const HardSpread& spread : hard_spread_) {
    const TopologyCounter& counter = *spread.counter;
    const DomainIndex domain = domain_of(counter.topology(), node);
    if (!domain.valid()) return ReasonCode::spread_label;
    const std::int64_t here = pods_in(counter, domain, node, removed);
    // Without the removed pods this domain may be the emptiest one.
    const bool emptier = removed != nullptr && !spread.fixed && counter.nodes(domain) != 0;
    const std::int64_t limit = emptier ? std::min(spread.limit, spread.skew + here) : spread.limit;
    if (here > limit) return ReasonCode::spread;
  }
  return ReasonCode::none;
}

// Each domain of the node has a pod that all affinity terms select, or this pod may be the first.
bool AffinityFilter::check_affinity(NodeIndex node, const RemovedPods* removed) const {
  bool all = true;
  std::int64_t anywhere = affinity_pods_;
  for (const TopologyCounter* counter : affinity_) {
    const DomainIndex domain = domain_of(counter->topology(), node);
    if (!domain.valid()) return false;
    const std::int64_t here = pods_in(*counter, domain, node, removed);
    anywhere -= counter->pods(domain) - here;
    all = all && here > 0;
  }
  return all || (selects_itself_ && anywhere == 0);
}

bool AffinityFilter::excluded_by_others(NodeIndex node, const RemovedPods* removed) const {
  for (const AntiTermIndex index : terms_of_others_) {
    const AntiTerm& term = (*anti_terms_)[index];
    const DomainIndex domain = domain_of(term.topology, node);
    const std::int32_t taken = removed == nullptr ? 0 : removed->with_term(index);
    if (domain.valid() && term.by_domain.count(domain) > taken) return true;
  }
  for (const ExcludedDomains& excluded : excluded_) {
    const DomainIndex domain = domain_of(excluded.topology, node);
    if (!domain.valid() || excluded.pods[domain.at()] == 0) continue;
    if (removed == nullptr) return true;
    std::int32_t taken = 0;
    for (const auto& [index, pods] : removed->by_term()) {
      const bool merged = (*anti_terms_)[index].topology == excluded.topology &&
                          std::binary_search(merged_terms_.begin(), merged_terms_.end(), index);
      if (merged) taken += pods;
    }
    if (excluded.pods[domain.at()] > taken) return true;
  }
  return false;
}

ReasonCode AffinityFilter::check(NodeIndex node, const RemovedPods* removed) const {
  if (ports_->conflicts(node, pod_->constraints.ports,
                        removed == nullptr ? nullptr : &removed->pods())) {
    return ReasonCode::host_port;
  }
  if (const ReasonCode spread = check_spread(node, removed); spread != ReasonCode::none) {
    return spread;
  }
  if (!affinity_.empty() && !check_affinity(node, removed)) return ReasonCode::pod_affinity;
  for (const TopologyCounter* counter : anti_affinity_) {
    const DomainIndex domain = domain_of(counter->topology(), node);
    if (domain.valid() && pods_in(*counter, domain, node, removed) > 0) {
      return ReasonCode::pod_anti_affinity;
    }
  }
  return excluded_by_others(node, removed) ? ReasonCode::others_anti_affinity : ReasonCode::none;
}

std::int64_t AffinityFilter::spread_score(NodeIndex node) const {
  std::int64_t pods = 0;
  for (const TopologyCounter* counter : soft_spread_) {
    const DomainIndex domain = domain_of(counter->topology(), node);
    if (domain.valid()) pods += counter->pods(domain);
  }
  return pods;
}

std::int64_t AffinityFilter::preference_score(NodeIndex node) const {
  std::int64_t sum = 0;
  for (const Preference& preference : preferences_) {
    const DomainIndex domain = domain_of(preference.counter->topology(), node);
    if (domain.valid()) sum += preference.weight * preference.counter->pods(domain);
  }
  return sum;
}

}  // namespace stowage::core
