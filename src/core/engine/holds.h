// Holds of external pods: cards that are set aside for a pod which another scheduler places, until
// their time is up, or the pod is claimed and then bound. Only the book of them; the cards
// themselves are in the ledger.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>  // lookup only
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/engine/asks.h"

namespace stowage::core {

struct Hold {
  PodSpec pod;
  Place place;
  base::Instant until;
  bool claimed = false;  // its bind is under way: it no longer runs out
  bool debt = false;     // its cards were not all free when we heard of it
};

class Holds {
 public:
  // Replaces the pod's earlier hold.
  const Hold& add(Hold hold);
  // Requires: the pod has a hold.
  void claim(const std::string& uid);
  void forget(const std::string& uid);

  [[nodiscard]] const Hold* find(const std::string& uid) const;  // null: none
  // A hold whose time is up; the one that ran out first.
  [[nodiscard]] const Hold* expired(base::Instant now) const;
  [[nodiscard]] std::vector<std::string> uids() const;  // sorted
  [[nodiscard]] std::size_t size() const { return holds_.size(); }

 private:
  std::unordered_map<std::string, Hold> holds_;               // lookup only
  std::set<std::pair<base::Instant, std::string>> runs_out_;  // those that are not claimed
};

}  // namespace stowage::core
