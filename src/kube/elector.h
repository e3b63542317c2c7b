// Leader election by a Lease that all candidates write to: at most one leader at any time.
//
//   candidate --lease released, or not renewed for its whole duration--> leader
//   candidate --no lease: creates one, keeps it for a whole duration--> leader
//   leader --no renewal has succeeded for renew_deadline, or another holds it--> candidate
//   leader --release()--> ended; the lease is released, and the next leader need not wait
//
// Each candidate trusts only its own clock: a lease has expired when it was seen unchanged for its
// duration, measured locally. A leader counts its right to lead from when it *sent* the renewal
// that succeeded, so that it ends before any other candidate stops waiting. Every request of a
// leader to the API server must have ended by fence(): then none can arrive under the next leader.
//
// A missing lease tells nothing: the cluster may be new, or the lease was deleted while a leader
// works. So a candidate that creates one does not lead before the longest possible right of an
// earlier leader has ended. A leader whose lease was deleted creates it again and continues; other
// candidates give it the time to do so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "codec/lease.h"
#include "kube/api_client.h"

namespace stowage::kube {

struct ElectorOptions {
  std::string ns = "kube-system";
  std::string name = "stowage";
  std::string identity;              // of this process; never used by another
  dialect::Annotations annotations;  // written while we lead, for other replicas: our addresses
  std::chrono::seconds duration{15};
  net::Duration renew_deadline = std::chrono::seconds{10};
  net::Duration retry = std::chrono::seconds{2};          // between renewals
  net::Duration look = std::chrono::milliseconds{1000};   // between reads of a candidate
  net::Duration call_deadline = std::chrono::seconds{5};  // of one call
  net::Duration margin = std::chrono::milliseconds{500};  // fence() ends this long before the lease
  // If the wall clock and our own clock have diverged by this much since the last renewal, the
  // machine may have been paused unnoticed. Then the lease is renewed before anything else is sent.
  net::Duration clock_jump = std::chrono::milliseconds{250};
  std::uint64_t seed = 1;
};

struct ElectorCounters {
  std::uint64_t acquired = 0;
  std::uint64_t unclean = 0;  // part of those: from a leader that had not released it
  std::uint64_t renewed = 0;
  std::uint64_t failed = 0;  // calls without an answer, or with an error
  std::uint64_t lost = 0;
  std::uint64_t clock_jumps = 0;  // renewals because the two clocks disagreed
};

class Elector {
 public:
  struct Start {
    // False: the previous leader may have stopped at any point. None of its requests can arrive any
    // more, but those that arrived may not have been seen here yet.
    bool clean = true;
    std::string before;    // the previous leader; empty: none, or unknown
    bool created = false;  // there was no lease, or one that was never held
  };
  struct Deps {
    std::function<void(const Start&)> on_leading;
    // No bind may start from now on. The elector tries to become leader again.
    std::function<void(const std::string& why)> on_lost;
    // The leader changed, there is none (empty holder), or its annotations have changed.
    std::function<void(const codec::Lease&)> on_leader;
    std::function<void(const std::string&)> on_note;  // for users; may be unset
    // A call failed, with the code of the reply (0: no reply). An empty text: calls work again. May
    // be unset.
    std::function<void(const std::string& why, int code)> on_trouble;
  };
  Elector(ApiClient& client, ElectorOptions options, Deps deps);
  ~Elector();
  Elector(const Elector&) = delete;
  Elector& operator=(const Elector&) = delete;

  void start();
  // Replaces the annotations of the options, with the next renewal.
  void set_annotations(dialect::Annotations annotations);
  // Releases the lease if it is ours, or becomes ours by a call under way, and takes no further
  // part. A lease that we created and have not led by yet expires instead, because it also protects
  // an earlier leader. `done` is always called, after a few calls at most.
  void release(std::function<void()> done);
  // After release(): continues to watch which replica leads, to redirect clients.
  void follow();

  [[nodiscard]] bool leading() const;
  // Everything we do as leader must have ended by then. In the past if we do not lead, or must
  // renew the lease first (see clock_jump; this call starts that renewal).
  [[nodiscard]] net::Moment fence() const;
  [[nodiscard]] const codec::Lease& seen() const;  // the last state of the lease
  [[nodiscard]] net::Moment seen_at() const;       // when it was read; in the past: never
  [[nodiscard]] const std::string& trouble()
      const;  // the last failure; empty if the last call worked
  [[nodiscard]] const ElectorOptions& options() const;
  [[nodiscard]] const ElectorCounters& counters() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stowage::kube
