#include "core/place/footprint.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace stowage::core {
namespace {

struct Claim {
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;
  std::int32_t slots = 0;

  void add(const Claim& other) {
    milli += other.milli;
    memory_mib += other.memory_mib;
    slots += other.slots;
  }
  void raise_to(const Claim& other) {
    milli = std::max(milli, other.milli);
    memory_mib = std::max(memory_mib, other.memory_mib);
    slots = std::max(slots, other.slots);
  }
};

struct Phases {
  Claim apps, sidecars, largest_init;

  void add(Phase phase, const Claim& claim) {
    switch (phase) {
      case Phase::app: apps.add(claim); break;
      case Phase::sidecar: sidecars.add(claim); break;
      case Phase::init: largest_init.raise_to(claim); break;
    }
  }
  [[nodiscard]] Claim total() const {
    Claim total = apps;
    total.raise_to(largest_init);
    total.add(sidecars);
    return total;
  }
};

struct Share {
  std::uint32_t card = 0;
  std::uint32_t container = 0;
  Claim claim;
};

// Ordered by card, then by container.
std::vector<Share> shares_of(const Assignment& assignment) {
  std::size_t count = 0;
  for (const auto& container : assignment.containers) count += container.size();
  std::vector<Share> all;
  all.reserve(count);
  for (std::uint32_t i = 0; i < assignment.containers.size(); ++i) {
    for (const CardShare& share : assignment.containers[i]) {
      all.push_back({.card = share.card,
                     .container = i,
                     .claim = {.milli = share.milli, .memory_mib = share.memory_mib, .slots = 1}});
    }
  }
  std::sort(all.begin(), all.end(), [](const Share& a, const Share& b) {
    return a.card != b.card ? a.card < b.card : a.container < b.container;
  });
  return all;
}

}  // namespace

std::vector<CardCharge> footprint(const PodSpec& pod, const Assignment& assignment) {
  STOWAGE_CHECK(pod.containers.size() == assignment.containers.size());
  const std::vector<Share> shares = shares_of(assignment);
  std::vector<CardCharge> charges;
  charges.reserve(shares.size());
  for (auto share = shares.begin(); share != shares.end();) {
    const std::uint32_t card = share->card;
    Phases phases;
    while (share != shares.end() && share->card == card) {
      const std::uint32_t container = share->container;
      Claim claim;
      for (; share != shares.end() && share->card == card && share->container == container;
           ++share) {
        claim.add(share->claim);
      }
      phases.add(pod.containers[container].phase, claim);
    }
    const Claim total = phases.total();
    charges.push_back(
        {.card = card, .milli = total.milli, .memory_mib = total.memory_mib, .slots = total.slots});
  }
  return charges;
}

}  // namespace stowage::core
