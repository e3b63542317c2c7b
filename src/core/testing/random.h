// For property tests: small random nodes and pods that differ in everything that the engine uses.
//
// Everything is drawn from a seed, so a test case is a short list of numbers that a property test
// can print, shrink and replay. Amounts are drawn from a few similar values, so that full cards and
// pods that barely do not fit are frequent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/rng.h"
#include "core/model/event.h"

namespace stowage::core::testing {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : rng_(seed) {}

  // 0 .. n-1. Requires n > 0.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(rng_.below(n)); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  base::Rng rng_;
};

// Which features the generated clusters and pods have.
struct Wildness {
  std::size_t max_cards = 4;
  bool topology = true;    // NUMA nodes, links, and requests for them
  bool containers = true;  // several containers, init containers and sidecars
  bool filters = true;     // models and card ids
};

inline LinkMatrix random_links(Dice& dice, std::size_t cards) {
  LinkMatrix links{.cards = static_cast<std::int32_t>(cards), .score = {}};
  links.score.resize(cards * cards);
  for (std::size_t a = 0; a < cards; ++a) {
    for (std::size_t b = a + 1; b < cards; ++b) {
      const auto score = dice.pick({link::kCrossCpu, link::kSingleSwitch, 2 * link::kNvlink});
      links.score[a * cards + b] = score;
      links.score[b * cards + a] = score;
    }
  }
  return links;
}

inline NodeSpec random_node(Dice& dice, const std::string& name, const Wildness& wild = {}) {
  NodeSpec node;
  node.name = name;
  node.allocatable.cpu_milli = dice.pick({0, 1000, 4000, 8000, 8000});
  node.allocatable.memory_bytes = dice.pick({100, 1000, 1000});
  node.allocatable.ephemeral_bytes = dice.pick({0, 10, 10});
  node.allocatable.pods = dice.pick({1, 3, 10, 10});
  if (!dice.one_in(3)) node.allocatable.extended["example.com/nic"] = dice.pick({0, 1, 2});
  node.schedulable = !dice.one_in(10);
  const std::size_t cards = dice.below(wild.max_cards + 1);
  const bool alike = dice.one_in(2);
  for (std::size_t i = 0; i < cards; ++i) {
    if (alike && i > 0) {
      node.cards.push_back(node.cards.front());
    } else {
      node.cards.push_back({.id = {},
                            .model = dice.pick({"", "T4", "A100"}),
                            .memory_mib = dice.pick({0, 1000, 1000, 1600}),
                            .slots = dice.pick({0, 0, 1, 2})});
    }
    Card& card = node.cards.back();
    card.id = name + "/" + std::to_string(i);
    card.index = static_cast<std::int32_t>(i);
    card.healthy = !dice.one_in(8);
    if (wild.topology) card.numa = dice.pick({kUnknownNuma, 0, 0, 1});
  }
  if (wild.topology && cards > 0 && dice.one_in(2)) node.links = random_links(dice, cards);
  return node;
}

inline GpuRequest random_ask(Dice& dice, const Wildness& wild = {}) {
  GpuRequest ask;
  ask.count = dice.pick({1, 1, 1, 2, 3});
  switch (dice.below(6)) {
    case 0: break;
    case 1: ask.milli = dice.pick({1, 300, 500, 700, 999, kMilliPerCard}); break;
    case 2: ask.memory_mib = dice.pick({1, 400, 1000, 1200}); break;
    case 3:
      ask.milli = dice.pick({300, 500, 600});
      ask.memory_mib = dice.pick({200, 500, 900});
      break;
    case 4:
      ask.milli = dice.pick({0, 500, kMilliPerCard});
      ask.memory_mib = ask.milli == 0 ? kWholeMemory : dice.pick({kWholeMemory, 0, 1100});
      break;
    case 5:
      ask.milli = 250;
      ask.memory_mib = 250;
      break;
  }
  if (wild.filters && dice.one_in(4)) {
    ask.filter.model_match = dice.pick({CardFilter::Match::equal, CardFilter::Match::contains});
    (dice.one_in(3) ? ask.filter.models_none : ask.filter.models_any)
        .emplace_back(dice.pick({"t4", "A100", "A"}));
  }
  if (wild.filters && dice.one_in(8)) {
    (dice.one_in(2) ? ask.filter.ids_none : ask.filter.ids_any)
        .emplace_back(dice.pick({"n0/0", "n1/1", "n2/0"}));
  }
  if (wild.topology && dice.one_in(3)) {
    ask.topology =
        dice.pick({Topology::numa, Topology::numa_strict, Topology::link, Topology::link_strict});
  }
  return ask;
}

inline PodSpec random_pod(Dice& dice, const std::string& uid, const Wildness& wild = {}) {
  PodSpec pod;
  pod.uid = uid;
  pod.name = "test/" + uid;
  pod.priority = dice.pick({0, 0, 0, 5, -5});
  const std::size_t containers = wild.containers ? dice.pick<std::size_t>({1, 1, 1, 2, 3}) : 1;
  for (std::size_t i = 0; i < containers; ++i) {
    ContainerSpec container;
    container.name = "c" + std::to_string(i);
    if (wild.containers && dice.one_in(3)) {
      container.phase = dice.pick({Phase::init, Phase::sidecar});
    }
    container.resources.cpu_milli = dice.pick({0, 100, 1000, 3000});
    container.resources.memory_bytes = dice.pick({0, 10, 400});
    container.resources.ephemeral_bytes = dice.pick({0, 0, 0, 6});
    if (dice.one_in(6)) container.resources.extended["example.com/nic"] = dice.pick({0, 1, 2});
    if (!dice.one_in(6)) container.gpu = random_ask(dice, wild);
    pod.containers.push_back(std::move(container));
  }
  return pod;
}

// Cards as another scheduler may have written them on a pod: any cards, any valid amounts.
inline Assignment random_cards(Dice& dice, const PodSpec& pod) {
  Assignment cards;
  cards.containers.resize(pod.containers.size());
  for (auto& container : cards.containers) {
    for (std::uint32_t card = 0; card < 6; ++card) {
      if (!dice.one_in(4)) continue;
      container.push_back({.card = card,
                           .milli = dice.pick({0, 500, 700, kMilliPerCard}),
                           .memory_mib = dice.pick({0, 400, 1000, 5000})});
    }
  }
  return cards;
}

}  // namespace stowage::core::testing
