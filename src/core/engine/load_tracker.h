// Writes the load of cards (loads.h) to the ledger once a policy uses it.
#pragma once

#include <cstdint>
#include <string>

#include "base/instant.h"
#include "core/engine/loads.h"
#include "core/ledger/ledger.h"
#include "core/model/policy.h"

namespace stowage::core {

class LoadTracker {
 public:
  // `delay_ns`: how long a new pod counts as expected load before measurements include it.
  LoadTracker(Ledger& ledger, std::int64_t delay_ns) : ledger_(ledger), delay_ns_(delay_ns) {}

  // If the policy uses loads, they are written to the ledger from now on.
  void choice_options(const PolicyChoice& choice);
  void measured(const CardsMeasured& event);
  // A pod was placed: its request counts as expected load of its cards.
  void expect(PodIndex placed, base::Instant now);
  void expire(base::Instant now);
  // Computes the loads of a node that was added or changed.
  void refresh(const std::string& node);
  void forget(const std::string& node) { loads_.forget(node); }
  void clear();
  [[nodiscard]] std::size_t nodes() const { return loads_.size(); }

 private:
  Ledger& ledger_;
  std::int64_t delay_ns_;
  Loads loads_;
  bool choice_options_ = false;
};

}  // namespace stowage::core
