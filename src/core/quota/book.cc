#include "core/quota/book.h"

#include <algorithm>

namespace stowage::core {
namespace {

std::string small(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// What the pod holds at its largest: sidecars + max(apps, each init container).
struct Needs {
  std::int64_t cards = 0;
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
};

Needs needs_of(const GpuAsk& gpu, std::int64_t card_memory_mib) {
  const std::int64_t milli = gpu.whole() ? kMilliPerCard : gpu.milli.value_or(0);
  const bool all_memory = gpu.whole() || gpu.memory_mib == kWholeMemory;
  const std::int64_t mib = all_memory ? card_memory_mib : gpu.memory_mib.value_or(0);
  return {.cards = gpu.count, .milli = milli * gpu.count, .memory_mib = mib * gpu.count};
}

Needs sum(const Needs& a, const Needs& b) {
  return {.cards = a.cards + b.cards,
          .milli = a.milli + b.milli,
          .memory_mib = a.memory_mib + b.memory_mib};
}

Needs most(const Needs& a, const Needs& b) {
  return {.cards = std::max(a.cards, b.cards),
          .milli = std::max(a.milli, b.milli),
          .memory_mib = std::max(a.memory_mib, b.memory_mib)};
}

Needs needs_of(const PodSpec& pod, std::int64_t card_memory_mib) {
  Needs apps;
  Needs sidecars;
  Needs inits;
  for (const auto& container : pod.containers) {
    const Needs needs = needs_of(container.gpu, card_memory_mib);
    switch (container.phase) {
      case Phase::app: apps = sum(apps, needs); break;
      case Phase::sidecar: sidecars = sum(sidecars, needs); break;
      case Phase::init: inits = most(inits, needs); break;
    }
  }
  return sum(sidecars, most(apps, inits));
}

}  // namespace

void QuotaBook::set(Quotas quotas, const Ledger& ledger) {
  quotas_ = std::move(quotas);
  held_.clear();
  charges_.clear();
  card_memory_.clear();
  for (std::size_t n = 0; n < ledger.node_slots(); ++n) node_changed(NodeIndex(n), ledger);
}

bool QuotaBook::limits(std::string_view pod_name) const {
  if (quotas_.namespaces.empty()) return false;
  return quotas_.namespaces.contains(std::string(namespace_of(pod_name)));
}

QuotaBook::Charge QuotaBook::charge_of(const PodRecord& pod, const Ledger& ledger) const {
  Charge charge{.ns = std::string(namespace_of(pod.name))};
  const NodeSpec& node = ledger.spec(pod.node);
  std::int64_t milli = 0;
  const auto take = [&](const std::string& model, const Use& use) {
    for (const std::string& key : {small(model), std::string("*")}) {
      Use& total = charge.held.models[key];
      total.cards += use.cards;
      total.milli += use.milli;
      total.memory_mib += use.memory_mib;
    }
    milli += use.milli;
  };
  for (const auto& share : pod.charges) {
    take(node.cards[share.card].model,
         {.cards = 1, .milli = share.milli, .memory_mib = share.memory_mib});
  }
  if (!node.cards.empty()) {
    const Card& any = node.cards.front();
    for (std::int32_t i = 0; i < pod.unknown_whole; ++i) {
      take(any.model, {.cards = 1, .milli = kMilliPerCard, .memory_mib = any.memory_mib});
    }
    if (pod.unknown != CardCharge{}) {
      take(any.model, {.cards = pod.unknown.slots,
                       .milli = pod.unknown.milli,
                       .memory_mib = std::min(pod.unknown.memory_mib, any.memory_mib)});
    }
  }
  const auto label = node.labels.find(quotas_.model_label);
  if (label != node.labels.end()) charge.held.on_nodes[label->second] = milli;
  return charge;
}

void QuotaBook::add(const Charge& charge, std::int64_t sign) {
  Held& held = held_[charge.ns];
  for (const auto& [model, use] : charge.held.models) {
    Use& total = held.models[model];
    total.cards += sign * use.cards;
    total.milli += sign * use.milli;
    total.memory_mib += sign * use.memory_mib;
  }
  for (const auto& [label, milli] : charge.held.on_nodes) held.on_nodes[label] += sign * milli;
}

void QuotaBook::charge(PodIndex pod, const Ledger& ledger) {
  release(pod);
  const PodRecord& record = ledger.pod(pod);
  if (!limits(record.name)) return;
  const auto [at, fresh] = charges_.emplace(pod.at(), charge_of(record, ledger));
  add(at->second, 1);
}

void QuotaBook::release(PodIndex pod) {
  if (charges_.empty()) return;
  const auto found = charges_.find(pod.at());
  if (found == charges_.end()) return;
  add(found->second, -1);
  charges_.erase(found);
}

void QuotaBook::node_changed(NodeIndex node, const Ledger& ledger) {
  if (quotas_.namespaces.empty()) return;
  for (const Card& card : ledger.spec(node).cards) {
    std::int64_t& largest = card_memory_[small(card.model)];
    largest = std::max<std::int64_t>(largest, card.memory_mib);
    std::int64_t& of_all = card_memory_["*"];
    of_all = std::max(of_all, largest);
  }
  for (const PodIndex pod : ledger.pods_on(node)) charge(pod, ledger);
}

void QuotaBook::add_excesses(const ModelLimit& limit, const Held& held, const PodSpec& pod,
                             std::vector<QuotaExcess>& out) const {
  const std::string model = small(limit.model);
  const auto memory = card_memory_.find(model);
  const Needs needs = needs_of(pod, memory == card_memory_.end() ? 0 : memory->second);
  const auto used = held.models.find(model);
  const Use use = used == held.models.end() ? Use{} : used->second;
  using Unit = QuotaExcess::Unit;
  const auto check = [&](Unit unit, std::int64_t asked, std::int64_t held_now,
                         const std::optional<std::int64_t>& most) {
    if (!most || held_now + asked <= *most) return;
    out.push_back(
        {.model = limit.model, .unit = unit, .asked = asked, .used = held_now, .allowed = *most});
  };
  check(Unit::cards, needs.cards, use.cards, limit.cards);
  check(Unit::milli, needs.milli, use.milli, limit.milli);
  check(Unit::memory_mib, needs.memory_mib, use.memory_mib, limit.memory_mib);
}

std::vector<QuotaExcess> QuotaBook::excesses(const PodSpec& pod) const {
  std::vector<QuotaExcess> out;
  const std::string ns(namespace_of(pod.name));
  const auto quota = quotas_.namespaces.find(ns);
  if (quota == quotas_.namespaces.end() || !asks_for_cards(pod)) return out;
  const auto held_here = held_.find(ns);
  const Held held = held_here == held_.end() ? Held{} : held_here->second;
  for (const auto& limit : quota->second.limits) add_excesses(limit, held, pod, out);
  if (!quota->second.by_node) return out;
  const std::int64_t asked = needs_of(pod, 0).milli;
  for (const auto& [model, limit] : quota->second.by_node->milli) {
    const std::int64_t used = used_on_nodes(ns, model);
    if (used + asked <= limit) continue;
    out.push_back({.model = model,
                   .unit = QuotaExcess::Unit::milli,
                   .asked = asked,
                   .used = used,
                   .allowed = limit});
  }
  return out;
}

QuotaBounds QuotaBook::bounds(const PodSpec& pod) const {
  QuotaBounds bounds;
  const std::string ns(namespace_of(pod.name));
  const auto quota = quotas_.namespaces.find(ns);
  if (quota == quotas_.namespaces.end() || !asks_for_cards(pod)) return bounds;
  const auto held_here = held_.find(ns);
  const Held held = held_here == held_.end() ? Held{} : held_here->second;
  for (const auto& limit : quota->second.limits) {
    std::vector<QuotaExcess> over;
    add_excesses(limit, held, pod, over);
    if (!over.empty()) bounds.spent.push_back(small(limit.model));
  }
  std::sort(bounds.spent.begin(), bounds.spent.end());
  if (!quota->second.by_node) return bounds;
  bounds.by_node = true;
  bounds.model_label = quotas_.model_label;
  bounds.pool_label = quotas_.pool_label;
  bounds.pools = quota->second.by_node->pools;
  const std::int64_t asked = needs_of(pod, 0).milli;
  for (const auto& [model, limit] : quota->second.by_node->milli) {
    const auto used = held.on_nodes.find(model);
    const std::int64_t now = used == held.on_nodes.end() ? 0 : used->second;
    if (now + asked <= limit) bounds.models.push_back(model);
  }
  return bounds;
}

bool QuotaBook::leaves(const PodSpec& pod, const NodeSpec& node, const Assignment& cards) const {
  if (!limits(pod.name)) return true;
  const QuotaBounds left = bounds(pod);
  const auto labelled = [&](const std::string& label, const std::vector<std::string>& values) {
    const auto found = node.labels.find(label);
    return found != node.labels.end() &&
           std::find(values.begin(), values.end(), found->second) != values.end();
  };
  if (left.by_node && (!labelled(left.model_label, left.models) ||
                       (!left.pools.empty() && !labelled(left.pool_label, left.pools)))) {
    return false;
  }
  const auto spent = [&](const std::string& model) {
    return std::binary_search(left.spent.begin(), left.spent.end(), model);
  };
  if (spent("*")) return false;
  for (const auto& container : cards.containers) {
    for (const CardShare& share : container) {
      if (spent(small(node.cards[share.card].model))) return false;
    }
  }
  return true;
}

QuotaBook::Use QuotaBook::used(const std::string& ns, const std::string& model) const {
  const auto held = held_.find(ns);
  if (held == held_.end()) return {};
  const auto found = held->second.models.find(model);
  return found == held->second.models.end() ? Use{} : found->second;
}

std::int64_t QuotaBook::used_on_nodes(const std::string& ns, const std::string& label) const {
  const auto held = held_.find(ns);
  if (held == held_.end()) return 0;
  const auto found = held->second.on_nodes.find(label);
  return found == held->second.on_nodes.end() ? 0 : found->second;
}

}  // namespace stowage::core
