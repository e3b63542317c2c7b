// Keeps cards for pods that their scheduler may bind without another request to us: cards that
// annotations pre-allocate, or that are counted for the pod. This may take long: kube-scheduler
// waits for volumes for up to 600 seconds. So cards are kept while the pod exists and is on no
// node, until
//
//   its scheduler asks about it again        (the extender reports it: forget)
//   its scheduler found it unschedulable     (saw)
//   a list of all pods lacks it              (listed)
//   its node's cards have other indexes      (cards_changed)
//   or the time limit for its bind passes    (TrackedPod::until)
//
// Even then, the cards are given to other pods only after the pre-allocation was removed from the
// pod. That write fails if the pod has changed since it was looked up: an earlier bind wins, and a
// later bind finds no pre-allocation. The watch may lag or be broken unnoticed, so the pod is
// looked up first.
//
// Runs on the loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kube/pod_access.h"
#include "net/event_loop.h"
#include "scheduler/cluster_cache.h"
#include "scheduler/event_queue.h"

namespace stowage::scheduler {

struct PreAllocationReaperOptions {
  net::Duration look_every = std::chrono::seconds{1};
  net::Duration again = std::chrono::seconds{5};  // after a lookup without a result
  std::size_t looks_max = 64;                     // lookups per round
};

class PreAllocationReaper {
 public:
  struct Deps {
    ClusterCache& cluster_cache;
    EventQueue& event_queue;
    kube::PodAccess& pods;
    net::EventLoop& loop;
  };
  PreAllocationReaper(const PreAllocationReaperOptions& options, Deps deps);
  ~PreAllocationReaper();
  PreAllocationReaper(const PreAllocationReaper&) = delete;
  PreAllocationReaper& operator=(const PreAllocationReaper&) = delete;

  struct TrackedPod {
    std::string uid;
    kube::PodAccess::Name pod;
    std::int64_t made = 0;  // nanoseconds since 1970
    net::Moment until;      // its scheduler binds it by then or never
    // When its scheduler had refused the pod before it asked, as the API writes it. By any clock,
    // this is not a later refusal.
    std::string refused_before = {};
    std::string node = {};
  };
  // Tracks a pre-allocation that was read from the pod. If one of this uid is known, it stays; it
  // is looked up sooner if this one ends sooner.
  void watch(const TrackedPod& tracked);
  // Tracks a pre-allocation that is made now: it replaces the known one.
  void made(const TrackedPod& tracked);
  // The current state of an unbound pod: its scheduler may have given it up.
  void saw(const dialect::PodObject& pod);
  // The cards of the node changed: its pre-allocations are looked up.
  void cards_changed(const std::string& node);
  // The cluster cache has all pods of a new list. A pod that the list lacks may have come and gone
  // while the watch was broken: it is looked up.
  void listed();
  void forget(const std::string& uid) { by_uid_.erase(uid); }
  void forget_all() { by_uid_.clear(); }  // a replica that does not lead holds nothing
  [[nodiscard]] std::size_t size() const { return by_uid_.size(); }
  [[nodiscard]] std::uint64_t taken_off() const { return taken_off_; }

 private:
  struct Kept {
    TrackedPod tracked;
    net::Moment look_at;
    std::uint64_t number = 0;  // of this tracked pod, and of each lookup
  };
  // Its scheduler has refused the pod since it was pre-allocated.
  [[nodiscard]] static bool refused(const dialect::PodObject& pod, const TrackedPod& tracked);
  using Found = tl::expected<dialect::PodObject, kube::PodAccess::ReadError>;

  void look();
  void look_up(Kept& kept);
  void looked_up(const Kept& asked, Found pod);
  void unbound(const Kept& asked, const dialect::PodObject& pod);
  void take_off(const Kept& asked, const dialect::PodObject& pod);
  void ended(const std::string& uid);
  // The entry, if it has not changed since the lookup began.
  [[nodiscard]] Kept* same(const Kept& asked);

  PreAllocationReaperOptions options_;
  Deps deps_;
  std::map<std::string, Kept> by_uid_;
  std::uint64_t numbers_ = 0;
  std::uint64_t taken_off_ = 0;
  net::Timer timer_;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
