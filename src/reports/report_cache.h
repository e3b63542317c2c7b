// The reports of agents, by node. Pure: the time is a parameter. One thread.
//
//   (unknown) --first report--> fresh --no report for a while--> silent --a report--> fresh
//
// The state of a node stays until a report changes it or it is forgotten: silence means that the
// state may be outdated, not that it is wrong. Only the device plugin of an agent that has been
// silent for long is forgotten: the agent was removed.
//
// Memory is counted here, including the copies elsewhere (the metrics API, the cluster cache): each
// node has a budget, and all nodes together have one. When the common budget is spent, nodes that
// need no more than an equal part of it are still accepted, so a large reporter takes nothing from
// small ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "codec/agent_report.h"
#include "net/event_loop.h"

namespace stowage::reports {

struct CardLoad {
  codec::ReportedLoad values;
  net::Moment at;  // time of the report
};

struct NodeReport {
  std::string node;
  std::string agent;  // its version
  std::vector<codec::ReportedCard> cards;
  net::Moment cards_at{};
  std::map<std::int32_t, CardLoad> load;           // by the card's index
  std::map<std::string, codec::ReportedPod> pods;  // by "namespace/name"
  bool pods_known = false;                         // a complete list has arrived
  std::optional<codec::ReportedPlugin> plugin;     // unset: the agent has no device plugin
  net::Moment heard{};
  bool silent = false;
};

// The changes. Pods are named "namespace/name".
struct NodeReportChange {
  bool cards = false;
  bool load = false;
  bool health = false;  // became silent or fresh
  bool plugin = false;
  std::vector<std::string> pods_now;
  std::vector<std::string> pods_gone;
  [[nodiscard]] bool any() const {
    return cards || load || health || plugin || !pods_now.empty() || !pods_gone.empty();
  }
};

struct ReportCacheOptions {
  net::Duration silence = std::chrono::seconds{3};
  // As long as the kubelet remembers a device plugin that has disconnected.
  net::Duration plugin_kept = std::chrono::minutes{5};
  std::size_t nodes_max = 20'000;  // reports of further nodes are refused
  // Per node. More than any node has; an agent must not fill our memory.
  std::size_t pods_max = 4'096;
  std::size_t cards_max = 512;  // whose load is kept
  std::size_t node_bytes_max = std::size_t{4} << 20U;
  std::size_t bytes_max = std::size_t{512} << 20U;  // for all nodes together
};

class ReportCache {
 public:
  explicit ReportCache(ReportCacheOptions options = {}) : options_(options) {}
  ReportCache(const ReportCache&) = delete;
  ReportCache& operator=(const ReportCache&) = delete;

  // Called with every report that has changed, after the change, and with the changes. Listeners
  // must not change the report cache.
  using Listener = std::function<void(const NodeReport&, const NodeReportChange&)>;
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }

  // An error says which limit was exceeded. The part within the limits has been applied.
  [[nodiscard]] Status update(const std::string& node, codec::AgentReport report, net::Moment now);
  // Marks nodes that have been silent for too long, and forgets their plugins. Call from time to
  // time.
  void look(net::Moment now);
  // The cluster no longer has the node. Listeners get its pods as deleted.
  void forget(const std::string& node);

  [[nodiscard]] const NodeReport* node_report(const std::string& node) const;  // null: never
                                                                               // reported
  [[nodiscard]] std::vector<const NodeReport*> node_reports() const;           // by name

  struct Counters {
    std::uint64_t reports = 0;
    std::uint64_t refused = 0;             // refused reports: the sum of the counters below
    std::uint64_t refused_nodes = 0;       // too many nodes
    std::uint64_t refused_pods = 0;        // too many pods of a node
    std::uint64_t refused_node_bytes = 0;  // the budget of the node is spent
    std::uint64_t refused_bytes = 0;       // the budget of all nodes is spent
    std::uint64_t silences = 0;
    std::size_t nodes = 0;
    std::size_t silent = 0;
    std::size_t pods = 0;
    std::size_t plugins_registered = 0;  // nodes whose device plugin is
    std::size_t plugins_missing = 0;     // nodes whose device plugin is not
    std::size_t bytes = 0;               // memory of all reports
  };
  [[nodiscard]] Counters counters() const;

 private:
  using Order = std::list<std::string>;  // names; least recently reported first
  struct Entry {
    NodeReport node_report;
    Order* queue = nullptr;  // one of the three below
    Order::iterator turn;    // in that
    std::size_t bytes = 0;   // memory of this report
  };
  enum class Space : std::uint8_t { there, too_many_nodes, too_many_pods, node_spent, all_spent };
  [[nodiscard]] Space space(const Entry& entry, std::size_t before, std::size_t after) const;
  void charge(Entry& entry, std::size_t before, std::size_t after);
  [[nodiscard]] Status refuse(Space why);
  [[nodiscard]] Space take_cards(Entry& entry, std::vector<codec::ReportedCard> cards,
                                 net::Moment now, NodeReportChange& change);
  void take_load(Entry& entry, const std::vector<codec::ReportedLoad>& load, net::Moment now,
                 NodeReportChange& change);
  [[nodiscard]] Space take_plugin(Entry& entry, std::optional<codec::ReportedPlugin> plugin,
                                  NodeReportChange& change);
  [[nodiscard]] Space take_pods(Entry& entry, codec::ReportedPods pods, NodeReportChange& change);
  [[nodiscard]] Space put_pod(Entry& entry, const std::string& name, codec::ReportedPod pod,
                              NodeReportChange& change);
  void count_plugin(const std::optional<codec::ReportedPlugin>& plugin, std::int32_t change);
  void drop_pod(Entry& entry, const std::string& name, NodeReportChange& change);
  void move_to(Order& queue, Entry& entry);
  void notify_listeners(const NodeReport& node_report, const NodeReportChange& change) const;

  ReportCacheOptions options_;
  std::vector<Listener> listeners_;
  std::unordered_map<std::string, Entry> entries_;
  Order order_;   // fresh
  Order silent_;  // silent, the plugin is known
  Order lost_;    // silent for long
  std::size_t bytes_ = 0;
  Counters counters_;
};

}  // namespace stowage::reports
