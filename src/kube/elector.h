// Who leads, by a Lease that all candidates write to: at most one at any moment.
//
//   candidate --lease given back, or not renewed for its whole duration--> leader
//   candidate --no lease: makes one, keeps it for a whole duration--> leader
//   leader --no renewal has succeeded for renew_deadline, or another holds it--> candidate
//   leader --release()--> gone; the lease is given back, and the next one need not wait
//
// Nobody's clock is trusted but one's own: a lease has run out when it has been seen unchanged for
// its duration, measured here. A leader counts its right from the moment at which it *sent* the
// renewal that succeeded, so it ends before anybody else's waiting can. What a leader sends to the
// API server must be done, or dead, by fence(): then nothing of it can arrive under the next one.
//
// A lease that is not there says nothing: the cluster may be new, or somebody has deleted it while
// a leader is at work. So whoever makes one does not lead before the longest right that a leader
// may have had has ended. A leader that finds its lease deleted makes it anew and goes on; others
// give it the time to do so.
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
  std::string identity;              // of this process, and of no other ever
  dialect::Annotations annotations;  // for others to read while we lead: where to find us
  std::chrono::seconds duration{15};
  net::Duration renew_deadline = std::chrono::seconds{10};
  net::Duration retry = std::chrono::seconds{2};          // between renewals
  net::Duration look = std::chrono::milliseconds{1000};   // between looks of a candidate
  net::Duration call_deadline = std::chrono::seconds{5};  // of one call
  net::Duration margin = std::chrono::milliseconds{500};  // fence() ends so long before the lease
  // Since the last renewal the wall clock has gone on by so much more, or less, than our own: the
  // machine may have been paused unnoticed. The lease is renewed before anything else is sent.
  net::Duration clock_jump = std::chrono::milliseconds{250};
  std::uint64_t seed = 1;
};

struct ElectorCounters {
  std::uint64_t acquired = 0;
  std::uint64_t unclean = 0;  // of those: from a leader that had not given it back
  std::uint64_t renewed = 0;
  std::uint64_t failed = 0;  // calls that brought no answer, or a bad one
  std::uint64_t lost = 0;
  std::uint64_t clock_jumps = 0;  // renewals because two clocks disagreed
};

class Elector {
 public:
  struct Start {
    // False: the leader before us may have ended at any point. Nothing that it sent can arrive any
    // more, but what did arrive may not have been seen here yet.
    bool clean = true;
    std::string before;    // who it was; empty: nobody, or nobody knows
    bool created = false;  // there was no lease, or one that nobody had ever held
  };
  struct Ends {
    std::function<void(const Start&)> on_leading;
    // No bind may start from now on. The elector tries to become leader again.
    std::function<void(const std::string& why)> on_lost;
    // Another leader, or none (empty holder), or its annotations have changed.
    std::function<void(const codec::Lease&)> on_leader;
    std::function<void(const std::string&)> on_note;  // for people; may be unset
    // A call failed, with the code of the reply, 0 if there was none; empty: one worked again. May
    // be unset.
    std::function<void(const std::string& why, int code)> on_trouble;
  };
  Elector(ApiClient& client, ElectorOptions options, Ends ends);
  ~Elector();
  Elector(const Elector&) = delete;
  Elector& operator=(const Elector&) = delete;

  void start();
  // In place of those of the options, with the next renewal.
  void set_annotations(dialect::Annotations annotations);
  // Gives the lease back if it is ours, or becomes ours by a call that is under way, and takes no
  // part any more. One that we made and have not led by yet runs out instead: it stands for a
  // leader before us, too. `done` comes in any case, after a few calls at most.
  void release(std::function<void()> done);
  // After release(): goes on looking who leads, for those who have to be sent there.
  void follow();

  [[nodiscard]] bool leading() const;
  // What we do as leader must have ended by then. Long ago if we do not lead, or have to renew the
  // lease first (see clock_jump; that is begun by this call).
  [[nodiscard]] net::Moment fence() const;
  [[nodiscard]] const codec::Lease& seen() const;  // the last state
  [[nodiscard]] net::Moment seen_at() const;       // when that was; long ago: never
  [[nodiscard]] const std::string& trouble()
      const;  // the last failure; empty if the last call worked
  [[nodiscard]] const ElectorOptions& options() const;
  [[nodiscard]] const ElectorCounters& counters() const;

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace stowage::kube
