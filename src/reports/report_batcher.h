// Collects changes of the report cache for the ledger and sends them in batches. The report cache
// lives on one thread and the consumer on another, and chatty agents must not slow that down.
//
// If a node changes several times between two batches, only its last state is sent. Loads are keyed
// by card id, as in ledgers. Nothing is sent about a node that the report cache has forgotten: the
// ledger deleted that node first.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/event.h"
#include "dialect/kubelet_allocation.h"
#include "net/event_loop.h"
#include "reports/report_cache.h"

namespace stowage::reports {

enum class PluginState : std::uint8_t { none, registered, missing };

struct NodeUpdate {
  struct Pod {
    std::string name;  // "namespace/name"
    dialect::KubeletAllocation allocation;
  };
  std::string node;
  std::optional<bool> silent;  // if it has changed
  // The device plugin of its agent, if it has changed. None: the agent has no plugin, or has been
  // silent for so long that it is not known any more.
  std::optional<PluginState> plugin;
  bool load_told = false;
  std::vector<core::CardsMeasured::Busy> busy;
  net::Moment measured{};  // the oldest time of measurement
  std::vector<Pod> pods;   // whose devices have changed
  std::vector<std::string> gone;
};

struct ReportBatcherOptions {
  net::Duration every = std::chrono::milliseconds{100};
  std::size_t nodes_max = 200;  // per batch; others follow in the next
};

class ReportBatcher {
 public:
  using Send = std::function<void(std::vector<NodeUpdate>)>;
  // `report_cache` must not be destroyed before the batcher, which registers a listener.
  ReportBatcher(net::EventLoop& loop, ReportCache& report_cache, ReportBatcherOptions options,
                Send send);
  ReportBatcher(const ReportBatcher&) = delete;
  ReportBatcher& operator=(const ReportBatcher&) = delete;

  // Sends everything that is known of a node that is new to the ledger, or of all nodes.
  void resend(const std::string& node);
  void resend_all();
  [[nodiscard]] std::size_t waiting() const { return dirty_.size(); }

 private:
  struct Dirty {
    bool health = false;
    bool load = false;
    bool plugin = false;
    std::set<std::string> pods;  // changed or deleted
  };
  void note(const NodeReport& node_report, const NodeReportChange& change);
  void mark(const NodeReport& node_report);
  void send_within(net::Duration time);
  void flush();
  [[nodiscard]] static NodeUpdate update_of(const NodeReport& node_report, const Dirty& dirty);

  ReportCache& report_cache_;
  const ReportBatcherOptions options_;
  Send send_;
  std::map<std::string, Dirty> dirty_;  // nodes in the report cache
  net::Timer timer_;
  bool due_ = false;
};

}  // namespace stowage::reports
