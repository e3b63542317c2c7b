// The ledger's audit: recomputes from the pods everything that is kept incrementally.
#include <algorithm>
#include <string>

#include "core/ledger/ledger.h"

namespace stowage::core {
namespace {

void audit_node(const Ledger& ledger, NodeIndex node, std::vector<std::string>& out) {
  const NodeTable& nodes = ledger.nodes();
  const NodeRecord& slot = nodes.record(node);
  const auto complain = [&](const std::string& what) {
    out.push_back("node \"" + slot.spec.name + "\": " + what);
  };
  NodeUse use;
  std::vector<CardUse> cards(slot.spec.cards.size());
  for (const PodIndex pod : slot.pods) {
    const auto& record = ledger.pods().record(pod);
    if (record.node != node) complain("lists pod " + record.uid + " that is elsewhere");
    add_charges(record, 1, use, cards);
    add_extended(record, 1, ledger.names().resources(), use);
    if (record.unnamed != unnamed_use(record, slot.spec)) {
      complain("counts unnamed cards of pod " + record.uid + " wrongly");
    }
  }
  use.extended.resize(std::max(use.extended.size(), slot.use.extended.size()));
  NodeUse kept = slot.use;
  kept.extended.resize(use.extended.size());
  if (!(use == kept)) complain("use of the node differs from the sum of its pods");
  if (cards != slot.card_use) complain("use of a card differs from the sum of its pods");

  const auto& state = nodes.state(node);
  const auto& all = slot.spec.allocatable;
  const auto stale = [](std::int64_t row, std::int64_t capacity, std::int64_t used) {
    return row != std::max<std::int64_t>(0, capacity - used);
  };
  if (stale(state.cpu_free_milli, all.cpu_milli, use.cpu_milli) ||
      stale(state.memory_free_bytes, all.memory_bytes, use.memory_bytes) ||
      stale(state.ephemeral_free_bytes, all.ephemeral_bytes, use.ephemeral_bytes) ||
      state.present != slot.present ||
      state.schedulable != (slot.present && slot.spec.schedulable) ||
      state.tainted != (untolerated({}, slot.spec.taints) != nullptr) ||
      state.plugin_missing != slot.spec.plugin_missing) {
    complain("has a stale row");
  }
  if (state.cards != slot.spec.cards.size()) return complain("wrong number of cards");
  for (std::size_t i = 0; i < slot.spec.cards.size(); ++i) {
    CardState fresh = card_row(slot, i, slot.overdrawn());
    const CardState& row = nodes.cards(node)[i];
    fresh.model = row.model;
    fresh.memory_class = row.memory_class;
    if (!(fresh == row)) complain("card " + slot.spec.cards[i].id + " has a stale row");
    const bool nobody = cards[i] == CardUse{} && use.unknown == CardUse{} && use.unknown_whole == 0;
    const bool whole = ((state.whole >> i) & 1U) != 0;
    if (whole && !nobody) complain("a used card counts as whole");
    if (!whole && nobody && slot.spec.cards[i].healthy) complain("a free card is not whole");
    if (ledger.names().models().names()[row.model] != slot.spec.cards[i].model) {
      complain("wrong model on a card");
    }
  }
}

}  // namespace

std::vector<std::string> Ledger::audit() const {
  std::vector<std::string> out;
  std::size_t present = 0;
  std::size_t pods = 0;
  std::vector<std::size_t> in_class(classes_.all().size());
  for (const auto& [name, node] : nodes_.order().by_name()) {
    const auto& slot = nodes_.record(node);
    if (slot.spec.name != name) out.push_back("node \"" + name + "\" is filed under another name");
    if (slot.present) {
      ++present;
      ++in_class[nodes_.state(node).node_class];
    } else if (slot.pods.empty()) {
      out.push_back("node \"" + name + "\" is gone and holds no pod, but keeps its slot");
    }
    pods += slot.pods.size();
    audit_node(*this, node, out);
  }
  if (present != nodes_.count()) out.emplace_back("wrong number of nodes");
  if (pods != pods_.count()) out.emplace_back("pods on nodes differ from pods by uid");
  if (in_class != classes_.nodes()) out.emplace_back("wrong number of nodes in a class");
  if (!pods_.complete()) out.emplace_back("a pod record is lost");
  return out;
}

}  // namespace stowage::core
