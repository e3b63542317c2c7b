// Promises: cards that were written on pods of other schedulers before these bind them. Those that
// count are told to the engine while we lead.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/instant.h"
#include "core/model/event.h"
#include "scheduler/decision_clock.h"
#include "scheduler/mailbox.h"
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
  struct Ends {  // all outlive it
    PodCache& pods;
    const NodeCache& nodes;
    Signatures& signatures;
    DecisionClock& decision_clock;
    Mailbox& mailbox;
  };
  PreAllocations(Clock clock, const Ends& ends) : clock_(std::move(clock)), ends_(ends) {}

  // Promises are heeded, and placed by this profile of the engine. The scheduler of such a pod
  // binds it within this time, or not at all; of several times the longest counts.
  void heed(std::uint32_t profile, std::chrono::seconds bind_limit) {
    profile_ = profile;
    bind_limit_ = std::max(bind_limit_, bind_limit);
  }
  [[nodiscard]] bool heeded() const { return profile_.has_value(); }

  // A promise of which the engine was told: its cards are kept until HoldEnded (see promises.h).
  struct Promised {
    std::string uid;
    std::string ns;
    std::string name;
    std::int64_t made = 0;  // nanoseconds since 1970
    base::Instant until;
  };
  void on_promise(std::function<void(const Promised&)> told) { on_promise_ = std::move(told); }

  // An unbound pod of another scheduler is seen. Requires: heeded().
  [[nodiscard]] std::optional<Notice> see(PodCache::Entry& entry, const dialect::PodObject& object);
  // The pod is bound, or is no more.
  void forget(const std::string& uid) { untold_.erase(uid); }
  // What the pod was promised last has ended.
  void ended(const std::string& uid);

  // A node has other cards: more promises may count.
  void node_changed(const std::string& node) {
    if (leads_) tell_all(node);
  }
  [[nodiscard]] bool leads() const { return leads_; }
  void stand_down() { leads_ = false; }
  void lead();

  [[nodiscard]] std::uint64_t forged() const { return forged_; }

 private:
  struct Untold {
    dialect::PodObject object;
    bool is_signed = false;
    base::Instant seen;  // first
  };
  [[nodiscard]] std::optional<core::PodHeld> read(const Untold& untold) const;
  void tell_all(const std::string& node);  // of that node; empty: of all
  void tell(core::PodHeld promise);

  Clock clock_;
  Ends ends_;
  std::optional<std::uint32_t> profile_;
  std::chrono::seconds bind_limit_{0};
  std::function<void(const Promised&)> on_promise_;
  // By uid: unbound pods with a promise that was not told. We do not lead, or it does not count:
  // perhaps it will when its node comes, or has the cards again.
  std::map<std::string, Untold> untold_;
  bool leads_ = true;
  std::uint64_t forged_ = 0;  // promises that do not count
};

}  // namespace stowage::scheduler
