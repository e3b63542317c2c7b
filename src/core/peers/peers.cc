#include "core/peers/peers.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace stowage::core {
namespace {

constexpr std::size_t kLogMax = 1U << 16U;
constexpr std::size_t kDeadTermsMax = 64;

bool same_address(const std::string& a, const std::string& b) {
  const auto every = [](const std::string& ip) { return ip.empty() || ip == "0.0.0.0"; };
  return every(a) || every(b) || a == b;
}

bool clash(const HostPort& a, const HostPort& b) {
  return a.port == b.port && a.protocol == b.protocol && same_address(a.ip, b.ip);
}

}  // namespace

// ---- sets -----------------------------------------------------------------------------------

std::uint32_t Peers::intern(const PodSpec& pod) {
  key_.clear();
  const auto put = [this](std::string_view text) {
    key_ += std::to_string(text.size());
    key_ += ':';
    key_ += text;
  };
  put(namespace_of(pod.name));
  for (const auto& [name, value] : pod.around.labels) {
    put(name);
    put(value);
  }
  const auto known = set_numbers_.find(key_);
  if (known != set_numbers_.end()) return known->second;
  std::uint32_t number = static_cast<std::uint32_t>(sets_.size());
  // The number of a set that nobody speaks of any more, not even the log.
  if (!retired_.empty() && retired_.begin()->first <= log_start_) {
    number = retired_.begin()->second;
    retired_.erase(retired_.begin());
    set_numbers_.erase(sets_[number].key);
    for (auto& [key, counter] : counters_) {
      if (number < counter->memo.size()) counter->memo[number] = PeerCounter::Means::unknown;
    }
  }
  if (number == sets_.size()) sets_.emplace_back();
  sets_[number] = Set{};
  sets_[number].ns = std::string(namespace_of(pod.name));
  sets_[number].labels = pod.around.labels;
  sets_[number].key = key_;
  set_numbers_.emplace(key_, number);
  sets_[number].retired_at = changes() + 1;
  retired_.emplace(sets_[number].retired_at, number);
  return number;
}

void Peers::count(NodeIndex node, std::uint32_t set, std::int32_t pods, std::int32_t leaving) {
  if (on_node_.size() <= node.at()) on_node_.resize(node.at() + 1);
  auto& here = on_node_[node.at()];
  auto at = std::find_if(here.begin(), here.end(), [&](const OnNode& o) { return o.set == set; });
  if (at == here.end()) at = here.insert(here.end(), OnNode{.set = set});
  at->pods += pods;
  at->leaving += leaving;
  if (at->pods == 0) here.erase(at);
  if (log_.size() >= kLogMax) {
    log_.erase(log_.begin(), log_.begin() + kLogMax / 2);
    log_start_ += kLogMax / 2;
  }
  log_.push_back({.node = node,
                  .set = set,
                  .pods = static_cast<std::int8_t>(pods),
                  .leaving = static_cast<std::int8_t>(leaving)});
  Set& counted = sets_[set];
  if (counted.pods == 0) retired_.erase({counted.retired_at, set});
  counted.pods += pods;
  if (counted.pods == 0) {
    counted.retired_at = changes();
    retired_.emplace(counted.retired_at, set);
  }
}

// ---- pods -----------------------------------------------------------------------------------

void Peers::add(PodIndex pod, NodeIndex node, const PodSpec& spec) {
  remove(pod);
  auto seat = std::make_unique<Seat>();
  seat->node = node;
  seat->set = intern(spec);
  seat->leaving = spec.leaving;
  for (const PodTerm& term : spec.around.anti_affinity) seat->anti.push_back(anti_term(term));
  seat->ports = spec.around.ports;
  put_back(pod, std::move(seat));
}

void Peers::remove(PodIndex pod) { (void)lift(pod); }

std::unique_ptr<Peers::Seat> Peers::lift(PodIndex pod) {
  if (pod.at() >= seats_.size() || !seats_[pod.at()]) return nullptr;
  std::unique_ptr<Seat> seat = std::move(seats_[pod.at()]);
  count(seat->node, seat->set, -1, seat->leaving ? -1 : 0);
  log_.back().demanding = !seat->anti.empty() || !seat->ports.empty();
  for (const std::uint32_t term : seat->anti) count_anti(term, seat->node, -1);
  if (!seat->ports.empty()) std::erase(with_ports_[seat->node.at()], pod);
  return seat;
}

void Peers::put_back(PodIndex pod, std::unique_ptr<Seat> seat) {
  if (!seat) return;
  if (seats_.size() <= pod.at()) seats_.resize(pod.at() + 1);
  if (with_ports_.size() <= seat->node.at()) with_ports_.resize(seat->node.at() + 1);
  count(seat->node, seat->set, 1, seat->leaving ? 1 : 0);
  for (const std::uint32_t term : seat->anti) count_anti(term, seat->node, 1);
  if (!seat->ports.empty()) with_ports_[seat->node.at()].push_back(pod);
  seats_[pod.at()] = std::move(seat);
}

const Labels* Peers::labels_of(PodIndex pod) const {
  return seated(pod) ? &sets_[seats_[pod.at()]->set].labels : nullptr;
}

bool Peers::port_taken(NodeIndex node, const std::vector<HostPort>& ports) const {
  if (ports.empty() || node.at() >= with_ports_.size()) return false;
  const auto& there = with_ports_[node.at()];
  return std::any_of(there.begin(), there.end(), [&](PodIndex pod) {
    const auto& taken = seats_[pod.at()]->ports;
    return std::any_of(ports.begin(), ports.end(), [&](const HostPort& port) {
      return std::any_of(taken.begin(), taken.end(),
                         [&](const HostPort& other) { return clash(port, other); });
    });
  });
}

// ---- namespaces -----------------------------------------------------------------------------

void Peers::set(const Namespace& ns) {
  const auto [at, fresh] = namespaces_.emplace(ns.name, ns.labels);
  if (!fresh && at->second == ns.labels) return;
  at->second = ns.labels;
  ++world_;
}

void Peers::drop_namespace(const std::string& name) {
  if (namespaces_.erase(name) > 0) ++world_;
}

bool Peers::in_namespace(const PodTerm& term, const std::string& ns) const {
  if (std::find(term.namespaces.begin(), term.namespaces.end(), ns) != term.namespaces.end()) {
    return true;
  }
  if (!term.namespace_selector) return false;
  const auto found = namespaces_.find(ns);
  return matches(*term.namespace_selector, found == namespaces_.end() ? Labels{} : found->second);
}

bool Peers::means(const PodTerm& term, const std::string& ns, const Labels& labels) const {
  return in_namespace(term, ns) && matches(term.selector, labels);
}

// ---- topology -------------------------------------------------------------------------------

std::uint32_t Peers::domains_of(const std::string& key) {
  const auto [at, fresh] =
      domain_numbers_.emplace(key, static_cast<std::uint32_t>(domains_.size()));
  if (fresh) domains_.push_back({.key = key, .of_node = {}});
  return at->second;
}

Peers::Domains& Peers::fresh(std::uint32_t number) {
  Domains& domains = domains_[number];
  if (domains.layout == layout_) return domains;
  domains.layout = layout_;
  domains.of_node.assign(ledger_.node_slots(), kNone);
  std::map<std::string, std::uint32_t> values;
  for (std::size_t n = 0; n < ledger_.node_slots(); ++n) {
    if (!ledger_.present(NodeIndex(n))) continue;
    const Labels& labels = ledger_.spec(NodeIndex(n)).labels;
    const auto label = labels.find(domains.key);
    if (label == labels.end()) continue;
    const auto next = static_cast<std::uint32_t>(values.size());
    domains.of_node[n] = values.emplace(label->second, next).first->second;
  }
  domains.count = values.size();
  return domains;
}

// ---- anti-affinity of pods that are there ---------------------------------------------------

std::uint32_t Peers::anti_term(const PodTerm& term) {
  std::string key;
  append_key(term, key);
  const auto known = anti_numbers_.find(key);
  if (known != anti_numbers_.end()) return known->second;
  std::uint32_t number = static_cast<std::uint32_t>(anti_.size());
  if (dead_terms_.size() > kDeadTermsMax) {  // take over the number of one that nobody has
    number = dead_terms_.back();
    dead_terms_.pop_back();
    anti_numbers_.erase(anti_[number].key);
    ++world_;  // sets look at all terms again
  } else {
    anti_.emplace_back();
  }
  AntiTerm& fresh_term = anti_[number];
  fresh_term = AntiTerm{};
  fresh_term.term = term;
  fresh_term.key = key;
  fresh_term.domains = domains_of(term.topology_key);
  anti_numbers_.emplace(std::move(key), number);
  return number;
}

void Peers::count_anti(std::uint32_t number, NodeIndex node, std::int32_t delta) {
  AntiTerm& term = anti_[number];
  if (term.by_node.empty()) std::erase(dead_terms_, number);
  std::int32_t& pods = term.by_node[node.at()];
  pods += delta;
  if (pods == 0) term.by_node.erase(node.at());
  if (term.by_node.empty()) dead_terms_.push_back(number);
  if (term.layout != layout_) return;  // counted anew when it is next asked for
  const std::uint32_t domain = domains_[term.domains].of_node[node.at()];
  if (domain != kNone) term.by_domain[domain] += delta;
}

void Peers::place_anti(AntiTerm& term) {
  if (term.layout == layout_) return;
  const Domains& domains = fresh(term.domains);
  term.layout = layout_;
  term.by_domain.assign(domains.count, 0);
  for (const auto& [node, pods] : term.by_node) {
    const std::uint32_t domain = node < domains.of_node.size() ? domains.of_node[node] : kNone;
    if (domain != kNone) term.by_domain[domain] += pods;
  }
}

const std::vector<std::uint32_t>& Peers::others_against(std::uint32_t number) {
  Set& set = sets_[number];
  if (set.anti_world != world_) {
    set.anti.clear();
    set.anti_seen = 0;
    set.anti_world = world_;
  }
  for (; set.anti_seen < anti_.size(); ++set.anti_seen) {
    if (means(anti_[set.anti_seen].term, set.ns, set.labels)) {
      set.anti.push_back(static_cast<std::uint32_t>(set.anti_seen));
    }
  }
  return set.anti;
}

// ---- what has changed -----------------------------------------------------------------------

bool Peers::concerned(const PodSpec& pod, std::uint64_t from) {
  constexpr std::uint64_t kLookAt = 1024;
  if (from < log_start_ || changes() - from > kLookAt) return true;
  const std::string ns(namespace_of(pod.name));
  const auto wanted = [&](const Set& set) {
    const auto named = [&](const PodTerm& term) { return means(term, set.ns, set.labels); };
    const auto& around = pod.around;
    return std::any_of(around.affinity.begin(), around.affinity.end(), named) ||
           std::any_of(around.anti_affinity.begin(), around.anti_affinity.end(), named) ||
           std::any_of(around.spread.begin(), around.spread.end(), [&](const SpreadRule& rule) {
             return rule.hard && set.ns == ns && matches(rule.selector, set.labels);
           });
  };
  for (std::uint64_t at = from; at < changes(); ++at) {
    const Change& change = log_[at - log_start_];
    if (change.demanding || wanted(sets_[change.set])) return true;
  }
  return false;
}

}  // namespace stowage::core
