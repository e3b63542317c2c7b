// The state of the API in versions: which objects exist, when each last changed, and which are
// deleted. Follows a reports::ReportCache; the objects themselves are made from its reports on
// request. One thread.
//
// Every change takes the next version, and an object is listed only under its newest one. So a
// reader that has seen everything up to a version finds all later changes by walking on from there,
// however far behind it is: nothing is kept per reader, and of several changes it sees the last.
// Deleted objects are remembered too, up to a limit: a reader that has not seen a deletion which
// was forgotten has missed something (see lost()) and must start again.
//
//   versions ..., 17 n1, 21 d.p (deleted), 22 n2         version() == 22
//                            '- next(.., after 17)
//
// Versions begin with the time, so that those of an earlier process are older than all of these.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metricsapi/objects.h"
#include "reports/report_cache.h"

namespace stowage::metricsapi {

struct WatchCacheOptions {
  // A node whose load alone has changed gets a new version at most this often: load changes all the
  // time, and watchers want other changes at once.
  net::Duration load_every = std::chrono::seconds{10};
  std::size_t gone_max = 16'384;  // remembered deletions, per resource
};

class WatchCache {
 public:
  // Both must outlive the last use of the watch cache; the report cache may be destroyed before it.
  WatchCache(WatchCacheOptions options, reports::ReportCache& report_cache,
             std::function<Now()> clock);
  WatchCache(const WatchCache&) = delete;
  WatchCache& operator=(const WatchCache&) = delete;

  struct Entry {
    std::string name;
    std::uint64_t version = 0;
    std::uint64_t born = 0;  // its first version
    bool gone = false;
    std::int64_t changed_unix = 0;
    // Nodes that report the pod, the latest report last. There may be two when a pod was created
    // again elsewhere under its name.
    struct Teller {
      std::string node;
      std::string pod;  // "namespace/name"
    };
    std::vector<Teller> tellers;
    net::Moment load_told{};  // for a node
  };

  // Nodes that have cards according to other sources. If an agent has reported on a node, only its
  // reports count.
  void set_others(std::vector<OtherNode> nodes);

  // Another replica has served these objects meanwhile, with its own versions: readers with those
  // versions, or with earlier ones, must start again.
  void begin_term();

  [[nodiscard]] std::uint64_t version() const { return version_; }
  // A reader that has seen less may have missed a deletion.
  [[nodiscard]] std::uint64_t lost(Resource resource) const { return side(resource).lost; }
  // The first change after that version, perhaps a deletion; null if none exists.
  [[nodiscard]] const Entry* next(Resource resource, std::uint64_t after) const;
  [[nodiscard]] const Entry* find(Resource resource, std::string_view name) const;  // null: none
  // By name; without deleted ones.
  [[nodiscard]] std::vector<const Entry*> all(Resource resource) const;

  // The current state. For a deleted object: its last state.
  [[nodiscard]] ApiObject object(Resource resource, const Entry& entry, const Now& now) const;
  [[nodiscard]] Now now() const { return clock_(); }

  // Called after every change, while the change is in progress.
  void listen(std::function<void()> listener) { listener_ = std::move(listener); }

 private:
  struct Side {
    std::map<std::string, Entry, std::less<>> by_name;
    std::map<std::uint64_t, Entry*> by_version;
    std::deque<std::uint64_t> tombstones;  // versions of deleted objects; some may exist again
    std::uint64_t lost = 0;
  };

  [[nodiscard]] Side& side(Resource resource) { return sides_[static_cast<std::size_t>(resource)]; }
  [[nodiscard]] const Side& side(Resource resource) const {
    return sides_[static_cast<std::size_t>(resource)];
  }
  Entry& touch(Resource resource, const std::string& name);
  void add_tombstone(Resource resource, const std::string& name);
  void on_node_report(const reports::NodeReport& node_report,
                      const reports::NodeReportChange& change);
  void on_node(const reports::NodeReport& node_report, const reports::NodeReportChange& change);
  void publish(const reports::NodeReport& node_report, const std::string& key);
  void untell(const std::string& node, const std::string& key);

  const WatchCacheOptions options_;
  reports::ReportCache& report_cache_;
  std::function<Now()> clock_;
  std::function<void()> listener_;
  std::uint64_t version_ = 0;
  std::array<Side, kResources> sides_;
  std::map<std::string, OtherNode> others_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace stowage::metricsapi
