// What the pods of the limited namespace hold, counted from the objects of the API alone, and the
// limits that the simulation wrote.
//
// A share is charged the larger of its part of the compute and of the memory of a card. A pod that
// runs is charged whatever becomes of its node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "objects.h"
#include "plan.h"
#include "world.h"

namespace stowage::faults {

struct Limits {  // of the limited namespace; unset: none
  std::optional<std::int64_t> cards;
  std::optional<std::int64_t> milli;
  std::optional<std::int64_t> memory_mib;
  std::optional<std::int64_t> node_cards;  // gpu-admission's form
};

class QuotaRecount {
 public:
  QuotaRecount(const Plan& plan, const World& world) : plan_(plan), world_(world) {}

  // The API has these limits from now on.
  void set(const Limits& limits) { history_.push_back({.since = world_.now(), .limits = limits}); }

  // `newest` was just bound and is in `pods`, which must all be taken into account. Any limit that
  // was in force at `known_until` or later may have been used. Empty: no violation.
  [[nodiscard]] std::string exceeded(const PodView& newest, const std::vector<const PodView*>& pods,
                                     Moment known_until) const;

 private:
  struct Entry {
    Moment since;
    Limits limits;
  };
  const Plan& plan_;
  const World& world_;
  std::vector<Entry> history_;
};

}  // namespace stowage::faults
