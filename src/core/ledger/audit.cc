// The ledger's recount: everything that is kept incrementally is computed again from the pods.
#include <algorithm>
#include <limits>
#include <string>

#include "core/ledger/ledger.h"

namespace stowage::core {

std::vector<Ledger::Debt> Ledger::debts() const {
  std::vector<Debt> out;
  for (const auto& [name, node] : nodes_by_name_) {
    const auto& slot = nodes_[node.at()];
    for (std::size_t i = 0; i < slot.spec.cards.size(); ++i) {
      const auto& card = slot.spec.cards[i];
      const auto over = [](std::int64_t used, std::int64_t capacity) {
        return static_cast<std::int32_t>(
            std::clamp<std::int64_t>(used - capacity, 0, std::numeric_limits<std::int32_t>::max()));
      };
      CardCharge excess{.card = static_cast<std::uint32_t>(i),
                        .milli = over(slot.card_use[i].milli, kMilliPerCard),
                        .memory_mib = over(slot.card_use[i].memory_mib, card.memory_mib),
                        .slots = card.slots == 0 ? 0 : over(slot.card_use[i].slots, card.slots)};
      if (excess.milli != 0 || excess.memory_mib != 0 || excess.slots != 0) {
        out.push_back({.node = node, .excess = excess});
      }
    }
  }
  return out;
}

void Ledger::audit_node(NodeIndex node, std::vector<std::string>& out) const {
  const auto& slot = nodes_[node.at()];
  const auto complain = [&](const std::string& what) {
    out.push_back("node \"" + slot.spec.name + "\": " + what);
  };
  NodeUse use;
  std::vector<CardUse> cards(slot.spec.cards.size());
  for (const PodIndex pod : slot.pods) {
    const auto& record = pods_[pod.at()];
    if (record.node != node) complain("lists pod " + record.uid + " that is elsewhere");
    add_charges(record, 1, use, cards);
    if (record.unnamed != unnamed_use(record, slot.spec)) {
      complain("counts cards of pod " + record.uid + " wrongly that nobody has named");
    }
    for (const auto& [name, amount] : record.resources.extended) {
      const auto known = extended_.numbers.find(name);
      const auto number = known == extended_.numbers.end() ? 0 : known->second;
      if (use.extended.size() <= number) use.extended.resize(number + 1);
      use.extended[number] += amount;
    }
  }
  use.extended.resize(std::max(use.extended.size(), slot.use.extended.size()));
  NodeUse kept = slot.use;
  kept.extended.resize(use.extended.size());
  if (!(use == kept)) complain("use of the node differs from the sum of its pods");
  if (cards != slot.card_use) complain("use of a card differs from the sum of its pods");

  const auto& state = states_[node.at()];
  const auto& all = slot.spec.allocatable;
  const auto stale = [](std::int64_t row, std::int64_t capacity, std::int64_t used) {
    return row != std::max<std::int64_t>(0, capacity - used);
  };
  if (stale(state.cpu_free_milli, all.cpu_milli, use.cpu_milli) ||
      stale(state.memory_free_bytes, all.memory_bytes, use.memory_bytes) ||
      stale(state.ephemeral_free_bytes, all.ephemeral_bytes, use.ephemeral_bytes) ||
      state.present != slot.present ||
      state.schedulable != (slot.present && slot.spec.schedulable) ||
      state.tainted != (untolerated({}, slot.spec.taints) != nullptr)) {
    complain("has a stale row");
  }
  if (state.cards != slot.spec.cards.size()) complain("wrong number of cards");
  for (std::size_t i = 0; i < slot.spec.cards.size(); ++i) {
    CardState fresh = effective(slot, i, overdrawn(slot));
    const CardState& row = cards_[state.first_card + i];
    fresh.model = row.model;
    fresh.memory_class = row.memory_class;
    if (!(fresh == row)) complain("card " + slot.spec.cards[i].id + " has a stale row");
    const bool nobody = cards[i] == CardUse{} && use.unknown == CardUse{} && use.unknown_whole == 0;
    const bool whole = ((state.whole >> i) & 1U) != 0;
    if (whole && !nobody) complain("a used card counts as whole");
    if (!whole && nobody && slot.spec.cards[i].healthy) complain("a free card is not whole");
    if (models_.names[row.model] != slot.spec.cards[i].model) complain("wrong model on a card");
  }
}

std::vector<std::string> Ledger::audit() const {
  std::vector<std::string> out;
  std::size_t present = 0;
  std::size_t pods = 0;
  std::vector<std::size_t> in_class(classes_.size());
  for (const auto& [name, node] : nodes_by_name_) {
    const auto& slot = nodes_[node.at()];
    if (slot.spec.name != name) out.push_back("node \"" + name + "\" is filed under another name");
    if (slot.present) {
      ++present;
      ++in_class[states_[node.at()].node_class];
    } else if (slot.pods.empty()) {
      out.push_back("node \"" + name + "\" is gone and holds no pod, but keeps its slot");
    }
    pods += slot.pods.size();
    audit_node(node, out);
  }
  if (present != present_) out.emplace_back("wrong number of nodes");
  if (pods != pods_by_uid_.size()) out.emplace_back("pods on nodes differ from pods by uid");
  if (in_class != class_nodes_) out.emplace_back("wrong number of nodes in a class");
  if (pods_by_uid_.size() + free_pods_.size() != pods_.size()) {
    out.emplace_back("a pod record is lost");
  }
  return out;
}

}  // namespace stowage::core
