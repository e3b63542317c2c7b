#include "core/quota/quota_tracker.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace stowage::core {
namespace {

using Use = QuotaTracker::Use;
using Sizes = std::map<std::int32_t, std::int64_t>;  // as in QuotaTracker

constexpr const char* kAllModels = "*";

Use sum(const Use& a, const Use& b) {
  return {.cards = a.cards + b.cards,
          .milli = a.milli + b.milli,
          .memory_mib = a.memory_mib + b.memory_mib};
}

Use most(const Use& a, const Use& b) {
  return {.cards = std::max(a.cards, b.cards),
          .milli = std::max(a.milli, b.milli),
          .memory_mib = std::max(a.memory_mib, b.memory_mib)};
}

// The share of a card by compute or memory, whichever is larger. If the card's memory size is
// unknown, any memory counts as a whole card.
std::int64_t share_of_card(std::int64_t milli, std::int64_t memory_mib, std::int64_t card_mib) {
  if (memory_mib <= 0) return milli;
  const std::int64_t part =
      card_mib <= 0 ? kMilliPerCard : (memory_mib * kMilliPerCard + card_mib - 1) / card_mib;
  return std::max(milli, std::min<std::int64_t>(part, kMilliPerCard));
}

Use use_of(const CardCharge& charge, std::int32_t card_mib) {
  return {.cards = 1,
          .milli = share_of_card(charge.milli, charge.memory_mib, card_mib),
          .memory_mib = charge.memory_mib};
}

// The most that a container may take, on cards of these sizes.
Use needs_of(const UnnamedRequest& ask, const Sizes& sizes) {
  const std::int64_t largest = sizes.empty() ? 0 : sizes.rbegin()->first;
  const std::int64_t milli = ask.whole() ? kMilliPerCard : ask.milli.value_or(0);
  const std::int32_t memory = ask.memory_mib.value_or(0);
  Use each{.cards = 1, .milli = milli};
  if (ask.whole() || memory == kWholeMemory) {
    each.milli = kMilliPerCard;
    each.memory_mib = largest;
  } else if (memory == kMemoryWithCore) {
    each.memory_mib = milli * largest / kMilliPerCard;
  } else if (memory > 0) {
    // The request is the largest fraction of the smallest card that holds it.
    const auto holds = sizes.lower_bound(memory);
    each.milli = share_of_card(milli, memory, holds == sizes.end() ? 0 : holds->first);
    each.memory_mib = memory;
  }
  return {.cards = ask.count,
          .milli = each.milli * ask.count,
          .memory_mib = each.memory_mib * ask.count};
}

// The pod's peak use: sidecars + max(apps, each init container).
Use needs_of(const std::vector<UnnamedRequest>& asks, const Sizes& sizes) {
  Use apps;
  Use sidecars;
  Use inits;
  for (const UnnamedRequest& ask : asks) {
    const Use needs = needs_of(ask, sizes);
    switch (ask.phase) {
      case Phase::app: apps = sum(apps, needs); break;
      case Phase::sidecar: sidecars = sum(sidecars, needs); break;
      case Phase::init: inits = most(inits, needs); break;
    }
  }
  return sum(sidecars, most(apps, inits));
}

// Thousandths of cards whose memory the containers also take, if the memory size is unknown.
std::int64_t unsized_milli(std::vector<UnnamedRequest> asks) {
  std::erase_if(asks, [](const UnnamedRequest& ask) {
    const std::int32_t memory = ask.memory_mib.value_or(0);
    return !ask.whole() && memory != kWholeMemory && memory != kMemoryWithCore;
  });
  return needs_of(asks, {{kMilliPerCard, 1}}).memory_mib;  // 1 MiB per thousandth
}

std::vector<QuotaExcess> exceeded(const ModelLimit& limit, const Use& used, const Use& asked) {
  using Unit = QuotaExcess::Unit;
  std::vector<QuotaExcess> out;
  const auto check = [&](Unit unit, std::int64_t more, std::int64_t now,
                         const std::optional<std::int64_t>& most) {
    if (!most || now + more <= *most) return;
    out.push_back(
        {.model = limit.model, .unit = unit, .asked = more, .used = now, .allowed = *most});
  };
  check(Unit::cards, asked.cards, used.cards, limit.cards);
  check(Unit::milli, asked.milli, used.milli, limit.milli);
  check(Unit::memory_mib, asked.memory_mib, used.memory_mib, limit.memory_mib);
  return out;
}

}  // namespace

const QuotaTracker::Sizes& QuotaTracker::sizes_of(const std::map<std::string, Sizes>& all,
                                                  const std::string& key) {
  static const Sizes kNone;
  const auto found = all.find(key);
  return found == all.end() ? kNone : found->second;
}

void QuotaTracker::set(Quotas quotas, const Ledger& ledger) {
  // Labels that nodes have lost are kept, unless the label key changes.
  if (quotas.namespaces.empty() || quotas.model_label != quotas_.model_label) nodes_.clear();
  quotas_ = std::move(quotas);
  held_.clear();
  charges_.clear();
  expected_.clear();
  sizes_.clear();
  label_sizes_.clear();
  for (const auto& [name, part] : nodes_) add_sizes(part, 1);
  for (std::size_t n = 0; n < ledger.nodes().rows(); ++n) node_changed(NodeIndex(n), ledger);
}

bool QuotaTracker::limits(std::string_view pod_name) const {
  if (quotas_.namespaces.empty()) return false;
  return quotas_.namespaces.contains(std::string(namespace_of(pod_name)));
}

QuotaTracker::Charge QuotaTracker::charge_of(const PodRecord& pod, const Ledger& ledger) const {
  Charge charge{.ns = std::string(namespace_of(pod.name))};
  Held& held = charge.held;
  const NodeSpec& node = ledger.nodes().spec(pod.node);
  const auto take = [&](Use& model, const Use& use) {
    model = sum(model, use);
    held.models[kAllModels] = sum(held.models[kAllModels], use);
  };
  const auto known = nodes_.find(node.name);
  for (const auto& share : pod.charges) {
    const NodeCard& card = known->second.cards[share.card];  // a node with charged cards is known
    take(held.models[card.model], use_of(share, card.memory_mib));
  }
  for (const LostCharge& lost : pod.orphans) {
    Use& model = lost.seen ? held.models[base::ascii_lower(lost.model)] : held.any_model;
    take(model, use_of(lost.charge, lost.memory_mib));
  }
  if (!pod.cards_known()) {  // the cards may be of any model of the node
    std::map<std::string, Sizes> sizes;
    const auto may_be = [&](const std::string& model, std::int32_t memory_mib) {
      ++sizes[model][memory_mib];
      ++sizes[kAllModels][memory_mib];
    };
    if (!node.cards.empty()) {
      for (const NodeCard& card : known->second.cards) may_be(card.model, card.memory_mib);
    } else {
      for (const Card& card : ledger.nodes().record(pod.node).cards_last_seen()) {
        may_be(base::ascii_lower(card.model), card.memory_mib);
      }
    }
    for (const auto& [model, of_model] : sizes) {
      held.models[model] = sum(held.models[model], needs_of(pod.asks, of_model));
    }
    if (sizes.empty()) {
      take(held.any_model, needs_of(pod.asks, {}));
      held.unsized_milli = unsized_milli(pod.asks);
    }
  }
  const std::int64_t milli = held.models[kAllModels].milli;
  const Labels& labels = ledger.nodes().record(pod.node).labels_last_seen();
  const auto label = labels.find(quotas_.model_label);
  if (label != labels.end()) {
    held.on_nodes[label->second] = milli;
  } else if (known != nodes_.end() && !known->second.label.empty()) {
    held.on_nodes[known->second.label] = milli;
  } else if (!ledger.nodes().present(pod.node)) {
    held.on_any_node = milli;
  }
  return charge;
}

void QuotaTracker::add(const Charge& charge, std::int64_t sign) {
  add(held_[charge.ns], charge.held, sign);
}

void QuotaTracker::add(Held& held, const Held& more, std::int64_t sign) {
  const auto add_to = [sign](Use& total, const Use& use) {
    total.cards += sign * use.cards;
    total.milli += sign * use.milli;
    total.memory_mib += sign * use.memory_mib;
  };
  for (const auto& [model, use] : more.models) add_to(held.models[model], use);
  add_to(held.any_model, more.any_model);
  held.unsized_milli += sign * more.unsized_milli;
  for (const auto& [label, milli] : more.on_nodes) held.on_nodes[label] += sign * milli;
  held.on_any_node += sign * more.on_any_node;
}

void QuotaTracker::expect(const PodSpec& pod, NodeIndex node, const Ledger& ledger) {
  if (!limits(pod.name)) return;
  // By the pod's request, because the cards that it gets may still change.
  const PodRecord as_placed{
      .uid = pod.uid, .name = pod.name, .node = node, .asks = unnamed_asks(pod)};
  expected_.insert_or_assign(
      pod.uid, Expected{.priority = pod.priority, .charge = charge_of(as_placed, ledger)});
}

void QuotaTracker::expect_no_more(const std::string& uid) { expected_.erase(uid); }

QuotaTracker::Held QuotaTracker::held_before(const PodSpec& pod) const {
  const std::string ns(namespace_of(pod.name));
  const auto held_here = held_.find(ns);
  Held held = held_here == held_.end() ? Held{} : held_here->second;
  for (const auto& [uid, other] : expected_) {
    if (other.charge.ns != ns || uid == pod.uid || other.priority < pod.priority) continue;
    add(held, other.charge.held, 1);
  }
  return held;
}

void QuotaTracker::charge(PodIndex pod, const Ledger& ledger) {
  release(pod);
  const PodRecord& record = ledger.pods().record(pod);
  // Nominated capacity is not in use yet.
  if (record.state == PodState::nomination || !limits(record.name)) return;
  const auto [at, fresh] = charges_.emplace(pod.at(), charge_of(record, ledger));
  add(at->second, 1);
}

void QuotaTracker::release(PodIndex pod) {
  if (charges_.empty()) return;
  const auto found = charges_.find(pod.at());
  if (found == charges_.end()) return;
  add(found->second, -1);
  charges_.erase(found);
}

void QuotaTracker::add_sizes(const NodePart& part, std::int64_t sign) {
  const auto add_to = [sign](std::map<std::string, Sizes>& all, const std::string& key,
                             std::int32_t size) {
    Sizes& sizes = all[key];
    std::int64_t& count = sizes[size];
    count += sign;
    if (count == 0) sizes.erase(size);
    if (sizes.empty()) all.erase(key);
  };
  for (const NodeCard& card : part.cards) {
    add_to(sizes_, card.model, card.memory_mib);
    add_to(sizes_, kAllModels, card.memory_mib);
    if (!part.label.empty()) add_to(label_sizes_, part.label, card.memory_mib);
  }
}

// While pods are on the node, a model or size that a card no longer reports keeps its last value.
void QuotaTracker::see_cards(const NodeSpec& spec, bool in_use, NodePart& part) {
  const std::vector<NodeCard> were = std::exchange(part.cards, {});
  for (const Card& card : spec.cards) {
    NodeCard& now = part.cards.emplace_back(NodeCard{
        .id = card.id, .model = base::ascii_lower(card.model), .memory_mib = card.memory_mib});
    const auto was = std::find_if(were.begin(), were.end(),
                                  [&](const NodeCard& old) { return old.id == card.id; });
    if (!in_use || was == were.end()) continue;
    if (now.model.empty()) now.model = was->model;
    if (now.memory_mib == 0) now.memory_mib = was->memory_mib;
  }
}

void QuotaTracker::node_changed(NodeIndex node, const Ledger& ledger) {
  if (quotas_.namespaces.empty()) return;
  if (ledger.nodes().present(node)) {
    const NodeSpec& spec = ledger.nodes().spec(node);
    const bool in_use = !ledger.nodes().pods_on(node).empty();
    NodePart& part = nodes_[spec.name];
    part.gone = false;
    add_sizes(part, -1);
    const auto label = spec.labels.find(quotas_.model_label);
    if (label != spec.labels.end()) {
      part.label = label->second;
    } else if (!in_use) {
      part.label.clear();
    }
    see_cards(spec, in_use, part);
    add_sizes(part, 1);
  }
  for (const PodIndex pod : ledger.nodes().pods_on(node)) charge(pod, ledger);
}

void QuotaTracker::node_gone(const std::string& name, const Ledger& ledger) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  add_sizes(found->second, -1);
  found->second.cards.clear();
  found->second.gone = true;
  std::erase_if(nodes_, [&](const auto& entry) {
    return entry.second.gone && !ledger.nodes().find(entry.first).valid();
  });
}

QuotaTracker::Use QuotaTracker::used(const Held& held, const std::string& model) const {
  const auto found = held.models.find(model);
  Use use = found == held.models.end() ? Use{} : found->second;
  if (model != kAllModels) use = sum(use, held.any_model);
  const Sizes& sizes = sizes_of(sizes_, model);
  if (!sizes.empty()) use.memory_mib += held.unsized_milli * sizes.rbegin()->first / kMilliPerCard;
  return use;
}

QuotaTracker::Spent QuotaTracker::spent_by(const ModelLimit& limit, const Held& held,
                                           const PodSpec& pod) const {
  const std::string model = base::ascii_lower(limit.model);
  const Use use = used(held, model);
  const std::vector<UnnamedRequest> asks = unnamed_asks(pod);
  Spent spent;
  if (model != kAllModels || asks.size() > 1 || sizes_.empty()) {
    spent.excesses = exceeded(limit, use, needs_of(asks, sizes_of(sizes_, model)));
    if (!spent.excesses.empty()) spent.models.push_back(model);
    return spent;
  }
  // The pod's use depends on the card that it gets.
  bool some_left = false;
  std::int64_t least = 0;
  for (const auto& [name, sizes] : sizes_) {
    if (name == kAllModels) continue;
    const Use needs = needs_of(asks, sizes);
    auto over = exceeded(limit, use, needs);
    some_left = some_left || over.empty();
    if (over.empty()) continue;
    if (spent.excesses.empty() || needs.milli < least) {
      spent.excesses = std::move(over);
      least = needs.milli;
    }
    spent.models.push_back(name);
  }
  if (some_left) {
    spent.excesses.clear();
  } else {
    spent.models = {kAllModels};
  }
  return spent;
}

std::vector<QuotaExcess> QuotaTracker::excesses(const PodSpec& pod) const {
  std::vector<QuotaExcess> out;
  const std::string ns(namespace_of(pod.name));
  const auto quota = quotas_.namespaces.find(ns);
  if (quota == quotas_.namespaces.end() || !asks_for_cards(pod)) return out;
  const Held held = held_before(pod);
  for (const auto& limit : quota->second.limits) {
    for (auto& excess : spent_by(limit, held, pod).excesses) out.push_back(std::move(excess));
  }
  if (!quota->second.by_node) return out;
  const std::vector<UnnamedRequest> asks = unnamed_asks(pod);
  for (const auto& [label, limit] : quota->second.by_node->milli) {
    const std::int64_t asked = needs_of(asks, sizes_of(label_sizes_, label)).milli;
    const std::int64_t used = used_on_nodes(held, label);
    if (used + asked <= limit) continue;
    out.push_back({.model = label,
                   .unit = QuotaExcess::Unit::milli,
                   .asked = asked,
                   .used = used,
                   .allowed = limit});
  }
  return out;
}

QuotaBounds QuotaTracker::bounds(const PodSpec& pod) const {
  QuotaBounds bounds;
  const std::string ns(namespace_of(pod.name));
  const auto quota = quotas_.namespaces.find(ns);
  if (quota == quotas_.namespaces.end() || !asks_for_cards(pod)) return bounds;
  const Held held = held_before(pod);
  for (const auto& limit : quota->second.limits) {
    for (auto& model : spent_by(limit, held, pod).models) bounds.spent.push_back(std::move(model));
  }
  std::sort(bounds.spent.begin(), bounds.spent.end());
  bounds.spent.erase(std::unique(bounds.spent.begin(), bounds.spent.end()), bounds.spent.end());
  if (!quota->second.by_node) return bounds;
  bounds.by_node = true;
  bounds.model_label = quotas_.model_label;
  bounds.pool_label = quotas_.pool_label;
  bounds.pools = quota->second.by_node->pools;
  const std::vector<UnnamedRequest> asks = unnamed_asks(pod);
  for (const auto& [label, limit] : quota->second.by_node->milli) {
    const std::int64_t asked = needs_of(asks, sizes_of(label_sizes_, label)).milli;
    if (used_on_nodes(held, label) + asked <= limit) bounds.models.push_back(label);
  }
  return bounds;
}

bool QuotaTracker::leaves(const PodSpec& pod, const NodeSpec& node, const Assignment& cards) const {
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
      if (spent(base::ascii_lower(node.cards[share.card].model))) return false;
    }
  }
  return true;
}

QuotaTracker::Use QuotaTracker::used(const std::string& ns, const std::string& model) const {
  const auto held = held_.find(ns);
  return held == held_.end() ? Use{} : used(held->second, model);
}

std::int64_t QuotaTracker::used_on_nodes(const std::string& ns, const std::string& label) const {
  const auto held = held_.find(ns);
  return held == held_.end() ? 0 : used_on_nodes(held->second, label);
}

std::int64_t QuotaTracker::used_on_nodes(const Held& held, const std::string& label) {
  const auto found = held.on_nodes.find(label);
  return (found == held.on_nodes.end() ? 0 : found->second) + held.on_any_node;
}

}  // namespace stowage::core
