// Holds of external pods: cards set aside for a pod that another scheduler places. A hold lasts
// until it expires, or until the pod is reserved and then bound. This class only lists the holds;
// the cards are charged in the ledger.
#pragma once

#include <set>
#include <string>
#include <unordered_map>  // lookup only
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/engine/external_requests.h"

namespace stowage::core {

struct Hold {
  PodSpec pod;
  CardPlacement place;
  base::Instant until;
  bool binding = false;  // the bind is in progress: the hold does not expire
  bool debt = false;     // its cards were not all free when the hold was added
};

class Holds {
 public:
  // Replaces the pod's earlier hold.
  const Hold& add(Hold hold);
  // Requires: the pod has a hold.
  void reserve(const std::string& uid);
  void forget(const std::string& uid);

  [[nodiscard]] const Hold* find(const std::string& uid) const;  // null: none
  // The hold that expired first; null if none has expired.
  [[nodiscard]] const Hold* expired(base::Instant now) const;
  [[nodiscard]] std::vector<std::string> uids() const;  // sorted
  [[nodiscard]] std::size_t size() const { return holds_.size(); }

 private:
  std::unordered_map<std::string, Hold> holds_;  // lookup only
  std::set<std::pair<base::Instant, std::string>>
      runs_out_;  // holds that are not reserved, by expiry
};

}  // namespace stowage::core
