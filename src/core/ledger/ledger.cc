#include "core/ledger/ledger.h"

#include <utility>

#include "base/check.h"
#include "core/model/counted.h"

namespace stowage::core {

// ---- nodes ----------------------------------------------------------------------------------

NodeIndex Ledger::upsert_node(const NodeSpec& spec) {
  const NodeIndex node = nodes_.add(spec.name);
  const NodeRecord& record = nodes_.record(node);
  if (record.present && record.spec == spec) return node;
  NodeState& state = nodes_.state(node);
  const bool was_present = record.present;
  if (was_present) names_.give_back(std::as_const(nodes_).cards(node));
  place_cards(node, spec);
  offer_resources(node, spec);
  if (was_present) {
    withdraw_resources(record.spec);
    classes_.give_back(state.node_class);
  }
  nodes_.set_spec(node, spec);
  state.offers = 0;
  for (const auto& name : spec.offers) state.offers |= names_.offer_bit(name);
  const std::span<CardState> cards = nodes_.cards(node);
  for (std::size_t i = 0; i < cards.size(); ++i) names_.take(spec.cards[i], cards[i]);
  state.node_class = classes_.take(node_class(spec, cards));
  refresh(node);
  return node;
}

void Ledger::set_busy(NodeIndex node, std::vector<std::uint16_t> busy, bool felt) {
  NodeRecord& record = nodes_.record(node);
  if (record.busy == busy) return;
  record.busy = std::move(busy);
  if (felt && record.present) changes_.append(node, nodes_.rows());
}

void Ledger::remove_node(std::string_view name) {
  const NodeIndex node = nodes_.find(name);
  if (!node.valid() || !nodes_.present(node)) return;
  const NodeRecord& record = nodes_.record(node);
  NodeSpec rest;
  rest.name = record.spec.name;
  rest.rank = record.spec.rank;
  names_.give_back(std::as_const(nodes_).cards(node));
  withdraw_resources(record.spec);
  classes_.give_back(nodes_.state(node).node_class);
  place_cards(node, rest);
  nodes_.set_gone(node, rest);
  refresh(node);
  nodes_.drop_if_empty(node);
}

// ---- pods -----------------------------------------------------------------------------------

PodIndex Ledger::new_record(const PodSpec& pod, NodeIndex node) {
  const PodIndex index = pods_.add(pod.uid);
  PodRecord& record = pods_.record(index);
  record.name = pod.name;
  record.node = node;
  record.priority = pod.priority;
  record.leaving = pod.leaving;
  record.stays = pod.stays;
  record.since = pod.since;
  record.resources = kept_resources(pod, names_.resources());
  nodes_.record(node).pods.push_back(index);
  return index;
}

PodIndex Ledger::reserve(const PodSpec& pod, NodeIndex node, const Assignment& cards) {
  const Resources needs = effective_resources(pod);
  const auto& state = nodes_.state(node);
  STOWAGE_CHECK(needs.cpu_milli == 0 || needs.cpu_milli <= state.cpu_free_milli);
  STOWAGE_CHECK(needs.memory_bytes == 0 || needs.memory_bytes <= state.memory_free_bytes);
  STOWAGE_CHECK(state.pods_free >= 1);
  return reserve_external(pod, node, cards);
}

PodIndex Ledger::reserve_external(const PodSpec& pod, NodeIndex node, const Assignment& cards) {
  STOWAGE_CHECK(nodes_.present(node));
  std::optional<std::vector<CardCharge>> charges = free_charges(pod, node, cards);
  STOWAGE_CHECK(charges.has_value());
  const PodIndex index = new_record(pod, node);
  auto& record = pods_.record(index);
  record.charges = std::move(*charges);
  if (!names_cards(cards)) take_unnamed(pod, record);
  record.state = PodState::reserved;
  charge(record, 1);
  return index;
}

PodIndex Ledger::reserve_pre_allocated(const PodSpec& pod, std::string_view node_name,
                                       const Assignment& cards,
                                       std::span<const std::string> absent) {
  STOWAGE_CHECK(!pods_.find(pod.uid).valid());
  const PodIndex index =
      seen_bound(pod, node_name, names_cards(cards) ? std::optional(cards) : std::nullopt, absent);
  pods_.record(index).state = PodState::reserved;
  return index;
}

void Ledger::confirm(PodIndex pod) {
  auto& record = pods_.record(pod);
  if (record.state != PodState::reserved) return;
  record.state = record.cards_known() ? PodState::bound : PodState::bound_cards_unknown;
}

void Ledger::release(PodIndex pod) {
  const NodeIndex node = pods_.record(pod).node;
  charge(pods_.record(pod), -1);
  nodes_.remove_pod(node, pod);
  pods_.remove(pod);
  nodes_.drop_if_empty(node);
}

PodIndex Ledger::seen_bound(const PodSpec& pod, std::string_view node_name,
                            const std::optional<Assignment>& cards,
                            std::span<const std::string> absent) {
  const NodeIndex there = nodes_.find(node_name);
  SeenCards seen;
  if (cards) {
    seen = seen_cards(
        footprint(pod, *cards),
        there.valid() ? nodes_.record(there).spec : NodeSpec{.name = std::string(node_name)},
        absent);
  }
  const PodIndex known = pods_.find(pod.uid);
  if (known.valid()) {
    const auto& record = pods_.record(known);
    const bool same_node = nodes_.record(record.node).spec.name == node_name;
    const bool cards_known = record.cards_known();
    Resources resources = kept_resources(pod, names_.resources());
    const bool same_resources = record.resources == resources;
    const bool same_cards =
        cards ? cards_known && record.charges == seen.charges && same_orphans(record, seen.orphans)
              : cards_known || record.state == PodState::reserved;
    if (same_node && same_cards) {
      if (!same_resources) {  // resized in place
        charge(record, -1);
        pods_.record(known).resources = std::move(resources);
        charge(record, 1);
      }
      pods_.record(known).priority = pod.priority;
      pods_.record(known).leaving = pod.leaving;
      pods_.record(known).stays = pod.stays;
      pods_.record(known).since = pod.since;
      confirm(known);
      return known;
    }
    release(known);
  }
  const NodeIndex node = nodes_.add(std::string(node_name));
  const PodIndex index = new_record(pod, node);
  auto& record = pods_.record(index);
  record.state = PodState::bound;
  if (cards) {
    record.charges = std::move(seen.charges);
    record.orphans = std::move(seen.orphans);
    record.unnamed = unnamed_use(record, nodes_.record(node).spec);
  } else {
    take_unnamed(pod, record);
    if (!record.cards_known()) record.state = PodState::bound_cards_unknown;
  }
  charge(record, 1);
  return index;
}

bool Ledger::name_cards(PodIndex pod, std::vector<CardCharge> charges) {
  PodRecord& record = pods_.record(pod);
  const std::string& node = nodes_.record(record.node).spec.name;
  const bool named =
      record.cards_known() &&
      std::none_of(record.orphans.begin(), record.orphans.end(),
                   [&](const LostCharge& lost) { return counted_card(node, lost.id); });
  if (named && (!record.by_kubelet || record.charges == charges)) return false;
  const auto count = nodes_.record(record.node).spec.cards.size();
  for (const CardCharge& charge : charges) STOWAGE_CHECK(charge.card < count);
  charge(record, -1);
  record.charges = std::move(charges);
  record.orphans.clear();
  record.asks.clear();
  record.unnamed = {};
  record.by_kubelet = true;
  if (record.state == PodState::bound_cards_unknown) record.state = PodState::bound;
  charge(record, 1);
  return true;
}

void Ledger::charge(const PodRecord& pod, std::int64_t sign) {
  NodeRecord& node = nodes_.record(pod.node);
  add_charges(pod, sign, node.use, node.card_use);
  add_extended(pod, sign, names_.resources(), node.use);
  refresh(pod.node);
}

void Ledger::refresh(NodeIndex node) {
  nodes_.refresh(node);
  changes_.append(node, nodes_.rows());
}

}  // namespace stowage::core
