// Pre-allocations: cards that are written on pods of other schedulers before those bind them. Those
// that count are sent to the engine while we lead.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/instant.h"
#include "core/model/event.h"
#include "scheduler/decision_clock.h"
#include "scheduler/event_queue.h"
#include "scheduler/node_cache.h"
#include "scheduler/notice.h"
#include "scheduler/pod_cache.h"
#include "scheduler/signatures.h"

namespace stowage::scheduler {

class PreAllocations {
 public:
  struct Clock {  // the wall clock, and the engine's
    std::function<std::int64_t()> unix_nanos;
    std::function<base::Instant()> now;
  };
  struct Deps {  // all outlive it
    PodCache& pods;
    const NodeCache& nodes;
    Signatures& signatures;
    DecisionClock& decision_clock;
    EventQueue& event_queue;
  };
  PreAllocations(Clock clock, const Deps& deps) : clock_(std::move(clock)), deps_(deps) {}

  // Enables pre-allocations, which this profile of the engine places. The scheduler of such a pod
  // binds it within `bind_limit` or never; of several limits the longest counts.
  void enable_pre_allocations(std::uint32_t profile, std::chrono::seconds bind_limit) {
    profile_ = profile;
    bind_limit_ = std::max(bind_limit_, bind_limit);
  }
  [[nodiscard]] bool enabled() const { return profile_.has_value(); }

  // A pre-allocation that was sent to the engine: its cards are kept until HoldEnded (see
  // pre_allocation_reaper.h).
  struct Announced {
    std::string uid;
    std::string ns;
    std::string name;
    std::int64_t made = 0;  // nanoseconds since 1970
    base::Instant until;
    std::string node;
  };
  void on_pre_allocation(std::function<void(const Announced&)> told) {
    on_pre_allocation_ = std::move(told);
  }
  // Called with a node whose cards or indexes changed, while we lead.
  void on_other_cards(std::function<void(const std::string& node)> told) {
    on_other_cards_ = std::move(told);
  }

  // Handles an unbound pod of another scheduler. Requires: enabled().
  [[nodiscard]] std::optional<Notice> see(PodCache::Entry& entry, const dialect::PodObject& object);
  // The pod is bound or deleted.
  void forget(PodCache::Entry& entry);
  // The last pre-allocation of the pod has ended.
  void ended(const std::string& uid);
  // Its scheduler asks about it again, and will not bind it by its earlier pre-allocation.
  void asked_again(const std::string& uid);
  // The pre-allocation of this unbound pod is ours, but the indexes of its node's cards have
  // changed: its agent would give it other cards than those pre-allocated.
  [[nodiscard]] bool outdated(const dialect::PodObject& unbound) const;
  // One extender at a time writes a pre-allocation on a pod: an earlier call that fails must not
  // undo the hold of a later one.
  void begin_write(const std::string& uid) { writing_.insert(uid); }
  void end_write(const std::string& uid) { writing_.erase(uid); }
  [[nodiscard]] bool being_written(const std::string& uid) const { return writing_.contains(uid); }
  // The annotations that replace a pre-allocation that is removed from the pod.
  [[nodiscard]] dialect::Annotations withdrawal(const dialect::PodObject& pod);

  // The cards of a node changed: more pre-allocations may count, and some may be outdated.
  void node_changed(const std::string& node);
  [[nodiscard]] bool leads() const { return leads_; }
  void stand_down() { leads_ = false; }
  // This replica leads. Requires: a list of pods has arrived since the last leader lost its lease.
  // Sends all pre-allocations that count to the engine. By then the engine must have all bound pods
  // and all deletions, because it holds only what is free. Later pre-allocations are sent at once.
  void lead();

  [[nodiscard]] std::uint64_t untrusted() const { return untrusted_; }

 private:
  struct Unreported {
    dialect::PodObject object;
    bool is_signed = false;
    bool whole = false;  // the annotations of its dialect are signed too
    base::Instant seen;  // first seen
  };
  [[nodiscard]] std::optional<Notice> unproved(PreAllocation& pre_allocation,
                                               const dialect::PodObject& object,
                                               const Signatures::PreAllocationCheck& said);
  bool keep(PreAllocation& pre_allocation, const dialect::PodObject& object,
            const Signatures::PreAllocationCheck& said);
  [[nodiscard]] std::optional<core::PodHeld> read(const Unreported& unreported) const;
  void announce_all(const std::string& node);  // of that node; empty: of all
  void announce(core::PodHeld pre_allocation);

  Clock clock_;
  Deps deps_;
  std::optional<std::uint32_t> profile_;
  std::chrono::seconds bind_limit_{0};
  std::function<void(const Announced&)> on_pre_allocation_;
  std::function<void(const std::string& node)> on_other_cards_;
  // By uid: unbound pods with a pre-allocation that was not sent to the engine. Either we do not
  // lead, or it does not count yet: it may count when its node arrives or has the cards again.
  std::map<std::string, Unreported> unreported_;
  std::set<std::string> writing_;  // uids
  bool leads_ = true;
  std::uint64_t untrusted_ = 0;  // pre-allocations that do not count, or were edited
};

}  // namespace stowage::scheduler
