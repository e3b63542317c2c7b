// Cards that are kept for pods which their scheduler may bind without asking us again: what was
// promised by annotations of the pod, or counted for it. It may take long: kube-scheduler waits for
// volumes for up to 600 seconds. So they are kept while the pod exists and is on no node, until
//
//   its scheduler asks about it again        (the extender says so: forget)
//   it has found the pod unschedulable since (saw)
//   a list of all pods lacks it              (listed)
//   its node's cards have other indexes      (cards_changed)
//   or the time is over in which it binds    (Promise::until)
//
// and even then the cards are given to others only after the promise was taken off the pod, by a
// write that is refused if anything has happened to the pod since it was looked up: a bind that
// comes before wins, and one that comes after finds no promise. What we watch may lag or have
// broken off unnoticed, so the pod is looked up first.
//
// One thread, the loop's.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kube/pod_access.h"
#include "net/event_loop.h"
#include "scheduler/mailbox.h"
#include "scheduler/roster.h"

namespace stowage::scheduler {

struct PromiseOptions {
  net::Duration look_every = std::chrono::seconds{1};
  net::Duration again = std::chrono::seconds{5};  // after a look that told nothing
  std::size_t looks_max = 64;                     // each time
};

class Promises {
 public:
  struct Ends {
    Roster& roster;
    Mailbox& mailbox;
    kube::PodAccess& pods;
    net::EventLoop& loop;
  };
  Promises(const PromiseOptions& options, Ends ends);
  ~Promises();
  Promises(const Promises&) = delete;
  Promises& operator=(const Promises&) = delete;

  struct Promise {
    std::string uid;
    kube::PodAccess::Name pod;
    std::int64_t made = 0;  // nanoseconds since 1970
    net::Moment until;      // its scheduler binds it by then, or not at all
    // When its scheduler had refused the pod before it asked, as the API writes it: by whatever
    // clock, that is no later refusal.
    std::string refused_before = {};
    std::string node = {};
  };
  // Of a promise that was read off the pod. If one of this uid is known, that stays; it is looked
  // up sooner if this one ends sooner.
  void watch(const Promise& promise);
  // Of a promise that is made now: it replaces what is known.
  void made(const Promise& promise);
  // An unbound pod as it is now: perhaps its scheduler has given it up.
  void saw(const dialect::PodObject& pod);
  // The node has other cards than before: what was promised there is looked up.
  void cards_changed(const std::string& node);
  // The roster has all pods of a new list. A pod that it lacks may have come and gone while the
  // watch was silent: it is looked up.
  void listed();
  void forget(const std::string& uid) { by_uid_.erase(uid); }
  void forget_all() { by_uid_.clear(); }  // who does not lead holds nothing
  [[nodiscard]] std::size_t size() const { return by_uid_.size(); }
  [[nodiscard]] std::uint64_t taken_off() const { return taken_off_; }

 private:
  struct Kept {
    Promise promise;
    net::Moment look_at;
    std::uint64_t number = 0;  // of this watch, and of each look at it
  };
  // Its scheduler has refused the pod since it was promised.
  [[nodiscard]] static bool refused(const dialect::PodObject& pod, const Promise& promise);
  using Found = tl::expected<dialect::PodObject, kube::PodAccess::ReadError>;

  void look();
  void look_up(Kept& kept);
  void looked_up(const Kept& asked, Found pod);
  void unbound(const Kept& asked, const dialect::PodObject& pod);
  void take_off(const Kept& asked, const dialect::PodObject& pod);
  void ended(const std::string& uid);
  // What is known of it, if that is still what a look was begun with.
  [[nodiscard]] Kept* same(const Kept& asked);

  PromiseOptions options_;
  Ends ends_;
  std::map<std::string, Kept> by_uid_;
  std::uint64_t numbers_ = 0;
  std::uint64_t taken_off_ = 0;
  net::Timer timer_;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
