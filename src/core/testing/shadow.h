// For property tests: a second, naive account of all charges. It follows the input of the ledger or
// the engine, and adds up from scratch whenever it is queried.
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

struct CardAmounts {  // of one card
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t slots = 0;

  void add(const CardAmounts& other) {
    milli += other.milli;
    memory_mib += other.memory_mib;
    slots += other.slots;
  }
  bool operator==(const CardAmounts&) const = default;
};

// The pod's use of one card (by position or by id, as in the assignment): sidecars + max(sum of
// apps, each init container).
template <typename Cards, typename Which>
CardAmounts taken_of(const PodSpec& pod, const Cards& cards, const Which& card) {
  CardAmounts apps;
  CardAmounts sidecars;
  CardAmounts inits;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    for (const auto& share : cards.containers[i]) {
      if (share.card != card) continue;
      const CardAmounts amounts{.milli = share.milli, .memory_mib = share.memory_mib, .slots = 1};
      if (pod.containers[i].phase == Phase::app) apps.add(amounts);
      if (pod.containers[i].phase == Phase::sidecar) sidecars.add(amounts);
      if (pod.containers[i].phase == Phase::init) {
        inits.milli = std::max(inits.milli, amounts.milli);
        inits.memory_mib = std::max(inits.memory_mib, amounts.memory_mib);
        inits.slots = std::max(inits.slots, amounts.slots);
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
    std::string id;  // the node need not report such a card
    CardAmounts amounts;
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
      const CardAmounts amounts = taken_of(pod, *cards, id);
      if (amounts != CardAmounts{}) held.charges.push_back({.id = id, .amounts = amounts});
    }
    pods_[pod.uid] = std::move(held);
  }
  // As in the ledger: a pod whose cards are known keeps them if none are named.
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

  // What the pods on a node use or may use.
  struct Sum {
    Resources used;
    std::map<std::string, CardAmounts> cards;  // by card id
    // Of pods with unknown cards, or with cards that the node does not report: use of any single
    // card, and the number of whole cards.
    CardAmounts anywhere;
    std::int64_t whole_somewhere = 0;
    [[nodiscard]] std::int64_t unused(const NodeSpec& spec) const {
      return std::count_if(spec.cards.begin(), spec.cards.end(), [&](const Card& card) {
        const auto found = cards.find(card.id);
        return found == cards.end() || found->second == CardAmounts{};
      });
    }
    // True if nothing of the card is available, because it may be held wholly.
    [[nodiscard]] bool closed(const NodeSpec& spec, const CardAmounts& of_card) const {
      return whole_somewhere > 0 && (of_card == CardAmounts{} || whole_somewhere > unused(spec));
    }
  };
  [[nodiscard]] Sum add_up(const std::string& node) const {
    Sum sum;
    for (const auto& [uid, held] : pods_) {
      if (held.node != node) continue;
      sum.used.add(held.resources);
      for (const auto& charge : held.charges) {
        if (shows(node, charge.id)) {
          sum.cards[charge.id].add(charge.amounts);
        } else if (charge.amounts.milli >= kMilliPerCard) {
          ++sum.whole_somewhere;
        } else {
          sum.anywhere.add(charge.amounts);
        }
      }
      if (!held.cards_known) add_unknown(held.pod, sum);
    }
    return sum;
  }

 private:
  [[nodiscard]] bool shows(const std::string& node, const std::string& id) const {
    const auto found = nodes_.find(node);
    if (found == nodes_.end()) return false;
    const auto& cards = found->second.cards;
    return std::any_of(cards.begin(), cards.end(), [&](const Card& card) { return card.id == id; });
  }

  // As if all its shares were on one card, and each of its whole cards on another one.
  static void add_unknown(const PodSpec& pod, Sum& sum) {
    Assignment shares;
    std::map<Phase, std::int64_t> whole;
    for (const auto& container : pod.containers) {
      auto& given = shares.containers.emplace_back();
      const GpuRequest& gpu = container.gpu;
      if (gpu.count == 0) continue;
      if (gpu.whole()) {
        std::int64_t& cards = whole[container.phase];
        cards = container.phase == Phase::init ? std::max<std::int64_t>(cards, gpu.count)
                                               : cards + gpu.count;
        continue;
      }
      const bool all = gpu.memory_mib == kWholeMemory;
      given.push_back({.milli = gpu.milli.value_or(0),
                       .memory_mib = all ? 1'000'000 : gpu.memory_mib.value_or(0)});
    }
    sum.anywhere.add(taken_of(pod, shares, 0U));
    sum.whole_somewhere += whole[Phase::sidecar] + std::max(whole[Phase::app], whole[Phase::init]);
  }

  std::map<std::string, NodeSpec> nodes_;
  std::map<std::string, Held> pods_;
};

}  // namespace stowage::core::testing
