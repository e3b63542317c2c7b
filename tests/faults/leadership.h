// Who may bind, by what was written to the Lease. Nothing in the memory of a replica is asked.
//
//   - who takes over a lease, or one that was given back, may bind from then on
//   - whoever may bind may do so until its last write is as old as the lease lasts, also if a user
//     deletes the lease meanwhile: it need not know of that
//   - who makes a lease that was deleted may bind when the leader before may not any more
#pragma once

#include <string>

#include "local/store.h"
#include "world.h"

namespace stowage::faults {

class Leadership {
 public:
  explicit Leadership(const World& world) : world_(world) {}

  // A write succeeded, and the lease is this now.
  void written(const local::StoredObject& lease, bool created);

  // Who leads, or led last; empty: nobody, or it has given the lease back.
  [[nodiscard]] const std::string& leader();
  // Why this replica may not bind now; empty: it may.
  [[nodiscard]] std::string forbids(const std::string& replica);

 private:
  struct Term {
    std::string who;
    Moment written{};  // last
  };
  [[nodiscard]] bool over() const { return world_.now() >= now_.written + lasts_; }
  void settle();

  const World& world_;
  Duration lasts_{};
  Term now_;
  Term next_;  // has made the lease and waits
};

}  // namespace stowage::faults
