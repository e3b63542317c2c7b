// Promises that end. kube-scheduler binds by them itself, and what we watch may lag or have broken
// off unnoticed: before the cards of a promise are given to others, the pod is looked up, whether
// the promise was made by us or by the leader before us.
//
// One thread, the loop's.
#pragma once

#include <chrono>
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
    net::Moment until;  // when to look
  };
  // Nothing if one of this uid is known.
  void watch(const Promise& promise);
  void forget(const std::string& uid) { by_uid_.erase(uid); }
  void forget_all() { by_uid_.clear(); }  // who does not lead holds nothing
  [[nodiscard]] std::size_t size() const { return by_uid_.size(); }

 private:
  using Found = tl::expected<dialect::PodObject, kube::PodAccess::ReadError>;

  void look();
  void look_up(Promise& promise);
  void looked_up(const Promise& asked, Found pod);

  PromiseOptions options_;
  Ends ends_;
  std::map<std::string, Promise> by_uid_;
  net::Timer timer_;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
