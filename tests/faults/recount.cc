#include "recount.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace stowage::faults {
namespace {

const CardView* find_card(const NodeView& node, const std::string& id) {
  const auto found = std::find_if(node.cards.begin(), node.cards.end(),
                                  [&](const CardView& card) { return card.id == id; });
  return found == node.cards.end() ? nullptr : &*found;
}

const NodeView* find_node(const std::vector<const NodeView*>& nodes, const std::string& name) {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const NodeView* node) { return node->name == name; });
  return found == nodes.end() ? nullptr : *found;
}

// The pod was bound by another scheduler, which wrote the index of its card. A replica keeps the
// card that the index meant when it first read it, until the node begins or ceases to list its
// cards. So it may have a card whose id the node listed earlier.
std::string compare_indexed(const core::Ledger& ledger, const core::PodRecord& record,
                            const PodView& pod, const NodeView& node) {
  if (pod.indexes.empty() || pod.scheduler != "nobody") return {};
  const auto meant = std::find_if(node.cards.begin(), node.cards.end(), [&](const CardView& card) {
    return std::to_string(card.index) == pod.indexes;
  });
  if (meant == node.cards.end()) return {};
  std::vector<std::string> has;
  for (const auto& charge : record.charges) {
    has.push_back(ledger.nodes().spec(record.node).cards[charge.card].id);
  }
  for (const auto& lost : record.orphans) has.push_back(lost.id);
  if (has == std::vector{meant->id}) return {};
  const bool earlier = node.renumbered || !record.orphans.empty();
  const auto listed = [](const std::string& id) { return id.starts_with("GPU-"); };
  if (earlier && has.size() == 1 && listed(has[0]) && listed(meant->id)) return {};
  return fmt::format("pod {} on {} has card {} by its index, but the ledger has {}", pod.name.name,
                     pod.node, meant->id, has.empty() ? "none" : base::join(has, ", "));
}

std::string compare_pod(const Truth& truth, const core::Ledger& ledger, const PodView& pod,
                        const NodeView& node) {
  const core::PodIndex index = ledger.pods().find(pod.uid);
  if (!index.valid()) return fmt::format("the ledger lacks pod {} on {}", pod.name.name, pod.node);
  const core::PodRecord& record = ledger.pods().record(index);
  if (record.state == core::PodState::reserved) {
    return fmt::format("pod {} is only reserved in the ledger, but it is on {}", pod.name.name,
                       pod.node);
  }
  if (ledger.nodes().name(record.node) != pod.node) {
    return fmt::format("the ledger has pod {} on {}, but it is on {}", pod.name.name,
                       ledger.nodes().name(record.node), pod.node);
  }
  if (!cards_known(truth, pod, node)) return compare_indexed(ledger, record, pod, node);
  if (record.state != core::PodState::bound) {
    return fmt::format("the ledger does not know the cards of pod {}", pod.name.name);
  }
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> charged;
  for (const auto& charge : record.charges) {
    const auto& card = ledger.nodes().spec(record.node).cards[charge.card];
    charged[card.id] = {charge.milli, charge.memory_mib};
  }
  for (const Share& share : pod.shares) {
    const auto found = charged.find(share.card);
    if (found == charged.end() || found->second != std::pair(share.milli, share.memory_mib)) {
      return fmt::format("the ledger does not charge {} for pod {}", share.card, pod.name.name);
    }
  }
  return {};
}

// Or a bind that kube-scheduler has requested: the ledger does not distinguish them.
bool is_hold(const Truth& truth, const core::PodRecord& record) {
  return record.state == core::PodState::reserved &&
         shape_of(truth.plan, pod_number(record.name)).listener != Listener::own;
}

std::string compare_nodes(const core::Ledger& ledger, const std::vector<const NodeView*>& nodes) {
  if (ledger.nodes().count() != nodes.size()) {
    return fmt::format("the ledger has {} nodes, the API {}", ledger.nodes().count(), nodes.size());
  }
  for (const NodeView* node : nodes) {
    const core::NodeIndex index = ledger.nodes().find(node->name);
    if (!index.valid() || !ledger.nodes().present(index)) {
      return fmt::format("the ledger lacks node {}", node->name);
    }
    const auto& cards = ledger.nodes().spec(index).cards;
    const bool same =
        std::equal(cards.begin(), cards.end(), node->cards.begin(), node->cards.end(),
                   [](const core::Card& a, const CardView& b) {
                     return a.id == b.id && a.healthy == b.healthy && a.memory_mib == b.memory_mib;
                   });
    if (!same) return fmt::format("the ledger has other cards on {}", node->name);
  }
  return {};
}

}  // namespace

bool cards_known(const Truth& truth, const PodView& pod, const NodeView& node) {
  if (truth.edited.contains(pod.uid)) return false;
  if (pod.shares.empty() || pod.cards_node != node.name) return false;
  if (!is_what_it_asks(shape_of(truth.plan, pod.number), pod.shares)) return false;
  // Assigned by number while the inventory was missing: only replicas that saw the inventory come
  // back know which card it was.
  const bool by_number = std::any_of(pod.shares.begin(), pod.shares.end(), [](const Share& share) {
    return !share.card.starts_with("GPU-");
  });
  if (by_number && !node.counted) return false;
  return std::all_of(pod.shares.begin(), pod.shares.end(),
                     [&](const Share& share) { return find_card(node, share.card) != nullptr; });
}

std::string recount(const Truth& truth, core::Engine& engine, const MayLinger& may_linger) {
  const core::Ledger& ledger = engine.ledger();
  const std::vector<const NodeView*> nodes = truth.views.nodes();
  if (std::string wrong = compare_nodes(ledger, nodes); !wrong.empty()) return wrong;
  std::map<std::string_view, const PodView*> live;
  for (const PodView* pod : truth.views.pods()) {
    if (pod->ended()) continue;
    const NodeView* node = pod->node.empty() ? nullptr : find_node(nodes, pod->node);
    if (node != nullptr) {
      std::string wrong = compare_pod(truth, ledger, *pod, *node);
      if (!wrong.empty()) return wrong;
    }
    live.emplace(pod->uid, pod);
  }
  for (std::size_t slot = 0; slot < ledger.nodes().rows(); ++slot) {
    for (const core::PodIndex index : ledger.nodes().pods_on(core::NodeIndex(slot))) {
      const core::PodRecord& record = ledger.pods().record(index);
      if (record.state == core::PodState::nomination) continue;
      const auto found = live.find(record.uid);
      if (found == live.end()) {
        if (is_hold(truth, record) && may_linger(record.uid)) continue;
        return fmt::format("the ledger has pod {}, which has gone", record.name);
      }
      const bool bound = record.state != core::PodState::reserved;
      if (bound && found->second->node.empty()) {
        return fmt::format("the ledger has pod {} bound, but it is on no node", record.name);
      }
    }
  }
  const auto wrong = engine.audit();
  return wrong.empty() ? std::string() : "the ledger differs from its own recount: " + wrong[0];
}

}  // namespace stowage::faults
