#include "reports/report_batcher.h"

#include <algorithm>
#include <utility>

namespace stowage::reports {
namespace {

dialect::KubeletAllocation word_of(const codec::ReportedPod& pod) {
  dialect::KubeletAllocation allocation;
  for (const auto& container : pod.containers) {
    for (const auto& devices : container.devices) {
      auto& ids = allocation[container.name];
      ids.insert(ids.end(), devices.ids.begin(), devices.ids.end());
    }
  }
  return allocation;
}

PluginState state_of(const std::optional<codec::ReportedPlugin>& plugin) {
  if (!plugin) return PluginState::none;
  return plugin->registered ? PluginState::registered : PluginState::missing;
}

}  // namespace

ReportBatcher::ReportBatcher(net::EventLoop& loop, ReportCache& report_cache,
                             ReportBatcherOptions options, Send send)
    : report_cache_(report_cache), options_(options), send_(std::move(send)), timer_(loop) {
  report_cache.listen([this](const NodeReport& node_report, const NodeReportChange& change) {
    note(node_report, change);
  });
}

void ReportBatcher::note(const NodeReport& node_report, const NodeReportChange& change) {
  if (report_cache_.node_report(node_report.node) == nullptr) {  // forgotten
    dirty_.erase(node_report.node);
    return;
  }
  Dirty& dirty = dirty_[node_report.node];
  dirty.health = dirty.health || change.health;
  dirty.load = dirty.load || change.load || change.cards;
  dirty.plugin = dirty.plugin || change.plugin;
  dirty.pods.insert(change.pods_now.begin(), change.pods_now.end());
  dirty.pods.insert(change.pods_gone.begin(), change.pods_gone.end());
  send_within(options_.every);
}

void ReportBatcher::resend(const std::string& node) {
  if (const NodeReport* node_report = report_cache_.node_report(node)) mark(*node_report);
}

void ReportBatcher::resend_all() {
  for (const NodeReport* node_report : report_cache_.node_reports()) mark(*node_report);
}

void ReportBatcher::mark(const NodeReport& node_report) {
  Dirty& dirty = dirty_[node_report.node];
  dirty.health = dirty.load = true;
  dirty.plugin = dirty.plugin || node_report.plugin.has_value();
  for (const auto& [name, pod] : node_report.pods) dirty.pods.insert(name);
  send_within(net::Duration{0});
}

void ReportBatcher::send_within(net::Duration time) {
  if (!std::exchange(due_, true)) timer_.start(time, [this] { flush(); });
}

void ReportBatcher::flush() {
  std::vector<NodeUpdate> batch;
  while (!dirty_.empty() && batch.size() < options_.nodes_max) {
    const auto first = dirty_.begin();
    batch.push_back(update_of(*report_cache_.node_report(first->first), first->second));
    dirty_.erase(first);
  }
  due_ = !dirty_.empty();
  // More is waiting: other work has its turn first.
  if (due_) timer_.start(std::chrono::milliseconds{1}, [this] { flush(); });
  if (!batch.empty()) send_(std::move(batch));
}

NodeUpdate ReportBatcher::update_of(const NodeReport& node_report, const Dirty& dirty) {
  NodeUpdate node_update{.node = node_report.node};
  if (dirty.health) node_update.silent = node_report.silent;
  if (dirty.plugin) node_update.plugin = state_of(node_report.plugin);
  for (const std::string& name : dirty.pods) {
    const auto found = node_report.pods.find(name);
    if (found == node_report.pods.end()) {
      node_update.gone.push_back(name);
    } else {
      node_update.pods.push_back({.name = name, .allocation = word_of(found->second)});
    }
  }
  if (!dirty.load) return node_update;
  node_update.load_told = true;
  for (const auto& card : node_report.cards) {
    const auto load = node_report.load.find(card.index);
    if (load == node_report.load.end() || !load->second.values.busy_permille) continue;
    node_update.measured = node_update.busy.empty()
                               ? load->second.at
                               : std::min(node_update.measured, load->second.at);
    node_update.busy.push_back({.card = card.id, .permille = *load->second.values.busy_permille});
  }
  return node_update;
}

}  // namespace stowage::reports
