// What a pod as a whole reserves on each card, computed from its containers.
//
// Sidecars and app containers run together and add up. Plain init containers run one after another
// before the app containers and may reuse their cards. So on each card, per dimension:
//   sidecars + max(apps, largest single init container)
// Example: init 20 milli / 8000 MiB and app 60 / 4000 on one card reserve 60 / 8000, one slot.
#pragma once

#include <vector>

#include "core/model/pod.h"

namespace stowage::core {

// The charge on one card. A whole card is 1000 milli and all its memory.
struct CardCharge {
  std::uint32_t card = 0;
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;
  std::int32_t slots = 0;
  friend bool operator==(const CardCharge&, const CardCharge&) = default;
};

// Ordered by card. Requires: assignment has one entry per container of the pod.
[[nodiscard]] std::vector<CardCharge> footprint(const PodSpec& pod, const Assignment& assignment);

}  // namespace stowage::core
