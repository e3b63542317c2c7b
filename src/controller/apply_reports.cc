#include "controller/apply_reports.h"

namespace stowage::controller {

void apply_reports(const std::vector<reports::NodeUpdate>& batch, const ReportTimes& times,
                   ReportTarget to) {
  for (const reports::NodeUpdate& node_update : batch) {
    if (to.cluster_cache.nodes().find(node_update.node) == nullptr) continue;
    if (node_update.silent)
      to.event_queue.put_silence({.node = node_update.node, .silent = *node_update.silent});
    if (node_update.plugin) {
      if (to.publisher != nullptr) {
        to.publisher->set_plugin(node_update.node,
                                 *node_update.plugin != reports::PluginState::none);
      }
      to.event_queue.put_plugin({.node = node_update.node,
                                 .missing = *node_update.plugin == reports::PluginState::missing});
    }
    to.cluster_cache.kubelets().cards().set_agent_silent(node_update.node,
                                                         node_update.silent.value_or(false));
    for (const std::string& pod : node_update.gone)
      to.cluster_cache.kubelets().cards().forget_allocation(node_update.node, pod);
    for (const auto& pod : node_update.pods)
      to.cluster_cache.kubelets().set(node_update.node, pod.name, pod.allocation);
    if (!node_update.load_told) continue;
    const net::Duration age =
        node_update.busy.empty() ? net::Duration{0} : times.now - node_update.measured;
    const net::Duration left = times.load_counts - age;
    to.event_queue.put_load({.node = node_update.node,
                             .busy = node_update.busy,
                             .until = {times.engine_now.ns + left.count()}});
  }
}

void forget_reports(const std::string& node, ReportTarget to) {
  to.cluster_cache.kubelets().cards().forget_node(node);
  to.event_queue.put_silence({.node = node, .silent = false});
  to.event_queue.put_plugin({.node = node, .missing = false});
  if (to.publisher != nullptr) to.publisher->forget(node);
}

}  // namespace stowage::controller
