#include "core/engine/cluster_state.h"

#include <type_traits>
#include <variant>

namespace stowage::core {

void ClusterState::add_pod(PodIndex pod, const PodSpec& spec) {
  const NodeIndex node = ledger.pods().record(pod).node;
  quotas.charge(pod, ledger);
  affinity.add(pod, node, spec);
  if (!spec.constraints.claims.empty() || !spec.constraints.disks.empty()) {
    volumes.users().add_pod(spec, ledger.nodes().name(node));
  }
  ++priorities[spec.priority];
}

void ClusterState::remove_pod(PodIndex pod) {
  const PodRecord& record = ledger.pods().record(pod);
  quotas.release(pod);
  volumes.users().remove_pod(record.uid);
  volumes.reservations().release(record.uid);
  if (!affinity.contains(pod)) return;
  affinity.remove(pod);
  const auto priority = priorities.find(record.priority);
  if (priority != priorities.end() && --priority->second == 0) priorities.erase(priority);
}

void ClusterState::apply(const AuxObjectChanged& e) {
  std::visit(
      [this](const auto& now) {
        using Now = std::decay_t<decltype(now)>;
        if constexpr (std::is_same_v<Now, Namespace>) {
          affinity.set_namespace(now);
        } else if constexpr (std::is_same_v<Now, Budget>) {
          budgets.insert_or_assign(now.name, now);
          return;  // helps no waiting pod
        } else {
          volumes.set(now);
        }
        ++epoch;
      },
      e.now);
}

void ClusterState::apply(const AuxObjectGone& e) {
  if (e.kind == AuxKind::budget) {
    budgets.erase(e.name);
    return;
  }
  if (e.kind == AuxKind::name_space) {
    affinity.remove_namespace(e.name);
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
  const NodeIndex at = ledger.nodes().find(node);
  return find_positions(cards, at.valid() ? ledger.nodes().spec(at) : NodeSpec{.name = node});
}

NodeIndex ClusterState::find_present(const std::string& node) const {
  const NodeIndex at = ledger.nodes().find(node);
  return at.valid() && ledger.nodes().present(at) ? at : NodeIndex{};
}

}  // namespace stowage::core
