// For property tests: a second, naive account of who holds what, kept from what is said to the
// ledger or the engine and added up from scratch whenever it is asked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/node.h"
#include "core/model/pod.h"

namespace stowage::core::testing {

struct Room {  // of one card
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t slots = 0;

  void add(const Room& other) {
    milli += other.milli;
    memory_mib += other.memory_mib;
    slots += other.slots;
  }
  bool operator==(const Room&) const = default;
};

// What the pod takes of one card (by position or by id, as the assignment has it): sidecars +
// max(apps together, each init container).
template <typename Cards, typename Which>
Room taken_of(const PodSpec& pod, const Cards& cards, const Which& card) {
  Room apps;
  Room sidecars;
  Room inits;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    for (const auto& share : cards.containers[i]) {
      if (share.card != card) continue;
      const Room room{.milli = share.milli, .memory_mib = share.memory_mib, .slots = 1};
      if (pod.containers[i].phase == Phase::app) apps.add(room);
      if (pod.containers[i].phase == Phase::sidecar) sidecars.add(room);
      if (pod.containers[i].phase == Phase::init) {
        inits.milli = std::max(inits.milli, room.milli);
        inits.memory_mib = std::max(inits.memory_mib, room.memory_mib);
        inits.slots = std::max(inits.slots, room.slots);
      }
    }
  }
  return {.milli = sidecars.milli + std::max(apps.milli, inits.milli),
          .memory_mib = sidecars.memory_mib + std::max(apps.memory_mib, inits.memory_mib),
          .slots = sidecars.slots + std::max(apps.slots, inits.slots)};
}

class Shadow {
 public:
  struct Charge {
    std::string id;  // the node need not show such a card
    Room room;
  };
  struct Held {
    PodSpec pod;
    std::string node;
    bool cards_known = false;
    std::vector<Charge> charges;
    Resources resources;

    [[nodiscard]] bool unknown() const {
      return !cards_known && std::any_of(pod.containers.begin(), pod.containers.end(),
                                         [](const auto& c) { return c.gpu.count > 0; });
    }
  };

  void upsert(const NodeSpec& spec) { nodes_[spec.name] = spec; }
  void remove(const std::string& name) { nodes_.erase(name); }

  void hold(const PodSpec& pod, const std::string& node,
            const std::optional<NamedAssignment>& cards) {
    Held held{.pod = pod,
              .node = node,
              .cards_known = cards.has_value(),
              .charges = {},
              .resources = effective_resources(pod)};
    std::set<std::string> ids;
    for (std::size_t i = 0; cards && i < cards->containers.size(); ++i) {
      for (const NamedShare& share : cards->containers[i]) ids.insert(share.card);
    }
    for (const std::string& id : ids) {
      const Room room = taken_of(pod, *cards, id);
      if (room != Room{}) held.charges.push_back({.id = id, .room = room});
    }
    pods_[pod.uid] = std::move(held);
  }
  // As the ledger hears of it: a pod whose cards are known keeps them if none are named.
  void see(const PodSpec& pod, const std::string& node,
           const std::optional<NamedAssignment>& cards) {
    const auto known = pods_.find(pod.uid);
    const bool stays =
        known != pods_.end() && known->second.node == node && !cards && !known->second.unknown();
    if (!stays) return hold(pod, node, cards);
    known->second.resources = effective_resources(pod);
  }
  bool drop(const std::string& uid) { return pods_.erase(uid) > 0; }

  [[nodiscard]] const std::map<std::string, NodeSpec>& nodes() const { return nodes_; }
  [[nodiscard]] const std::map<std::string, Held>& pods() const { return pods_; }
  [[nodiscard]] bool holds(const std::string& uid) const { return pods_.contains(uid); }

  // What the pods on a node use, or may use.
  struct Sum {
    Resources used;
    std::map<std::string, Room> cards;  // by card id
    Room anywhere;                      // on any one card, of pods whose cards are unknown
    bool whole_somewhere = false;       // one of these has whole cards
  };
  [[nodiscard]] Sum add_up(const std::string& node) const {
    Sum sum;
    for (const auto& [uid, held] : pods_) {
      if (held.node != node) continue;
      sum.used = plus(sum.used, held.resources);
      for (const auto& charge : held.charges) sum.cards[charge.id].add(charge.room);
      for (const auto& container : held.pod.containers) {
        const GpuAsk& gpu = container.gpu;
        if (held.cards_known || gpu.count == 0) continue;
        if (gpu.whole()) {
          sum.whole_somewhere = true;
          continue;
        }
        const bool all = gpu.memory_mib == kWholeMemory;
        sum.anywhere.add({.milli = gpu.milli.value_or(0),
                          .memory_mib = all ? 1'000'000 : gpu.memory_mib.value_or(0),
                          .slots = 1});
      }
    }
    return sum;
  }

 private:
  std::map<std::string, NodeSpec> nodes_;
  std::map<std::string, Held> pods_;
};

}  // namespace stowage::core::testing
