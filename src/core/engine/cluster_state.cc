#include "core/engine/cluster_state.h"

#include <type_traits>
#include <variant>

namespace stowage::core {

void ClusterState::seat(PodIndex pod, const PodSpec& spec) {
  const NodeIndex node = ledger.pod(pod).node;
  quotas.charge(pod, ledger);
  peers.add(pod, node, spec);
  if (!spec.around.claims.empty() || !spec.around.disks.empty()) {
    volumes.users().add_pod(spec, ledger.name(node));
  }
  ++priorities[spec.priority];
}

void ClusterState::unseat(PodIndex pod) {
  const PodRecord& record = ledger.pod(pod);
  quotas.release(pod);
  volumes.users().remove_pod(record.uid);
  volumes.reservations().release(record.uid);
  if (!peers.seated(pod)) return;
  peers.remove(pod);
  const auto priority = priorities.find(record.priority);
  if (priority != priorities.end() && --priority->second == 0) priorities.erase(priority);
}

void ClusterState::apply(const ThingChanged& e) {
  std::visit(
      [this](const auto& now) {
        using Now = std::decay_t<decltype(now)>;
        if constexpr (std::is_same_v<Now, Namespace>) {
          peers.set(now);
        } else if constexpr (std::is_same_v<Now, Budget>) {
          budgets.insert_or_assign(now.name, now);
          return;  // helps no pod that waits
        } else {
          volumes.set(now);
        }
        ++epoch;
      },
      e.now);
}

void ClusterState::apply(const ThingGone& e) {
  if (e.kind == ThingKind::budget) {
    budgets.erase(e.name);
    return;
  }
  if (e.kind == ThingKind::name_space) {
    peers.drop_namespace(e.name);
  } else {
    volumes.drop(e.kind, e.name);
  }
  ++epoch;
}

const PodSpec& ClusterState::bounded(const PodSpec& pod, PodSpec& scratch) const {
  if (!quotas.limits(pod.name)) return pod;
  scratch = pod;
  scratch.bounds = quotas.bounds(pod);
  return scratch;
}

Positions ClusterState::positions_on(const std::string& node, const NamedAssignment& cards) const {
  const NodeIndex at = ledger.find_node(node);
  return find_positions(cards, at.valid() ? ledger.spec(at) : NodeSpec{.name = node});
}

NodeIndex ClusterState::find_present(const std::string& node) const {
  const NodeIndex at = ledger.find_node(node);
  return at.valid() && ledger.present(at) ? at : NodeIndex{};
}

}  // namespace stowage::core
