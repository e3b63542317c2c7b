// Binds the volume claims of a pod before the pod is bound. It names the claim in the chosen
// volume, or names the node in the claim so that its provisioner creates a volume. Then it waits
// until all claims are bound. The volume controller of the cluster does the binding itself.
//
// Runs on the loop's thread.
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
#include "scheduler/aux_informers.h"

namespace stowage::scheduler {

struct ClaimBinderOptions {
  net::Duration limit = std::chrono::seconds{600};     // from the first write until all are bound
  net::Duration look_every = std::chrono::seconds{1};  // how often to check that the pod still
                                                       // exists
};

class ClaimBinder {
 public:
  struct Deps {  // all outlive the binder
    kube::ObjectAccess& objects;
    net::EventLoop& loop;
    // The current state of the claim "namespace/name"; null if none exists.
    std::function<const ClaimView*(const std::string& claim)> claim;
    // Whether the pod still wants a place and the node still exists.
    std::function<bool(const std::string& uid)> pod_waits;
    std::function<bool(const std::string& node)> node_there;
    std::function<void(std::size_t)> on_number;  // called when the number of pods that wait here
                                                 // changes
  };
  ClaimBinder(ClaimBinderOptions options, Deps deps);
  ~ClaimBinder();  // calls no callbacks; the server may still execute requests that were sent
  ClaimBinder(const ClaimBinder&) = delete;
  ClaimBinder& operator=(const ClaimBinder&) = delete;

  struct Request {
    std::string uid;  // of the pod
    std::string node;
    std::vector<core::ClaimStep> claims;
  };
  // An empty text: all claims are bound. Otherwise the reason; our writes to the claims are then
  // undone as far as possible. Not called if the pod is deleted meanwhile. Replaces an earlier
  // request for the same pod.
  using Done = std::function<void(const std::string& error)>;
  void bind(const Request& ask, Done done);

  // Ends all requests without callbacks; writes are not undone.
  void forget_all();

  // Call whenever a claim appears, changes or is deleted.
  void claim_changed(const std::string& claim);

  struct Counters {
    std::uint64_t bound = 0;
    std::uint64_t failed = 0;
    std::uint64_t timed_out = 0;  // part of the count above
    std::size_t waiting = 0;      // pods
  };
  [[nodiscard]] Counters counters() const;

 private:
  struct Step {
    core::ClaimStep want;
    std::string uid;      // of the claim
    std::string version;  // of the claim after our write, if the server returned it
    bool written = false;
    bool seen = false;  // the node that we wrote was seen in the claim
  };
  struct Job {
    std::string uid;
    std::string node;
    std::vector<Step> steps;
    Done done;
    std::size_t next = 0;  // next step to write
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
  Deps deps_;
  Counters counters_;
  std::unordered_map<std::string, JobPtr> jobs_;                     // by uid of the pod
  std::unordered_map<std::string, std::set<std::string>> by_claim_;  // uids of pods
  net::Timer timer_;
  bool looking_ = false;
  std::shared_ptr<bool> alive_;
};

}  // namespace stowage::scheduler
