#include "core/ledger/ledger.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>

#include "base/check.h"

namespace stowage::core {
namespace {

constexpr std::size_t kMaxClasses = 4096;
// Nodes of one make differ a little in what the system leaves them: that makes no class.
constexpr std::int64_t kClassCpuMilli = 500;
constexpr std::int64_t kClassMemoryBytes = std::int64_t{4} << 30U;

std::int32_t clamp32(std::int64_t value) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(value, 0, std::numeric_limits<std::int32_t>::max()));
}

bool has_soft_taint(const NodeSpec& node) {
  return std::any_of(node.taints.begin(), node.taints.end(), [](const Taint& taint) {
    return taint.effect == TaintEffect::prefer_no_schedule;
  });
}

}  // namespace

NodeIndex Ledger::find_node(std::string_view name) const {
  const auto found = quick_.find(name);
  return found == quick_.end() ? NodeIndex{} : found->second;
}

PodIndex Ledger::find_pod(const std::string& uid) const {
  const auto found = pods_by_uid_.find(uid);
  return found == pods_by_uid_.end() ? PodIndex{} : found->second;
}

// ---- nodes ----------------------------------------------------------------------------------

NodeIndex Ledger::upsert_node(const NodeSpec& spec) {
  const NodeIndex node = slot_for(spec.name);
  auto& slot = nodes_[node.at()];
  if (slot.present && slot.spec == spec) return node;
  if (slot.spec.rank && !spec.rank) {  // by name again
    slot.spec.rank.reset();
    assign_rank(node);
    ++layout_version_;
  }
  if (spec.rank && ranks_[node.at()] != *spec.rank) {
    ranks_[node.at()] = *spec.rank;
    ++layout_version_;
  }
  give_names_back(node);
  place_cards(node, spec);
  if (slot.present) soft_taints_ -= has_soft_taint(slot.spec) ? 1U : 0U;
  soft_taints_ += has_soft_taint(spec) ? 1U : 0U;
  offer_resources(spec, slot);
  if (slot.present) withdraw_resources(slot.spec);
  slot.spec = spec;
  slot.last_labels.clear();
  if (!slot.present) {
    slot.present = true;
    ++present_;
  } else {
    --class_nodes_[states_[node.at()].node_class];
  }
  states_[node.at()].offers = 0;
  for (const auto& name : spec.offers) states_[node.at()].offers |= offer_bit(name);
  classify(node);
  refresh(node);
  return node;
}

void Ledger::set_busy(NodeIndex node, std::vector<std::uint16_t> busy, bool felt) {
  NodeSlot& slot = nodes_[node.at()];
  if (slot.busy == busy) return;
  slot.busy = std::move(busy);
  if (felt && slot.present) changed(node);
}

void Ledger::classify(NodeIndex node) {
  const auto& spec = nodes_[node.at()].spec;
  NodeClass key;
  const auto& all = spec.allocatable;
  key.cpu_milli = all.cpu_milli - all.cpu_milli % kClassCpuMilli;
  key.memory_bytes = all.memory_bytes - all.memory_bytes % kClassMemoryBytes;
  auto* card_states = cards_.data() + states_[node.at()].first_card;
  for (std::size_t i = 0; i < spec.cards.size(); ++i) {
    const std::string& model = spec.cards[i].model;
    card_states[i].model =
        borrowed_ == nullptr ? tables_.models.take(model) : borrowed_->models.find(model);
    card_states[i].memory_class = memory_sizes_.take(spec.cards[i].memory_mib);
    key.models.push_back(card_states[i].model);
    key.memory_mib.push_back(spec.cards[i].memory_mib);
  }
  std::sort(key.models.begin(), key.models.end());
  std::sort(key.memory_mib.begin(), key.memory_mib.end());
  auto entry = class_numbers_.find(key);
  if (entry == class_numbers_.end() && classes_.size() < kMaxClasses) {
    entry = class_numbers_.emplace(key, static_cast<std::uint16_t>(classes_.size())).first;
    classes_.push_back(std::move(key));
    class_nodes_.push_back(0);
  }
  if (entry == class_numbers_.end()) {  // that of a kind of which there are none any more
    const auto unused = std::find(class_nodes_.begin(), class_nodes_.end(), 0U);
    if (unused != class_nodes_.end()) {
      const auto at = static_cast<std::uint16_t>(unused - class_nodes_.begin());
      class_numbers_.erase(classes_[at]);
      entry = class_numbers_.emplace(key, at).first;
      classes_[at] = std::move(key);
    }
  }
  // Beyond the limit all further kinds of nodes share the last class: its weight is a guess.
  const auto number =
      entry == class_numbers_.end() ? static_cast<std::uint16_t>(kMaxClasses - 1) : entry->second;
  states_[node.at()].node_class = number;
  ++class_nodes_[number];
}

void Ledger::remove_node(std::string_view name) {
  const NodeIndex node = find_node(name);
  if (!node.valid() || !nodes_[node.at()].present) return;
  auto& slot = nodes_[node.at()];
  NodeSpec gone;
  gone.name = slot.spec.name;
  gone.rank = slot.spec.rank;
  give_names_back(node);
  withdraw_resources(slot.spec);
  place_cards(node, gone);
  soft_taints_ -= has_soft_taint(slot.spec) ? 1U : 0U;
  slot.last_labels = std::move(slot.spec.labels);
  slot.spec = gone;
  slot.present = false;
  slot.extended_capacity.clear();
  --class_nodes_[states_[node.at()].node_class];
  --present_;
  refresh(node);
  drop_slot_if_empty(node);
}

// ---- pods -----------------------------------------------------------------------------------

PodIndex Ledger::new_record(const PodSpec& pod, NodeIndex node) {
  PodIndex index;
  if (free_pods_.empty()) {
    index = PodIndex(pods_.size());
    pods_.emplace_back();
  } else {
    index = free_pods_.back();
    free_pods_.pop_back();
  }
  auto& record = pods_[index.at()];
  record.uid = pod.uid;
  record.name = pod.name;
  record.node = node;
  record.priority = pod.priority;
  record.leaving = pod.leaving;
  record.stays = pod.stays;
  record.since = pod.since;
  record.resources = kept_resources(pod);
  STOWAGE_CHECK(pods_by_uid_.emplace(pod.uid, index).second);
  nodes_[node.at()].pods.push_back(index);
  return index;
}

PodIndex Ledger::reserve(const PodSpec& pod, NodeIndex node, const Assignment& cards) {
  const Resources needs = effective_resources(pod);
  const auto& state = states_[node.at()];
  STOWAGE_CHECK(needs.cpu_milli == 0 || needs.cpu_milli <= state.cpu_free_milli);
  STOWAGE_CHECK(needs.memory_bytes == 0 || needs.memory_bytes <= state.memory_free_bytes);
  STOWAGE_CHECK(state.pods_free >= 1);
  return reserve_guest(pod, node, cards);
}

PodIndex Ledger::reserve_guest(const PodSpec& pod, NodeIndex node, const Assignment& cards) {
  STOWAGE_CHECK(present(node));
  STOWAGE_CHECK(cards_free(pod, node, cards));
  const PodIndex index = new_record(pod, node);
  auto& record = pods_[index.at()];
  if (names_cards(cards)) {
    record.charges = footprint(pod, cards);
  } else {
    take_unnamed(pod, record);
  }
  record.state = PodState::reserved;
  charge(record, 1);
  return index;
}

PodIndex Ledger::reserve_promised(const PodSpec& pod, std::string_view node_name,
                                  const Assignment& cards, std::span<const std::string> absent) {
  STOWAGE_CHECK(!find_pod(pod.uid).valid());
  const PodIndex index =
      seen_bound(pod, node_name, names_cards(cards) ? std::optional(cards) : std::nullopt, absent);
  pods_[index.at()].state = PodState::reserved;
  return index;
}

void Ledger::confirm(PodIndex pod) {
  auto& record = pods_[pod.at()];
  if (record.state != PodState::reserved) return;
  record.state = record.cards_known() ? PodState::bound : PodState::bound_cards_unknown;
}

void Ledger::forget(PodIndex pod) {
  auto& record = pods_[pod.at()];
  auto& on_node = nodes_[record.node.at()].pods;
  const auto place = std::find(on_node.begin(), on_node.end(), pod);
  STOWAGE_CHECK(place != on_node.end());
  *place = on_node.back();
  on_node.pop_back();
  pods_by_uid_.erase(record.uid);
  record = PodRecord{};
  free_pods_.push_back(pod);
}

void Ledger::release(PodIndex pod) {
  const NodeIndex node = pods_[pod.at()].node;
  charge(pods_[pod.at()], -1);
  forget(pod);
  drop_slot_if_empty(node);
}

PodIndex Ledger::seen_bound(const PodSpec& pod, std::string_view node_name,
                            const std::optional<Assignment>& cards,
                            std::span<const std::string> absent) {
  const NodeIndex there = find_node(node_name);
  SeenCards seen;
  if (cards) {
    seen = seen_cards(
        footprint(pod, *cards),
        there.valid() ? nodes_[there.at()].spec : NodeSpec{.name = std::string(node_name)}, absent);
  }
  const PodIndex known = find_pod(pod.uid);
  if (known.valid()) {
    const auto& record = pods_[known.at()];
    const bool same_node = nodes_[record.node.at()].spec.name == node_name;
    const bool cards_known = record.cards_known();
    Resources resources = kept_resources(pod);
    const bool same_resources = record.resources == resources;
    const bool same_cards =
        cards ? cards_known && record.charges == seen.charges && same_orphans(record, seen.orphans)
              : cards_known || record.state == PodState::reserved;
    if (same_node && same_cards) {
      if (!same_resources) {  // it was resized where it is
        charge(record, -1);
        pods_[known.at()].resources = std::move(resources);
        charge(record, 1);
      }
      pods_[known.at()].priority = pod.priority;
      pods_[known.at()].leaving = pod.leaving;
      pods_[known.at()].stays = pod.stays;
      pods_[known.at()].since = pod.since;
      confirm(known);
      return known;
    }
    release(known);
  }
  const NodeIndex node = slot_for(std::string(node_name));
  const PodIndex index = new_record(pod, node);
  auto& record = pods_[index.at()];
  record.state = PodState::bound;
  if (cards) {
    record.charges = std::move(seen.charges);
    record.orphans = std::move(seen.orphans);
    record.unnamed = unnamed_use(record, nodes_[node.at()].spec);
  } else {
    take_unnamed(pod, record);
    if (!record.cards_known()) record.state = PodState::bound_cards_unknown;
  }
  charge(record, 1);
  return index;
}

bool Ledger::name_cards(PodIndex pod, std::vector<CardCharge> charges) {
  PodRecord& record = pods_[pod.at()];
  if (record.cards_known() && (!record.by_kubelet || record.charges == charges)) return false;
  const auto count = nodes_[record.node.at()].spec.cards.size();
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

void Ledger::add_charges(const PodRecord& pod, std::int64_t sign, NodeUse& use,
                         std::vector<CardUse>& cards) {
  use.cpu_milli += sign * pod.resources.cpu_milli;
  use.memory_bytes += sign * pod.resources.memory_bytes;
  use.ephemeral_bytes += sign * pod.resources.ephemeral_bytes;
  use.pods += sign;
  use.rooms_by_name += pod.by_name ? sign : 0;
  add_unnamed(pod.unnamed, sign, use);
  for (const auto& charge : pod.charges) {
    auto& card = cards[charge.card];
    card.milli += sign * charge.milli;
    card.memory_mib += sign * charge.memory_mib;
    card.slots += sign * charge.slots;
  }
}

void Ledger::add_extended(const PodRecord& pod, std::int64_t sign, NodeUse& use) const {
  for (const auto& [name, amount] : pod.resources.extended) {
    const auto number = resource_number(name);
    if (number == ResourceNames::kNone) continue;  // charged when a node offers it
    if (use.extended.size() <= number) use.extended.resize(number + 1);
    use.extended[number] += sign * amount;
  }
}

void Ledger::charge(const PodRecord& pod, std::int64_t sign) {
  auto& slot = nodes_[pod.node.at()];
  add_charges(pod, sign, slot.use, slot.card_use);
  add_extended(pod, sign, slot.use);
  refresh(pod.node);
}

CardState Ledger::effective(const NodeSlot& slot, std::size_t card, bool overdrawn) {
  const CardLimit& spec = slot.card_limits[card];
  const CardUse& use = slot.card_use[card];
  CardState state;
  state.milli_free = clamp32(kMilliPerCard - use.milli - slot.use.unknown.milli);
  const std::int64_t with_core = slot.use.unknown_with_core * spec.memory_mib / kMilliPerCard;
  state.memory_free_mib =
      clamp32(spec.memory_mib - use.memory_mib - slot.use.unknown.memory_mib - with_core);
  state.slots_free =
      spec.slots == 0 ? kNoSlotLimit : clamp32(spec.slots - use.slots - slot.use.unknown.slots);
  // A pod that has whole cards, but we do not know which: any card that looks free may be its.
  const bool looks_free = use == CardUse{};
  if (slot.use.unknown_whole > 0 && (looks_free || overdrawn)) {
    state.milli_free = 0;
    state.memory_free_mib = 0;
    state.slots_free = 0;
  }
  return state;
}

void Ledger::refresh(NodeIndex node) {
  auto& slot = nodes_[node.at()];
  auto& state = states_[node.at()];
  const auto left = [](std::int64_t capacity, std::int64_t used) {
    return std::max<std::int64_t>(0, capacity - used);
  };
  state.cpu_free_milli = left(slot.spec.allocatable.cpu_milli, slot.use.cpu_milli);
  state.memory_free_bytes = left(slot.spec.allocatable.memory_bytes, slot.use.memory_bytes);
  state.ephemeral_free_bytes =
      left(slot.spec.allocatable.ephemeral_bytes, slot.use.ephemeral_bytes);
  state.pods_free = clamp32(slot.spec.allocatable.pods - slot.use.pods);
  state.present = slot.present;
  state.schedulable = slot.present && slot.spec.schedulable;
  state.tainted = untolerated({}, slot.spec.taints) != nullptr;
  state.healthy = 0;
  state.whole = 0;
  const bool surely_free = slot.use.unknown == CardUse{} && slot.use.unknown_whole == 0;
  state.unnamed = !surely_free;
  auto* states = cards_.data() + state.first_card;
  const bool too_many = overdrawn(slot);
  for (std::size_t i = 0; i < slot.card_limits.size(); ++i) {
    CardState fresh = effective(slot, i, too_many);
    fresh.model = states[i].model;
    fresh.memory_class = states[i].memory_class;
    states[i] = fresh;
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (!slot.card_limits[i].healthy) continue;
    state.healthy |= bit;
    if (surely_free && slot.card_use[i] == CardUse{}) state.whole |= bit;
  }
  changed(node);
}

// ---- changes --------------------------------------------------------------------------------

void Ledger::changed(NodeIndex node) {
  if (log_.size() > 4 * states_.size() + 4096) {
    const auto half = log_.size() / 2;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(half));
    log_start_ += half;
  }
  log_.push_back(node);
}

std::optional<std::span<const NodeIndex>> Ledger::changes_since(std::uint64_t from) const {
  if (from < log_start_) return std::nullopt;
  const auto skip = static_cast<std::size_t>(from - log_start_);
  return std::span<const NodeIndex>(log_).subspan(skip);
}

}  // namespace stowage::core
