#include "reports/report_cache.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace stowage::reports {
namespace {

std::string name_of(const codec::ReportedPod& pod) { return pod.ns + '/' + pod.name; }

// Overhead of a tree entry, including its heap block.
constexpr std::size_t kTreeEntry = 48;
constexpr std::size_t kNodeReportBytes = 1024;  // an empty report, with its name in several tables
constexpr std::size_t kLoadBytes = sizeof(CardLoad) + kTreeEntry;
// An entry of the metrics API and one of the cluster cache for a pod: their overhead, with four
// copies of its name, besides their copies of its devices.
constexpr std::size_t kPodElsewhere = 512;

std::size_t cost(const std::string& name, const codec::ReportedPod& pod) {
  return kTreeEntry + kPodElsewhere + 4 * name.size() + 2 * codec::bytes_of(pod);
}

std::size_t cost(const std::vector<codec::ReportedCard>& cards) {
  std::size_t bytes = 0;
  for (const codec::ReportedCard& card : cards) bytes += codec::bytes_of(card);
  return bytes;
}

std::size_t cost(const std::optional<codec::ReportedPlugin>& plugin) {
  return plugin ? codec::bytes_of(*plugin) : 0;
}

// Otherwise samples of cards that the node no longer has would stay for ever.
void drop_load_of_others(NodeReport& node_report) {
  std::erase_if(node_report.load, [&](const auto& entry) {
    return std::none_of(node_report.cards.begin(), node_report.cards.end(),
                        [&](const auto& card) { return card.index == entry.first; });
  });
}

}  // namespace

Status ReportCache::update(const std::string& node, codec::AgentReport report, net::Moment now) {
  auto found = entries_.find(node);
  if (found == entries_.end()) {
    if (entries_.size() >= options_.nodes_max) return refuse(Space::too_many_nodes);
    found = entries_.emplace(node, Entry{}).first;
    found->second.node_report.node = node;
    found->second.queue = &order_;
    found->second.turn = order_.insert(order_.end(), node);
    charge(found->second, 0, kNodeReportBytes + 4 * node.size());
  }
  ++counters_.reports;
  Entry& entry = found->second;
  NodeReport& node_report = entry.node_report;
  NodeReportChange change;
  change.health = node_report.heard == net::Moment{} || node_report.silent;
  move_to(order_, entry);
  node_report.silent = false;
  node_report.heard = now;
  if (!report.agent.empty()) node_report.agent = std::move(report.agent);
  Space space = Space::there;
  if (report.cards) space = take_cards(entry, std::move(*report.cards), now, change);
  take_load(entry, report.load, now, change);
  const bool first_line = report.version != 0;
  if ((report.plugin || first_line) && space == Space::there)
    space = take_plugin(entry, std::move(report.plugin), change);
  if (report.pods && space == Space::there)
    space = take_pods(entry, std::move(*report.pods), change);
  if (change.any()) notify_listeners(node_report, change);
  if (space != Space::there) return refuse(space);
  return {};
}

// ---- memory budgets

ReportCache::Space ReportCache::space(const Entry& entry, std::size_t before,
                                      std::size_t after) const {
  if (after <= before) return Space::there;
  const std::size_t node = entry.bytes - before + after;
  if (node > options_.node_bytes_max) return Space::node_spent;
  const bool fair = node <= options_.bytes_max / std::max<std::size_t>(options_.nodes_max, 1);
  return fair || bytes_ - before + after <= options_.bytes_max ? Space::there : Space::all_spent;
}

void ReportCache::charge(Entry& entry, std::size_t before, std::size_t after) {
  entry.bytes += after - before;
  bytes_ += after - before;
}

Status ReportCache::refuse(Space why) {
  ++counters_.refused;
  switch (why) {
    case Space::too_many_nodes:
      ++counters_.refused_nodes;
      return fail(fmt::format("{} nodes report already, which is the limit", options_.nodes_max));
    case Space::too_many_pods:
      ++counters_.refused_pods;
      return fail(fmt::format("a node may report at most {} pods", options_.pods_max));
    case Space::node_spent:
      ++counters_.refused_node_bytes;
      return fail(
          fmt::format("the reports of a node may take at most {} bytes", options_.node_bytes_max));
    case Space::all_spent:
    case Space::there: break;
  }
  ++counters_.refused_bytes;
  return fail(fmt::format("the reports of all nodes take {} bytes, which is the limit",
                          options_.bytes_max));
}

// ---- updates

ReportCache::Space ReportCache::take_cards(Entry& entry, std::vector<codec::ReportedCard> cards,
                                           net::Moment now, NodeReportChange& change) {
  NodeReport& node_report = entry.node_report;
  const std::size_t before = cost(node_report.cards);
  const std::size_t after = cost(cards);
  if (const Space left = space(entry, before, after); left != Space::there) return left;
  charge(entry, before, after);
  change.cards = cards != node_report.cards || node_report.cards_at == net::Moment{};
  node_report.cards = std::move(cards);
  node_report.cards_at = now;
  const std::size_t loads = node_report.load.size();
  drop_load_of_others(node_report);
  charge(entry, loads * kLoadBytes, node_report.load.size() * kLoadBytes);
  return Space::there;
}

// This is so little that it is counted but never refused.
void ReportCache::take_load(Entry& entry, const std::vector<codec::ReportedLoad>& load,
                            net::Moment now, NodeReportChange& change) {
  NodeReport& node_report = entry.node_report;
  const std::size_t loads = node_report.load.size();
  for (const codec::ReportedLoad& each : load) {
    if (node_report.load.size() >= options_.cards_max && node_report.load.count(each.card) == 0)
      continue;
    change.load = true;
    node_report.load[each.card] = {.values = each, .at = now};
  }
  charge(entry, loads * kLoadBytes, node_report.load.size() * kLoadBytes);
}

ReportCache::Space ReportCache::take_plugin(Entry& entry,
                                            std::optional<codec::ReportedPlugin> plugin,
                                            NodeReportChange& change) {
  auto& kept = entry.node_report.plugin;
  const std::size_t before = cost(kept);
  const std::size_t after = cost(plugin);
  if (const Space left = space(entry, before, after); left != Space::there) return left;
  charge(entry, before, after);
  change.plugin = plugin != kept;
  count_plugin(kept, -1);
  kept = std::move(plugin);
  count_plugin(kept, 1);
  return Space::there;
}

void ReportCache::count_plugin(const std::optional<codec::ReportedPlugin>& plugin,
                               std::int32_t change) {
  if (!plugin) return;
  std::size_t& count =
      plugin->registered ? counters_.plugins_registered : counters_.plugins_missing;
  change > 0 ? ++count : --count;
}

void ReportCache::drop_pod(Entry& entry, const std::string& name, NodeReportChange& change) {
  const auto found = entry.node_report.pods.find(name);
  if (found == entry.node_report.pods.end()) return;
  charge(entry, cost(name, found->second), 0);
  entry.node_report.pods.erase(found);
  --counters_.pods;
  change.pods_gone.push_back(name);
}

ReportCache::Space ReportCache::put_pod(Entry& entry, const std::string& name,
                                        codec::ReportedPod pod, NodeReportChange& change) {
  auto& pods = entry.node_report.pods;
  const auto found = pods.find(name);
  const bool fresh = found == pods.end();
  if (!fresh && found->second == pod) return Space::there;
  if (fresh && pods.size() >= options_.pods_max) return Space::too_many_pods;
  const std::size_t before = fresh ? 0 : cost(name, found->second);
  const std::size_t after = cost(name, pod);
  if (const Space left = space(entry, before, after); left != Space::there) return left;
  const auto at = pods.insert_or_assign(name, std::move(pod)).first;
  charge(entry, before, cost(name, at->second));  // assigned strings keep their capacity
  if (fresh) ++counters_.pods;
  change.pods_now.push_back(name);
  return Space::there;
}

ReportCache::Space ReportCache::take_pods(Entry& entry, codec::ReportedPods pods,
                                          NodeReportChange& change) {
  NodeReport& node_report = entry.node_report;
  std::map<std::string, codec::ReportedPod> now;
  for (codec::ReportedPod& pod : pods.now) {
    std::string name = name_of(pod);
    now.insert_or_assign(std::move(name), std::move(pod));
  }
  if (pods.all) {
    node_report.pods_known = true;
    std::vector<std::string> missing;
    for (const auto& [name, pod] : node_report.pods) {
      if (now.count(name) == 0) missing.push_back(name);
    }
    for (const std::string& name : missing) drop_pod(entry, name, change);
  }
  for (const std::string& name : pods.gone) {
    if (now.count(name) == 0) drop_pod(entry, name, change);
  }
  Space space = Space::there;
  for (auto& [name, pod] : now) {
    const Space left = put_pod(entry, name, std::move(pod), change);
    if (space == Space::there) space = left;
  }
  return space;
}

void ReportCache::look(net::Moment now) {
  while (!order_.empty()) {
    Entry& entry = entries_.at(order_.front());
    if (now - entry.node_report.heard <= options_.silence) break;
    entry.node_report.silent = true;
    move_to(silent_, entry);
    ++counters_.silences;
    notify_listeners(entry.node_report, {.health = true});
  }
  while (!silent_.empty()) {
    Entry& entry = entries_.at(silent_.front());
    if (now - entry.node_report.heard <= std::max(options_.plugin_kept, options_.silence)) return;
    move_to(lost_, entry);
    NodeReportChange change;
    static_cast<void>(take_plugin(entry, std::nullopt, change));
    if (change.any()) notify_listeners(entry.node_report, change);
  }
}

void ReportCache::move_to(Order& queue, Entry& entry) {
  queue.splice(queue.end(), *entry.queue, entry.turn);
  entry.queue = &queue;
}

void ReportCache::forget(const std::string& node) {
  const auto found = entries_.find(node);
  if (found == entries_.end()) return;
  NodeReport node_report = std::move(found->second.node_report);
  bytes_ -= found->second.bytes;
  found->second.queue->erase(found->second.turn);
  entries_.erase(found);
  NodeReportChange change{.cards = true, .health = true};
  counters_.pods -= node_report.pods.size();
  for (const auto& [name, pod] : node_report.pods) change.pods_gone.push_back(name);
  node_report.cards.clear();
  node_report.load.clear();
  node_report.pods.clear();
  change.plugin = node_report.plugin.has_value();
  count_plugin(node_report.plugin, -1);
  node_report.plugin.reset();
  notify_listeners(node_report, change);
}

void ReportCache::notify_listeners(const NodeReport& node_report,
                                   const NodeReportChange& change) const {
  for (const Listener& listener : listeners_) listener(node_report, change);
}

const NodeReport* ReportCache::node_report(const std::string& node) const {
  const auto found = entries_.find(node);
  return found == entries_.end() ? nullptr : &found->second.node_report;
}

std::vector<const NodeReport*> ReportCache::node_reports() const {
  std::vector<const NodeReport*> all;
  all.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) all.push_back(&entry.node_report);
  std::sort(all.begin(), all.end(),
            [](const NodeReport* a, const NodeReport* b) { return a->node < b->node; });
  return all;
}

ReportCache::Counters ReportCache::counters() const {
  Counters counters = counters_;
  counters.nodes = entries_.size();
  counters.silent = silent_.size() + lost_.size();
  counters.bytes = bytes_;
  return counters;
}

}  // namespace stowage::reports
