// Peers::test: a pod's rules about its neighbours, and the counters behind them.
#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "core/peers/peers.h"

namespace stowage::core {
namespace {

// More terms of others than that are looked at together, by the keys of their labels.
constexpr std::size_t kOthersApart = 16;

std::size_t bytes_of(const std::string& key, const PeerCounter& counter) {
  return sizeof(PeerCounter) + 2 * key.capacity() + counter.memo.capacity() +
         counter.pods.capacity() * sizeof(counter.pods[0]) +
         counter.nodes.capacity() * sizeof(counter.nodes[0]);
}

}  // namespace

struct Peers::CounterAsk {
  // A pod counts if all of these mean it. With `terms` that list is shared, else it is copied.
  std::span<const PodTerm> all;
  std::shared_ptr<const PeerTerms> terms;
  std::string_view topology_key;
  bool skip_leaving = false;
  std::shared_ptr<const PeerNodes> eligible;
};

// ---- counters -------------------------------------------------------------------------------

bool Peers::means(const PeerCounter& counter, std::uint32_t number) const {
  using Means = PeerCounter::Means;
  if (counter.memo.size() <= number) counter.memo.resize(sets_.size(), Means::unknown);
  Means& memo = counter.memo[number];
  if (memo == Means::unknown) {
    const Set& set = sets_[number];
    const auto& all = counter.terms->all;
    const bool yes = std::all_of(all.begin(), all.end(), [&](const PodTerm& term) {
      return means(term, set.ns, set.labels);
    });
    memo = yes ? Means::yes : Means::no;
  }
  return memo == Means::yes;
}

PeerCounter& Peers::counter(const CounterAsk& ask) {
  std::string& key = key_;
  key.clear();
  if (ask.terms) {
    key += 'L' + std::to_string(ask.terms->number);
  } else {
    key += 'T';
    for (const PodTerm& term : ask.all) append_key(term, key);
  }
  key += '@' + std::to_string(ask.topology_key.size()) + ':';
  key += ask.topology_key;
  key += ask.skip_leaving ? 's' : 'a';
  if (ask.eligible) key += std::to_string(ask.eligible->number);
  auto found = counters_.find(key);
  if (found == counters_.end()) {
    auto made = std::make_unique<PeerCounter>();
    made->terms = ask.terms;
    if (!made->terms) {
      made->terms = std::make_shared<PeerTerms>(
          PeerTerms{.number = 0, .all = {ask.all.begin(), ask.all.end()}});
    }
    made->domains = domains_of(std::string(ask.topology_key));
    made->skip_leaving = ask.skip_leaving;
    made->eligible = ask.eligible;
    found = counters_.emplace(key, std::move(made)).first;
  }
  PeerCounter& counter = *found->second;
  counter.asked_at = clock_;
  catch_up(counter);
  counter_bytes_ -= counter.bytes;
  counter.bytes = bytes_of(found->first, counter);
  counter_bytes_ += counter.bytes;
  return counter;
}

const std::vector<std::uint8_t>& Peers::eligible(const PeerNodes& nodes) const {
  if (nodes.layout == layout_) return nodes.counts;
  nodes.layout = layout_;
  nodes.counts.assign(ledger_.node_slots(), 0);
  for (std::size_t n = 0; n < nodes.counts.size(); ++n) {
    if (!ledger_.present(NodeIndex(n))) continue;
    const NodeSpec& spec = ledger_.spec(NodeIndex(n));
    const bool counts =
        std::all_of(nodes.labels.begin(), nodes.labels.end(),
                    [&](const std::string& label) { return spec.labels.contains(label); }) &&
        (!nodes.selected_by || selects(*nodes.selected_by, spec.name, spec.labels)) &&
        (!nodes.tolerated_by || untolerated(*nodes.tolerated_by, spec.taints) == nullptr);
    nodes.counts[n] = counts ? 1 : 0;
  }
  return nodes.counts;
}

void Peers::recount(PeerCounter& counter) {
  const Domains& domains = fresh(counter.domains);
  counter.layout = layout_;
  if (counter.world != world_) counter.memo.clear();
  counter.world = world_;
  counter.at = changes();
  counter.total = 0;
  counter.pods.assign(domains.count, 0);
  counter.nodes.assign(domains.count, 0);
  if (counter.eligible) (void)eligible(*counter.eligible);
  for (std::size_t n = 0; n < domains.of_node.size(); ++n) {
    const std::uint32_t domain = domains.of_node[n];
    if (domain == kNone || !counts(counter, n)) continue;
    ++counter.nodes[domain];
    if (n >= on_node_.size()) continue;
    for (const OnNode& here : on_node_[n]) {
      if (!means(counter, here.set)) continue;
      const std::int64_t pods = here.pods - (counter.skip_leaving ? here.leaving : 0);
      counter.pods[domain] += pods;
      counter.total += pods;
    }
  }
}

void Peers::catch_up(PeerCounter& counter) {
  if (counter.layout != layout_ || counter.world != world_ || counter.at < log_start_) {
    return recount(counter);
  }
  const Domains& domains = domains_[counter.domains];
  if (domains.count == 0) counter.at = changes();
  for (; counter.at < changes(); ++counter.at) {
    const Change& change = log_[counter.at - log_start_];
    const std::size_t node = change.node.at();
    const std::uint32_t domain = domains.of(node);
    if (domain == kNone || !means(counter, change.set) || !counts(counter, node)) continue;
    const std::int64_t pods = change.pods - (counter.skip_leaving ? change.leaving : 0);
    counter.pods[domain] += pods;
    counter.total += pods;
  }
}

void Peers::evict_counters() {
  if (counters_.size() <= kCountersMax && counter_bytes_ <= kCounterBytes) return;
  std::vector<std::pair<std::uint64_t, const std::string*>> asked;
  for (const auto& [key, counter] : counters_) asked.emplace_back(counter->asked_at, &key);
  std::sort(asked.begin(), asked.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [when, key] : asked) {  // until half of what is allowed is left
    if (counters_.size() <= kCountersMax / 2 && counter_bytes_ <= kCounterBytes / 2) break;
    const auto found = counters_.find(*key);
    counter_bytes_ -= found->second->bytes;
    let_go(found->second->domains);
    counters_.erase(found);
  }
  std::erase_if(terms_, [](const auto& entry) { return entry.second.use_count() == 1; });
  std::erase_if(nodes_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

// ---- the test -------------------------------------------------------------------------------

void Peers::add_affinity(const PodSpec& pod, Test& test) {
  const std::string ns(namespace_of(pod.name));
  const auto& terms = pod.around.affinity;
  CounterAsk ask{.all = terms};
  if (terms.size() > 1) {  // their text would be part of every key
    std::string text;
    for (const PodTerm& term : terms) append_key(term, text);
    auto& shared = terms_[text];
    if (!shared)
      shared = std::make_shared<PeerTerms>(PeerTerms{.number = ++numbers_, .all = terms});
    ask.terms = shared;
  }
  for (const PodTerm& term : terms) {
    // A pod near by counts only if all terms mean it.
    ask.topology_key = term.topology_key;
    const PeerCounter& found = counter(ask);
    test.affinity_.push_back(&found);
    test.affine_ += found.total;
  }
  test.starts_series_ = std::all_of(terms.begin(), terms.end(), [&](const PodTerm& term) {
    return means(term, ns, pod.around.labels);
  });
}

std::shared_ptr<const PeerNodes> Peers::nodes_for(const PodSpec& pod, const SpreadRule& rule) {
  std::vector<std::string> labels;
  for (const SpreadRule& other : pod.around.spread) {
    if (other.hard == rule.hard) labels.push_back(other.topology_key);
  }
  std::sort(labels.begin(), labels.end());
  std::string text;
  for (const auto& label : labels) {
    text += '#' + std::to_string(label.size()) + ':' + label;
  }
  const bool selects =
      rule.honour_affinity && (!pod.rules.selector.empty() || pod.rules.required.has_value());
  NodeRules rules;
  if (selects) {
    rules.selector = pod.rules.selector;
    rules.required = pod.rules.required;
    text += 'n';
    append_key(rules, text);
  }
  if (rule.honour_taints) {
    NodeRules tolerations;
    tolerations.tolerations = pod.rules.tolerations;
    text += 't';
    append_key(tolerations, text);
  }
  auto& shared = nodes_[text];
  if (shared) return shared;
  PeerNodes made{.number = ++numbers_, .labels = std::move(labels)};
  if (selects) made.selected_by = std::move(rules);
  if (rule.honour_taints) made.tolerated_by = pod.rules.tolerations;
  shared = std::make_shared<PeerNodes>(std::move(made));
  return shared;
}

void Peers::add_spread(const PodSpec& pod, const SpreadRule& rule, Test& test) {
  PodTerm term{.selector = rule.selector, .namespaces = {std::string(namespace_of(pod.name))}};
  // A selector that accepts everything counts nobody but the pod itself: so it is in Kubernetes.
  if (rule.selector.all.empty()) term.selector.nothing = true;
  const PeerCounter& found = counter({.all = {&term, 1},
                                      .topology_key = rule.topology_key,
                                      .skip_leaving = true,
                                      .eligible = nodes_for(pod, rule)});
  if (!rule.hard) return test.soft_.push_back(&found);
  std::int64_t least = std::numeric_limits<std::int32_t>::max();
  std::int64_t domains = 0;
  for (std::size_t d = 0; d < found.pods.size(); ++d) {
    if (found.nodes[d] == 0) continue;
    ++domains;
    least = std::min(least, found.pods[d]);
  }
  if (domains < rule.min_domains) least = 0;
  const std::int64_t skew = rule.max_skew - (matches(rule.selector, pod.around.labels) ? 1 : 0);
  test.spread_.push_back({.counter = &found,
                          .limit = skew + least,
                          .skew = skew,
                          .fixed = domains < rule.min_domains});
}

void Peers::add_others(const PodSpec& pod, Test& test) {
  find_others(pod, test.others_);
  for (const std::uint32_t number : test.others_) place_anti(anti_[number]);
  if (test.others_.size() <= kOthersApart) return;
  std::map<std::uint32_t, std::size_t> places;  // by domains, in kept_off_
  for (const std::uint32_t number : test.others_) {
    const AntiTerm& term = anti_[number];
    const Domains& domains = domains_[term.domains];
    if (domains.count == 0) continue;
    const auto [at, fresh] = places.emplace(term.domains, test.kept_off_.size());
    if (fresh) {
      test.kept_off_.push_back(
          {.domains = term.domains, .from = std::vector<std::int32_t>(domains.count, 0)});
    }
    for (const auto& [node, pods] : term.by_node) {
      const std::uint32_t domain = domains.of(node);
      if (domain != kNone) test.kept_off_[at->second].from[domain] += pods;
    }
  }
  test.kept_off_by_ = std::exchange(test.others_, {});  // by rising number
}

Peers::Test Peers::test(const PodSpec& pod) {
  ++clock_;
  evict_counters();
  Test test;
  test.peers_ = this;
  test.pod_ = &pod;
  const Around& around = pod.around;
  for (const SpreadRule& rule : around.spread) add_spread(pod, rule, test);
  if (!around.affinity.empty()) add_affinity(pod, test);
  const auto one = [this](const PodTerm& term) {
    return &counter({.all = {&term, 1}, .topology_key = term.topology_key});
  };
  for (const PodTerm& term : around.anti_affinity) test.anti_.push_back(one(term));
  for (const PodTerm& term : around.preferred) {
    test.likes_.push_back({.counter = one(term), .weight = term.weight});
  }
  for (const PodTerm& term : around.preferred_anti) {
    test.likes_.push_back({.counter = one(term), .weight = -std::int64_t{term.weight}});
  }
  if (anti_.size() > dead_terms_.size() + free_terms_.size()) add_others(pod, test);
  return test;
}

Peers::Sizes Peers::sizes() const {
  return {.counters = counters_.size(),
          .counter_bytes = counter_bytes_,
          .domains = domain_numbers_.size(),
          .sets = set_numbers_.size(),
          .anti_terms = anti_numbers_.size(),
          .shared = terms_.size() + nodes_.size()};
}

bool Peers::Test::any() const {
  return !affinity_.empty() || !anti_.empty() || !others_.empty() || !kept_off_.empty() ||
         !spread_.empty() || !pod_->around.ports.empty();
}

// ---- one node -------------------------------------------------------------------------------

std::uint32_t Peers::Test::domain_of(std::uint32_t domains, NodeIndex node) const {
  return peers_->domains_[domains].of(node.at());
}

std::int64_t Peers::Test::pods_in(const PeerCounter& counter, std::uint32_t domain, NodeIndex node,
                                  const Removed* removed) {
  return counter.pods[domain] - (removed == nullptr ? 0 : removed->counted(counter, node));
}

ReasonCode Peers::Test::check_spread(NodeIndex node, const Removed* removed) const {
  for (const SpreadTest& spread : spread_) {
    const PeerCounter& counter = *spread.counter;
    const std::uint32_t domain = domain_of(counter.domains, node);
    if (domain == kNone) return ReasonCode::spread_label;
    const std::int64_t here = pods_in(counter, domain, node, removed);
    // With fewer pods here this domain may be the emptiest one.
    const bool emptier = removed != nullptr && !spread.fixed && counter.nodes[domain] != 0;
    const std::int64_t limit = emptier ? std::min(spread.limit, spread.skew + here) : spread.limit;
    if (here > limit) return ReasonCode::spread;
  }
  return ReasonCode::none;
}

// Is there a pod in the node's domains that all affinity terms mean, or may this one be the first?
bool Peers::Test::together(NodeIndex node, const Removed* removed) const {
  bool all = true;
  std::int64_t affine = affine_;
  for (const PeerCounter* counter : affinity_) {
    const std::uint32_t domain = domain_of(counter->domains, node);
    if (domain == kNone) return false;
    const std::int64_t here = pods_in(*counter, domain, node, removed);
    affine -= counter->pods[domain] - here;
    all = all && here > 0;
  }
  return all || (starts_series_ && affine == 0);
}

// Does a term of another pod keep the pod off?
bool Peers::Test::kept_off(NodeIndex node, const Removed* removed) const {
  for (const std::uint32_t number : others_) {
    const AntiTerm& term = peers_->anti_[number];
    const std::uint32_t domain = domain_of(term.domains, node);
    const std::int32_t taken = removed == nullptr ? 0 : removed->with_term(number);
    if (domain != kNone && term.by_domain.count(domain) > taken) return true;
  }
  for (const Kept& kept : kept_off_) {
    const std::uint32_t domain = domain_of(kept.domains, node);
    if (domain == kNone || kept.from[domain] == 0) continue;
    if (removed == nullptr) return true;
    std::int32_t taken = 0;
    for (const auto& [number, pods] : removed->anti_) {
      const bool meant = peers_->anti_[number].domains == kept.domains &&
                         std::binary_search(kept_off_by_.begin(), kept_off_by_.end(), number);
      if (meant) taken += pods;
    }
    if (kept.from[domain] > taken) return true;
  }
  return false;
}

ReasonCode Peers::Test::check(NodeIndex node, const Removed* removed) const {
  if (peers_->port_taken(node, pod_->around.ports, removed)) return ReasonCode::host_port;
  if (const ReasonCode spread = check_spread(node, removed); spread != ReasonCode::none) {
    return spread;
  }
  if (!affinity_.empty() && !together(node, removed)) return ReasonCode::pod_affinity;
  for (const PeerCounter* counter : anti_) {
    const std::uint32_t domain = domain_of(counter->domains, node);
    if (domain != kNone && pods_in(*counter, domain, node, removed) > 0) {
      return ReasonCode::pod_anti_affinity;
    }
  }
  return kept_off(node, removed) ? ReasonCode::others_anti_affinity : ReasonCode::none;
}

std::int64_t Peers::Test::crowd(NodeIndex node) const {
  std::int64_t pods = 0;
  for (const PeerCounter* counter : soft_) {
    const std::uint32_t domain = domain_of(counter->domains, node);
    if (domain != kNone) pods += counter->pods[domain];
  }
  return pods;
}

std::int64_t Peers::Test::liking(NodeIndex node) const {
  std::int64_t sum = 0;
  for (const Like& like : likes_) {
    const std::uint32_t domain = domain_of(like.counter->domains, node);
    if (domain != kNone) sum += like.weight * like.counter->pods[domain];
  }
  return sum;
}

}  // namespace stowage::core
