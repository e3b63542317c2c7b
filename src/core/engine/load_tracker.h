// Tells the ledger how busy cards are (loads.h), and lets decisions feel it as soon as a policy
// goes by it.
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
  // `settles_ns`: how long a pod counts as load before it shows in what is measured.
  LoadTracker(Ledger& ledger, std::int64_t settles_ns) : ledger_(ledger), settles_ns_(settles_ns) {}

  // Such a policy is in use from now on.
  void heed(const PolicyChoice& choice);
  void measured(const CardsMeasured& event);
  // A pod was placed: its cards will be as busy as it has asked for.
  void expect(PodIndex placed, base::Instant now);
  void expire(base::Instant now);
  // Cards of a node that comes, or changes, are looked up anew.
  void refresh(const std::string& node);
  void forget(const std::string& node) { loads_.forget(node); }
  void clear();
  [[nodiscard]] std::size_t nodes() const { return loads_.size(); }

 private:
  Ledger& ledger_;
  std::int64_t settles_ns_;
  Loads loads_;
  bool heeded_ = false;
};

}  // namespace stowage::core
