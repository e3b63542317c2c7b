#include "core/peers/peers.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/model/limits.h"

namespace stowage::core {
namespace {

constexpr std::size_t kLogMax = 1U << 16U;
constexpr std::size_t kDeadTermsMax = 64;
constexpr std::size_t kEmptySetsMax = 4096;
constexpr std::size_t kEmptyBytesMax = std::size_t{1} << 20U;
// Numbers of terms that sets remember, altogether; others are looked for every time.
constexpr std::size_t kAntiKeptMax = std::size_t{1} << 20U;

bool same_address(const std::string& a, const std::string& b) {
  const auto every = [](const std::string& ip) { return ip.empty() || ip == "0.0.0.0"; };
  return every(a) || every(b) || a == b;
}

}  // namespace

// ---- sets -----------------------------------------------------------------------------------

void Peers::put_set_key(const PodSpec& pod) {
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
}

std::uint32_t Peers::intern(const PodSpec& pod) {
  put_set_key(pod);
  const auto known = set_numbers_.find(key_);
  if (known != set_numbers_.end()) return known->second;
  std::uint32_t number = static_cast<std::uint32_t>(sets_.size());
  if (free_sets_.empty()) {
    sets_.emplace_back();
  } else {
    number = free_sets_.back();
    free_sets_.pop_back();
  }
  Set& set = sets_[number];
  set.ns = std::string(namespace_of(pod.name));
  set.labels = pod.around.labels;
  set.key = key_;
  set_numbers_.emplace(key_, number);
  empty_sets_.insert(number);
  empty_bytes_ += key_.size();
  return number;
}

// The log speaks of sets, and so do counters that have not read it to its end: they count anew.
void Peers::free_empty_sets() {
  log_start_ = changes();
  log_ = {};
  for (const std::uint32_t number : empty_sets_) {
    set_numbers_.erase(sets_[number].key);
    anti_kept_ -= sets_[number].anti.size();
    sets_[number] = Set{};
    free_sets_.push_back(number);
  }
  for (auto& [key, counter] : counters_) counter->memo.clear();
  empty_sets_.clear();
  empty_bytes_ = 0;
}

void Peers::count(NodeIndex node, std::uint32_t set, std::int32_t pods, std::int32_t leaving) {
  if (on_node_.size() <= node.at()) on_node_.resize(node.at() + 1);
  auto& here = on_node_[node.at()];
  auto at = std::find_if(here.begin(), here.end(), [&](const OnNode& o) { return o.set == set; });
  if (at == here.end()) at = here.insert(here.end(), OnNode{.set = set});
  at->pods += pods;
  at->leaving += leaving;
  if (at->pods == 0) here.erase(at);
  log({.node = node,
       .set = set,
       .pods = static_cast<std::int8_t>(pods),
       .leaving = static_cast<std::int8_t>(leaving)});
  Set& counted = sets_[set];
  if (counted.pods == 0 && empty_sets_.erase(set) > 0) empty_bytes_ -= counted.key.size();
  counted.pods += pods;
  if (counted.pods != 0) return;
  empty_sets_.insert(set);
  empty_bytes_ += counted.key.size();
}

void Peers::log(const Change& change) {
  if (log_.size() >= kLogMax) {
    log_.erase(log_.begin(), log_.begin() + kLogMax / 2);
    log_start_ += kLogMax / 2;
  }
  log_.push_back(change);
}

// ---- pods -----------------------------------------------------------------------------------

void Peers::add(PodIndex pod, NodeIndex node, const PodSpec& spec) {
  remove(pod);
  auto seat = std::make_unique<Seat>();
  seat->node = node;
  seat->set = intern(spec);
  seat->leaving = spec.leaving;
  for (const PodTerm& term : spec.around.anti_affinity) {
    if (seat->anti.size() == kMaxPodTerms) break;  // see core/model/limits.h
    seat->anti.push_back(anti_term(term));
  }
  const std::size_t ports = std::min(spec.around.ports.size(), kMaxHostPorts);
  seat->ports.assign(spec.around.ports.begin(),
                     spec.around.ports.begin() + static_cast<std::ptrdiff_t>(ports));
  if (seats_.size() <= pod.at()) seats_.resize(pod.at() + 1);
  count(seat->node, seat->set, 1, seat->leaving ? 1 : 0);
  for (const std::uint32_t term : seat->anti) count_anti(term, seat->node, 1);
  if (!seat->ports.empty()) {
    if (ports_on_.size() <= seat->node.at()) ports_on_.resize(seat->node.at() + 1);
    auto& there = ports_on_[seat->node.at()];
    for (const HostPort& port : seat->ports) {
      there.push_back({.port = port.port, .protocol = port.protocol, .ip = port.ip, .pod = pod});
    }
    std::stable_sort(there.begin(), there.end(),
                     [](const PortUse& a, const PortUse& b) { return a.port < b.port; });
  }
  seats_[pod.at()] = std::move(seat);
}

void Peers::remove(PodIndex pod) {
  if (seated(pod)) {
    const std::unique_ptr<Seat> seat = std::move(seats_[pod.at()]);
    count(seat->node, seat->set, -1, seat->leaving ? -1 : 0);
    log_.back().demanding = !seat->anti.empty() || !seat->ports.empty();
    for (const std::uint32_t term : seat->anti) count_anti(term, seat->node, -1);
    if (!seat->ports.empty()) {
      std::erase_if(ports_on_[seat->node.at()], [&](const PortUse& use) { return use.pod == pod; });
    }
  }
  tidy();
}

void Peers::touch(PodIndex pod) {
  if (!seated(pod)) return;
  const Seat& seat = *seats_[pod.at()];
  const std::int8_t leaving = seat.leaving ? 1 : 0;
  log({.node = seat.node,
       .set = seat.set,
       .pods = -1,
       .leaving = static_cast<std::int8_t>(-leaving),
       .demanding = !seat.anti.empty() || !seat.ports.empty()});
  log({.node = seat.node, .set = seat.set, .pods = 1, .leaving = leaving});
}

void Peers::tidy() {
  if (empty_sets_.size() > kEmptySetsMax || empty_bytes_ > kEmptyBytesMax) free_empty_sets();
  while (dead_terms_.size() > kDeadTermsMax) {
    const std::uint32_t number = *dead_terms_.begin();
    dead_terms_.erase(dead_terms_.begin());
    anti_numbers_.erase(anti_[number].key);
    let_go(anti_[number].domains);
    anti_[number] = AntiTerm{};
    free_terms_.insert(number);
  }
  if (free_terms_.empty() || *free_terms_.rbegin() + 1 != anti_.size()) return;
  while (!free_terms_.empty() && *free_terms_.rbegin() + 1 == anti_.size()) {
    free_terms_.erase(std::prev(free_terms_.end()));
    anti_.pop_back();
  }
  if (anti_.capacity() > 4 * anti_.size() + kDeadTermsMax) anti_.shrink_to_fit();
  ++anti_world_;  // sets may name those that are no more
}

// ---- pods that a dry run takes away ---------------------------------------------------------

void Peers::Removed::count(PodIndex pod, std::int32_t delta) {
  const Seat& seat = *peers_->seats_[pod.at()];
  auto& [all, leaving] = sets_[seat.set];
  all += delta;
  if (seat.leaving) leaving += delta;
  for (const std::uint32_t term : seat.anti) anti_[term] += delta;
}

void Peers::Removed::take(PodIndex pod) {
  if (peers_->seated(pod) && pods_.insert(pod).second) count(pod, 1);
}

void Peers::Removed::put_back(PodIndex pod) {
  if (pods_.erase(pod) > 0) count(pod, -1);
}

std::int64_t Peers::Removed::counted(const PeerCounter& counter, NodeIndex node) const {
  std::int64_t pods = 0;
  for (const auto& [set, taken] : sets_) {
    const auto& [all, leaving] = taken;
    if (all == 0 || !peers_->means(counter, set)) continue;
    pods += all - (counter.skip_leaving ? leaving : 0);
  }
  return pods != 0 && peers_->counts(counter, node.at()) ? pods : 0;
}

std::int32_t Peers::Removed::with_term(std::uint32_t number) const {
  const auto found = anti_.find(number);
  return found == anti_.end() ? 0 : found->second;
}

const Labels* Peers::labels_of(PodIndex pod) const {
  return seated(pod) ? &sets_[seats_[pod.at()]->set].labels : nullptr;
}

bool Peers::port_taken(NodeIndex node, const std::vector<HostPort>& ports,
                       const Removed* removed) const {
  if (ports.empty() || node.at() >= ports_on_.size()) return false;
  const auto& there = ports_on_[node.at()];
  return std::any_of(ports.begin(), ports.end(), [&](const HostPort& port) {
    auto at = std::lower_bound(there.begin(), there.end(), port.port,
                               [](const PortUse& use, std::int32_t p) { return use.port < p; });
    for (; at != there.end() && at->port == port.port; ++at) {
      if (removed != nullptr && removed->pods_.contains(at->pod)) continue;
      if (at->protocol == port.protocol && same_address(at->ip, port.ip)) return true;
    }
    return false;
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
  const auto [at, fresh] = domain_numbers_.try_emplace(key, kNone);
  if (fresh && free_domains_.empty()) {
    at->second = static_cast<std::uint32_t>(domains_.size());
    domains_.emplace_back();
  } else if (fresh) {
    at->second = free_domains_.back();
    free_domains_.pop_back();
  }
  Domains& domains = domains_[at->second];
  if (fresh) domains.key = key;
  ++domains.users;
  return at->second;
}

void Peers::let_go(std::uint32_t number) {
  Domains& domains = domains_[number];
  if (--domains.users > 0) return;
  domain_numbers_.erase(domains.key);
  domains = Domains{};
  free_domains_.push_back(number);
}

Peers::Domains& Peers::fresh(std::uint32_t number) {
  Domains& domains = domains_[number];
  if (domains.layout == layout_) return domains;
  if (label_keys_layout_ != layout_) {
    label_keys_layout_ = layout_;
    label_keys_.clear();
    for (std::size_t n = 0; n < ledger_.node_slots(); ++n) {
      if (!ledger_.present(NodeIndex(n))) continue;
      for (const auto& [key, value] : ledger_.spec(NodeIndex(n)).labels) label_keys_.insert(key);
    }
  }
  domains.layout = layout_;
  domains.count = 0;
  if (!label_keys_.contains(domains.key)) {
    domains.of_node = {};
    return domains;
  }
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
  if (free_terms_.empty()) {
    anti_.emplace_back();
  } else {
    number = *free_terms_.begin();
    free_terms_.erase(free_terms_.begin());
    ++anti_world_;  // sets look at all terms again
  }
  AntiTerm& fresh_term = anti_[number];
  fresh_term.term = term;
  fresh_term.key = key;
  fresh_term.domains = domains_of(term.topology_key);
  anti_numbers_.emplace(std::move(key), number);
  return number;
}

void Peers::count_anti(std::uint32_t number, NodeIndex node, std::int32_t delta) {
  AntiTerm& term = anti_[number];
  if (term.by_node.empty()) dead_terms_.erase(number);
  std::int32_t& pods = term.by_node[node.at()];
  pods += delta;
  if (pods == 0) term.by_node.erase(node.at());
  if (term.by_node.empty()) dead_terms_.insert(number);
  if (term.layout != layout_) return;  // counted anew when it is next asked for
  const std::uint32_t domain = domains_[term.domains].of(node.at());
  if (domain != kNone) term.by_domain.add(domain, delta);
}

void Peers::place_anti(AntiTerm& term) {
  if (term.layout == layout_) return;
  const Domains& domains = fresh(term.domains);
  term.layout = layout_;
  term.by_domain.reset(domains.count);
  for (const auto& [node, pods] : term.by_node) {
    const std::uint32_t domain = domains.of(node);
    if (domain != kNone) term.by_domain.add(domain, pods);
  }
}

void Peers::find_others(const PodSpec& pod, std::vector<std::uint32_t>& out) {
  put_set_key(pod);
  auto known = set_numbers_.find(key_);
  if (known == set_numbers_.end() && empty_sets_.size() < kEmptySetsMax &&
      empty_bytes_ + key_.size() < kEmptyBytesMax) {
    (void)intern(pod);
    known = set_numbers_.find(key_);
  }
  if (known != set_numbers_.end()) {
    Set& set = sets_[known->second];
    if (set.anti_world != world_ + anti_world_) {
      anti_kept_ -= set.anti.size();
      set.anti = {};
      set.anti_seen = 0;
      set.anti_world = world_ + anti_world_;
    }
    for (; set.anti_seen < anti_.size() && anti_kept_ < kAntiKeptMax; ++set.anti_seen) {
      if (!means(anti_[set.anti_seen].term, set.ns, set.labels)) continue;
      set.anti.push_back(static_cast<std::uint32_t>(set.anti_seen));
      ++anti_kept_;
    }
    for (const std::uint32_t number : set.anti) {
      if (!anti_[number].by_node.empty()) out.push_back(number);
    }
    if (set.anti_seen == anti_.size()) return;
  }
  const std::size_t seen = known == set_numbers_.end() ? 0 : sets_[known->second].anti_seen;
  const std::string ns(namespace_of(pod.name));
  for (std::size_t i = seen; i < anti_.size(); ++i) {
    if (anti_[i].by_node.empty() || !means(anti_[i].term, ns, pod.around.labels)) continue;
    out.push_back(static_cast<std::uint32_t>(i));
  }
}

// ---- what has changed -----------------------------------------------------------------------

bool Peers::concerned(const PodSpec& pod, std::uint64_t from, std::int64_t look_at) {
  if (from < log_start_ || changes() - from > static_cast<std::uint64_t>(look_at)) return true;
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
