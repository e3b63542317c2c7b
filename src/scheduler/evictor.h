// Carries out evictions: tells the victim's controller why (the condition DisruptionTarget), then
// deletes the pod, with the grace that it asks for itself. One thread, the loop's.
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
#include "scheduler/mailbox.h"
#include "scheduler/roster.h"

namespace stowage::scheduler {

class Evictor {
 public:
  struct Ends {  // all outlive the evictor
    Roster& roster;
    Mailbox& mailbox;
    kube::ObjectAccess& objects;
    kube::EventRecorder& recorder;
    base::Log& log;
    kube::WallClock wall_clock;
  };
  explicit Evictor(Ends ends);
  ~Evictor();
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;

  // The engine is told if the victim stays; that it goes, it hears from the watch.
  void evict(const core::Evict& command);
  // The later one of two pods with the same share of a card.
  void evict(const core::CardConflict& command);

  // What is under way goes no further: another decides now.
  void stand_down();

  struct Counters {
    std::uint64_t deleted = 0;
    std::uint64_t gone = 0;  // had gone before
    std::uint64_t failed = 0;
    std::size_t under_way = 0;
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Victim {
    std::string uid;
    std::string node;
    std::string reason;  // of the event when it has gone, and its note; empty: told already
    std::string note;
    std::string ns;
    std::string name;
    [[nodiscard]] std::string text() const { return ns + "/" + name; }
    [[nodiscard]] std::string path() const;
  };
  struct Why {
    std::string condition;  // for the victim's controller
    std::string event;      // the reason
    std::string note;
  };
  // `by`: the pod that it gives way to.
  void begin(const std::string& uid, const std::string& node, const std::string& by,
             const Why& why);
  void marked(const Victim& victim, const kube::ObjectOutcome& outcome);
  void remove(const Victim& victim);
  void removed(const Victim& victim, const kube::ObjectOutcome& outcome);
  void give_up(const Victim& victim, const std::string& why);

  Ends ends_;
  Counters counters_;
  std::unordered_set<std::string> under_way_;  // uids
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
