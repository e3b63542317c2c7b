#include "core/place/footprint.h"

#include <algorithm>
#include <map>

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
};

}  // namespace

std::vector<CardCharge> footprint(const PodSpec& pod, const Assignment& assignment) {
  STOWAGE_CHECK(pod.containers.size() == assignment.containers.size());
  std::map<std::uint32_t, Phases> cards;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    std::map<std::uint32_t, Claim> claims;
    for (const auto& share : assignment.containers[i]) {
      claims[share.card].add({.milli = share.milli, .memory_mib = share.memory_mib, .slots = 1});
    }
    for (const auto& [card, claim] : claims) {
      auto& phases = cards[card];
      switch (pod.containers[i].phase) {
        case Phase::app: phases.apps.add(claim); break;
        case Phase::sidecar: phases.sidecars.add(claim); break;
        case Phase::init: phases.largest_init.raise_to(claim); break;
      }
    }
  }
  std::vector<CardCharge> charges;
  charges.reserve(cards.size());
  for (const auto& [card, phases] : cards) {
    Claim total = phases.apps;
    total.raise_to(phases.largest_init);
    total.add(phases.sidecars);
    charges.push_back(
        {.card = card, .milli = total.milli, .memory_mib = total.memory_mib, .slots = total.slots});
  }
  return charges;
}

}  // namespace stowage::core
