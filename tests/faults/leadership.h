// Which replica may bind, judged by the writes to the Lease alone, not by the memory of a replica.
//
//   - A replica that takes over a lease, or one that was given back, may bind from then on.
//   - It may bind until its last write is as old as the lease duration, even if a user deletes the
//     lease meanwhile: it need not know that.
//   - A replica that creates a deleted lease may bind when the previous leader no longer may.
#pragma once

#include <string>

#include "local/store.h"
#include "world.h"

namespace stowage::faults {

class Leadership {
 public:
  explicit Leadership(const World& world) : world_(world) {}

  // A write succeeded, and this is the lease now.
  void written(const local::StoredObject& lease, bool created);

  // The current or last leader; empty: none, or it has given the lease back.
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
  Term next_;  // has created the lease and waits
};

}  // namespace stowage::faults
