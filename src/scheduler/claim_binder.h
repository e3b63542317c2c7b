// Binds the volume claims of a pod before the pod is bound: names the claim in the volume that was
// chosen for it, or the node in the claim whose provisioner shall make one; then waits until all
// are bound. The binding itself is done by whoever looks after volumes in the cluster.
//
// One thread, the loop's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/event.h"
#include "kube/object_access.h"
#include "scheduler/thing_source.h"

namespace stowage::scheduler {

struct ClaimBinderOptions {
  net::Duration limit = std::chrono::seconds{600};     // from the first write until all are bound
  net::Duration look_every = std::chrono::seconds{1};  // whether the pod is still there
};

class ClaimBinder {
 public:
  struct Ends {  // all outlive the binder
    kube::ObjectAccess& objects;
    net::EventLoop& loop;
    // The claim "namespace/name" as it is now; null if there is none.
    std::function<const ClaimView*(const std::string& claim)> claim;
    // Does the pod still want a place, and is the node still there?
    std::function<bool(const std::string& uid)> pod_waits;
    std::function<bool(const std::string& node)> node_there;
    std::function<void(std::size_t)> on_number;  // of pods that wait here, when it has changed
  };
  ClaimBinder(ClaimBinderOptions options, Ends ends);
  ~ClaimBinder();  // without callbacks; what was sent may still be done by the server
  ClaimBinder(const ClaimBinder&) = delete;
  ClaimBinder& operator=(const ClaimBinder&) = delete;

  struct Ask {
    std::string uid;  // of the pod
    std::string node;
    std::vector<core::ClaimStep> claims;
  };
  // An empty text: all are bound. Else why not; then nothing of ours is left in the claims as far
  // as that can be undone. Not called if the pod goes away meanwhile. Replaces an ask for the same
  // pod.
  using Done = std::function<void(const std::string& error)>;
  void bind(const Ask& ask, Done done);

  // Ends all asks without callbacks; what was written stays.
  void forget_all();

  // To be called whenever a claim appears, changes or goes.
  void claim_changed(const std::string& claim);

  struct Counters {
    std::uint64_t bound = 0;
    std::uint64_t failed = 0;
    std::uint64_t timed_out = 0;  // of those
    std::size_t waiting = 0;      // pods
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Step {
    core::ClaimStep want;
    std::string uid;      // of the claim
    std::string version;  // of the claim after our write, if the server told it
    bool written = false;
    bool seen = false;  // the node that we wrote has been seen in the claim
  };
  struct Job {
    std::string uid;
    std::string node;
    std::vector<Step> steps;
    Done done;
    std::size_t next = 0;  // step to be written
    net::Moment until;
    bool ended = false;
  };
  using JobPtr = std::shared_ptr<Job>;
  using Reply = std::function<void(const kube::ObjectOutcome&)>;

  void write_next(const JobPtr& job);
  void write_node(const JobPtr& job, Step& step);
  void read_volume(const JobPtr& job, std::size_t step, int attempt);
  void volume_read(const JobPtr& job, std::size_t step, int attempt,
                   const kube::ObjectOutcome& outcome);
  void write_volume(const JobPtr& job, std::size_t step, int attempt, const std::string& body);
  void step_written(const JobPtr& job);
  void check(const JobPtr& job);
  [[nodiscard]] std::string trouble(const Job& job, Step& step, bool& bound) const;
  void fail(const JobPtr& job, const std::string& why);
  void undo(const JobPtr& job, std::size_t step, const std::string& why);
  void forget(const JobPtr& job);
  void look();
  Reply guarded(const JobPtr& job, Reply reply) const;

  ClaimBinderOptions options_;
  Ends ends_;
  Counters counters_;
  std::unordered_map<std::string, JobPtr> jobs_;                     // by uid of the pod
  std::unordered_map<std::string, std::set<std::string>> by_claim_;  // uids of pods
  net::Timer timer_;
  bool looking_ = false;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
