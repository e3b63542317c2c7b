// Peers::test: a pod's rules about its neighbours, and the counters behind them.
#include <algorithm>
#include <limits>

#include "core/peers/peers.h"

namespace stowage::core {
namespace {

constexpr std::size_t kCountersMax = 1024;

}  // namespace

struct Peers::CounterAsk {
  std::vector<PodTerm> all;
  std::string topology_key;
  bool skip_leaving = false;
  std::optional<PeerCounter::Eligible> eligible;
  std::string eligible_key;  // equal text, equal `eligible`
};

// ---- counters -------------------------------------------------------------------------------

bool Peers::means(const PeerCounter& counter, std::uint32_t number) const {
  using Means = PeerCounter::Means;
  if (counter.memo.size() <= number) counter.memo.resize(sets_.size(), Means::unknown);
  Means& memo = counter.memo[number];
  if (memo == Means::unknown) {
    const Set& set = sets_[number];
    const bool yes = std::all_of(counter.all.begin(), counter.all.end(), [&](const PodTerm& term) {
      return means(term, set.ns, set.labels);
    });
    memo = yes ? Means::yes : Means::no;
  }
  return memo == Means::yes;
}

PeerCounter& Peers::counter(const CounterAsk& ask) {
  std::string key;
  for (const PodTerm& term : ask.all) append_key(term, key);
  key += '@' + std::to_string(ask.topology_key.size()) + ':' + ask.topology_key;
  key += ask.skip_leaving ? 's' : 'a';
  key += ask.eligible_key;
  auto& slot = counters_[key];
  if (!slot) {
    slot = std::make_unique<PeerCounter>();
    slot->key = key;
    slot->all = ask.all;
    slot->domains = domains_of(ask.topology_key);
    slot->skip_leaving = ask.skip_leaving;
    slot->eligible = ask.eligible;
  }
  slot->asked_at = clock_;
  catch_up(*slot);
  return *slot;
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
  counter.node_counts.clear();
  if (counter.eligible) counter.node_counts.assign(ledger_.node_slots(), 0);
  for (std::size_t n = 0; n < domains.of_node.size(); ++n) {
    const std::uint32_t domain = domains.of_node[n];
    if (domain == kNone) continue;
    if (counter.eligible) {
      const NodeSpec& spec = ledger_.spec(NodeIndex(n));
      const auto& eligible = *counter.eligible;
      const bool counts =
          std::all_of(eligible.labels.begin(), eligible.labels.end(),
                      [&](const std::string& label) { return spec.labels.contains(label); }) &&
          (!eligible.selected_by || selects(*eligible.selected_by, spec.name, spec.labels)) &&
          (!eligible.tolerated_by || untolerated(*eligible.tolerated_by, spec.taints) == nullptr);
      if (!counts) continue;
      counter.node_counts[n] = 1;
    }
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
  for (; counter.at < changes(); ++counter.at) {
    const Change& change = log_[counter.at - log_start_];
    const std::size_t node = change.node.at();
    const std::uint32_t domain = node < domains.of_node.size() ? domains.of_node[node] : kNone;
    if (domain == kNone || !means(counter, change.set)) continue;
    if (counter.eligible && counter.node_counts[node] == 0) continue;
    const std::int64_t pods = change.pods - (counter.skip_leaving ? change.leaving : 0);
    counter.pods[domain] += pods;
    counter.total += pods;
  }
}

void Peers::evict_counters() {
  if (counters_.size() <= kCountersMax) return;
  std::vector<std::uint64_t> asked;
  for (const auto& [key, counter] : counters_) asked.push_back(counter->asked_at);
  const auto middle = asked.begin() + static_cast<std::ptrdiff_t>(asked.size() / 2);
  std::nth_element(asked.begin(), middle, asked.end());
  const std::uint64_t keep_from = *middle;
  std::erase_if(counters_, [&](const auto& entry) { return entry.second->asked_at < keep_from; });
}

// ---- the test -------------------------------------------------------------------------------

void Peers::add_affinity(const PodSpec& pod, Test& test) {
  const std::string ns(namespace_of(pod.name));
  const auto& terms = pod.around.affinity;
  std::int64_t anybody = 0;
  for (const PodTerm& term : terms) {
    // A pod near by counts only if all terms mean it.
    const PeerCounter& found = counter({.all = terms, .topology_key = term.topology_key});
    test.affinity_.push_back(&found);
    anybody += found.total;
  }
  test.series_begins_ =
      anybody == 0 && std::all_of(terms.begin(), terms.end(), [&](const PodTerm& term) {
        return means(term, ns, pod.around.labels);
      });
}

void Peers::add_spread(const PodSpec& pod, const SpreadRule& rule, Test& test) {
  CounterAsk ask{.topology_key = rule.topology_key, .skip_leaving = true};
  const std::string ns(namespace_of(pod.name));
  ask.all = {PodTerm{.selector = rule.selector, .namespaces = {ns}}};
  // A selector that accepts everything counts nobody but the pod itself: so it is in Kubernetes.
  if (rule.selector.all.empty()) ask.all.front().selector.nothing = true;
  auto& eligible = ask.eligible.emplace();
  for (const SpreadRule& other : pod.around.spread) {
    if (other.hard == rule.hard) eligible.labels.push_back(other.topology_key);
  }
  std::sort(eligible.labels.begin(), eligible.labels.end());
  for (const auto& label : eligible.labels) {
    ask.eligible_key += '#' + std::to_string(label.size()) + ':' + label;
  }
  if (rule.honour_affinity && (!pod.rules.selector.empty() || pod.rules.required)) {
    NodeRules nodes;
    nodes.selector = pod.rules.selector;
    nodes.required = pod.rules.required;
    ask.eligible_key += 'n';
    append_key(nodes, ask.eligible_key);
    eligible.selected_by = std::move(nodes);
  }
  if (rule.honour_taints) {
    NodeRules tolerations;
    tolerations.tolerations = pod.rules.tolerations;
    ask.eligible_key += 't';
    append_key(tolerations, ask.eligible_key);
    eligible.tolerated_by = pod.rules.tolerations;
  }
  const PeerCounter& found = counter(ask);
  if (!rule.hard) return test.soft_.push_back(&found);
  std::int64_t least = std::numeric_limits<std::int32_t>::max();
  std::int64_t domains = 0;
  for (std::size_t d = 0; d < found.pods.size(); ++d) {
    if (found.nodes[d] == 0) continue;
    ++domains;
    least = std::min(least, found.pods[d]);
  }
  if (domains < rule.min_domains) least = 0;
  const std::int64_t self = matches(rule.selector, pod.around.labels) ? 1 : 0;
  test.spread_.push_back({.counter = &found, .limit = rule.max_skew + least - self});
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
  for (const PodTerm& term : around.anti_affinity) {
    test.anti_.push_back(&counter({.all = {term}, .topology_key = term.topology_key}));
  }
  for (const PodTerm& term : around.preferred) {
    test.likes_.push_back({.counter = &counter({.all = {term}, .topology_key = term.topology_key}),
                           .weight = term.weight});
  }
  for (const PodTerm& term : around.preferred_anti) {
    test.likes_.push_back({.counter = &counter({.all = {term}, .topology_key = term.topology_key}),
                           .weight = -std::int64_t{term.weight}});
  }
  if (anti_.size() > dead_terms_.size()) {
    for (const std::uint32_t number : others_against(intern(pod))) {
      AntiTerm& term = anti_[number];
      if (term.by_node.empty()) continue;
      place_anti(term);
      test.others_.push_back(number);
    }
  }
  return test;
}

bool Peers::Test::any() const {
  return !affinity_.empty() || !anti_.empty() || !others_.empty() || !spread_.empty() ||
         !pod_->around.ports.empty();
}

namespace {

std::uint32_t domain_in(const std::vector<std::uint32_t>& of_node, NodeIndex node) {
  return node.at() < of_node.size() ? of_node[node.at()] : ~0U;
}

}  // namespace

ReasonCode Peers::Test::check(NodeIndex node) const {
  const auto domain_of = [&](std::uint32_t domains) {
    return domain_in(peers_->domains_[domains].of_node, node);
  };
  if (peers_->port_taken(node, pod_->around.ports)) return ReasonCode::host_port;
  for (const SpreadTest& spread : spread_) {
    const std::uint32_t domain = domain_of(spread.counter->domains);
    if (domain == kNone) return ReasonCode::spread_label;
    if (spread.counter->pods[domain] > spread.limit) return ReasonCode::spread;
  }
  bool together = true;
  for (const PeerCounter* counter : affinity_) {
    const std::uint32_t domain = domain_of(counter->domains);
    if (domain == kNone) return ReasonCode::pod_affinity;
    together = together && counter->pods[domain] > 0;
  }
  if (!together && !series_begins_) return ReasonCode::pod_affinity;
  for (const PeerCounter* counter : anti_) {
    const std::uint32_t domain = domain_of(counter->domains);
    if (domain != kNone && counter->pods[domain] > 0) return ReasonCode::pod_anti_affinity;
  }
  for (const std::uint32_t number : others_) {
    const AntiTerm& term = peers_->anti_[number];
    const std::uint32_t domain = domain_of(term.domains);
    if (domain != kNone && term.by_domain[domain] > 0) return ReasonCode::others_anti_affinity;
  }
  return ReasonCode::none;
}

std::int64_t Peers::Test::crowd(NodeIndex node) const {
  std::int64_t pods = 0;
  for (const PeerCounter* counter : soft_) {
    const std::uint32_t domain = domain_in(peers_->domains_[counter->domains].of_node, node);
    if (domain != kNone) pods += counter->pods[domain];
  }
  return pods;
}

std::int64_t Peers::Test::liking(NodeIndex node) const {
  std::int64_t sum = 0;
  for (const Like& like : likes_) {
    const std::uint32_t domain = domain_in(peers_->domains_[like.counter->domains].of_node, node);
    if (domain != kNone) sum += like.weight * like.counter->pods[domain];
  }
  return sum;
}

// ---- audit ----------------------------------------------------------------------------------

std::vector<std::string> Peers::audit() {
  std::vector<std::string> out;
  std::map<std::pair<std::size_t, std::uint32_t>, std::pair<std::int32_t, std::int32_t>> seen;
  for (const auto& seat : seats_) {
    if (!seat) continue;
    auto& [pods, leaving] = seen[{seat->node.at(), seat->set}];
    ++pods;
    if (seat->leaving) ++leaving;
  }
  for (std::size_t n = 0; n < on_node_.size(); ++n) {
    for (const OnNode& here : on_node_[n]) {
      const auto found = seen.find({n, here.set});
      if (found == seen.end() ||
          found->second != std::pair<std::int32_t, std::int32_t>{here.pods, here.leaving}) {
        out.push_back("pods of a set on node slot " + std::to_string(n) + " are miscounted");
      } else {
        seen.erase(found);
      }
    }
  }
  if (!seen.empty()) out.emplace_back("pods of a set are not counted on their node");
  for (auto& [key, counter] : counters_) {
    catch_up(*counter);
    PeerCounter anew = *counter;
    anew.memo.clear();
    recount(anew);
    if (anew.pods != counter->pods || anew.total != counter->total) {
      out.push_back("a counter is off: " + key);
    }
  }
  return out;
}

}  // namespace stowage::core
