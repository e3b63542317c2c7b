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
    std::string node;
  };
  void on_promise(std::function<void(const Promised&)> told) { on_promise_ = std::move(told); }
  // Called with a node whose cards are others than before, or have other indexes, while we lead.
  void on_other_cards(std::function<void(const std::string& node)> told) {
    on_other_cards_ = std::move(told);
  }

  // An unbound pod of another scheduler is seen. Requires: heeded().
  [[nodiscard]] std::optional<Notice> see(PodCache::Entry& entry, const dialect::PodObject& object);
  // The pod is bound, or is no more.
  void forget(PodCache::Entry& entry);
  // What the pod was promised last has ended.
  void ended(const std::string& uid);
  // Its scheduler asks about it again, and will not bind it by what it was promised before.
  void asked_again(const std::string& uid);
  // What stands on this unbound pod is ours, and by the indexes that its node's cards have now its
  // agent would give it other cards than those that it was promised.
  [[nodiscard]] bool outdated(const dialect::PodObject& unbound) const;
  // What is written on the pod in place of a promise that is taken off it.
  [[nodiscard]] dialect::Annotations withdrawal(const dialect::PodObject& pod);

  // A node has other cards: more promises may count, and some may be outdated.
  void node_changed(const std::string& node);
  [[nodiscard]] bool leads() const { return leads_; }
  void stand_down() { leads_ = false; }
  void lead();

  [[nodiscard]] std::uint64_t forged() const { return forged_; }

 private:
  struct Untold {
    dialect::PodObject object;
    bool is_signed = false;
    bool whole = false;  // and what its dialect says is signed too
    base::Instant seen;  // first
  };
  [[nodiscard]] std::optional<Notice> unproved(PreAllocation& promise,
                                               const dialect::PodObject& object,
                                               const Signatures::Said& said);
  bool keep(PreAllocation& promise, const dialect::PodObject& object, const Signatures::Said& said);
  [[nodiscard]] std::optional<core::PodHeld> read(const Untold& untold) const;
  void tell_all(const std::string& node);  // of that node; empty: of all
  void tell(core::PodHeld promise);

  Clock clock_;
  Ends ends_;
  std::optional<std::uint32_t> profile_;
  std::chrono::seconds bind_limit_{0};
  std::function<void(const Promised&)> on_promise_;
  std::function<void(const std::string& node)> on_other_cards_;
  // By uid: unbound pods with a promise that was not told. We do not lead, or it does not count:
  // perhaps it will when its node comes, or has the cards again.
  std::map<std::string, Untold> untold_;
  bool leads_ = true;
  std::uint64_t forged_ = 0;  // promises that do not count, or were edited
};

}  // namespace stowage::scheduler
