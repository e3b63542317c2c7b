// Executes evictions: writes the reason for the victim's controller (condition DisruptionTarget),
// then deletes the pod with its own grace period. Runs on the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/log.h"
#include "core/model/event.h"
#include "kube/clock.h"
#include "kube/event_recorder.h"
#include "kube/object_access.h"
#include "scheduler/cluster_cache.h"
#include "scheduler/event_queue.h"

namespace stowage::scheduler {

class Evictor {
 public:
  struct Deps {  // all outlive the evictor
    ClusterCache& cluster_cache;
    EventQueue& event_queue;
    kube::ObjectAccess& objects;
    kube::EventRecorder& recorder;
    base::Log& log;
    kube::WallClock wall_clock;
  };
  explicit Evictor(Deps deps);
  ~Evictor();
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;

  // The engine gets a reply if the victim stays. The watch reports its deletion.
  void evict(const core::Evict& command);
  // Evicts the later one of two pods with the same share of a card.
  void evict(const core::CardConflict& command);

  // Ends what is under way: another replica leads now.
  void stand_down();

  struct Counters {
    std::uint64_t deleted = 0;
    std::uint64_t gone = 0;  // deleted before the eviction
    std::uint64_t failed = 0;
    std::size_t under_way = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Victim {
    std::string uid;
    std::string node;
    std::string note;  // text of the event when the pod is deleted; empty: already reported
    std::string ns;
    std::string name;
    [[nodiscard]] std::string text() const { return ns + "/" + name; }
    [[nodiscard]] std::string path() const;
  };
  struct Why {
    std::string condition;  // for the victim's controller
    std::string note;       // text of the event
  };
  // `by`: the pod that the victim makes way for.
  void begin(const std::string& uid, const std::string& node, const std::string& by,
             const Why& why);
  void marked(const Victim& victim, const kube::ObjectOutcome& outcome);
  void remove(const Victim& victim);
  void removed(const Victim& victim, const kube::ObjectOutcome& outcome);
  void give_up(const Victim& victim, const std::string& why);

  Deps deps_;
  Counters counters_;
  std::unordered_set<std::string> under_way_;  // uids
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
