// For property tests: random scripts of events. A script is a list of small numbers, so that it can
// be shrunk. The meaning of a number does not depend on the engine's answers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/model/event.h"
#include "core/testing/builders.h"
#include "core/testing/random.h"

namespace stowage::core::testing {

// One event: its kind and its seed.
using Step = std::pair<std::uint8_t, std::uint16_t>;

inline constexpr std::size_t kScriptNodes = 6;
inline constexpr std::size_t kScriptPods = 12;

// Some cards of the node, and one that it does not have.
inline CardsMeasured random_load(Dice& dice, const std::string& node) {
  CardsMeasured load{.node = node, .busy = {{"elsewhere", 10}}};
  for (std::size_t i = 0; i < dice.below(9); ++i) {
    load.busy.push_back({node + "/" + std::to_string(i), dice.pick({-5, 0, 40, 500, 990, 2000})});
  }
  load.until = {dice.pick({-1, 0, 1})};
  return load;
}

inline Event event_of(const Step& step, const Wildness& wild = {}) {
  Dice dice(step.second + 1000U);
  const std::string name = "n" + std::to_string(dice.below(kScriptNodes));
  const std::string uid = "p" + std::to_string(dice.below(kScriptPods));
  switch (step.first % 14) {
    case 0:
    case 1: return NodeChanged{random_node(dice, name, wild)};
    case 2:
      if (dice.one_in(2)) return NodeGone{name};
      if (dice.one_in(2)) return random_load(dice, name);
      return Tick{};
    case 3: return BindDone{uid};
    case 4: return BindFailed{uid};
    case 5:
    case 6: return PodGone{uid};
    case 7: {
      const PodSpec pod = random_pod(dice, uid, wild);
      return PodSeenBound{.pod = pod, .node = name, .cards = named(name, random_cards(dice, pod))};
    }
    case 8:
      return PodSeenBound{.pod = random_pod(dice, uid, wild), .node = name, .cards = std::nullopt};
    default: return PodPending{random_pod(dice, uid, wild)};
  }
}

// A cluster of 1 to 6 nodes, followed by the steps.
inline std::vector<Event> script_of(std::uint8_t nodes, const std::vector<Step>& steps,
                                    const Wildness& wild = {}) {
  std::vector<Event> events;
  for (std::size_t i = 0; i <= nodes % kScriptNodes; ++i) {
    Dice dice(std::size_t{nodes} * 31U + i);
    events.emplace_back(NodeChanged{random_node(dice, "n" + std::to_string(i), wild)});
  }
  for (const Step& step : steps) events.push_back(event_of(step, wild));
  return events;
}

// Pods with one to four cards arrive and leave on a few nodes with four cards. It is long enough
// for dual-price to notice departures, keep blocks of cards and drain nodes.
inline std::vector<Event> churn_of(std::uint16_t seed) {
  Dice dice(seed);
  std::vector<Event> events;
  const std::size_t nodes = 2 + dice.below(3);
  for (std::size_t i = 0; i < nodes; ++i) {
    events.emplace_back(NodeChanged{node("n" + std::to_string(i)).cards(4)});
  }
  for (int i = 0; i < 300; ++i) {
    const std::string uid = "p" + std::to_string(dice.below(16));
    const bool leaves = dice.one_in(2);
    if (leaves) events.emplace_back(PodGone{uid});
    if (leaves) continue;
    PodBuilder comes = pod(uid);
    comes.gpus(dice.pick({1, 1, 2, 4})).cpu_milli(dice.pick({1000, 2000}));
    if (dice.one_in(4)) comes.gpus(1).milli(dice.pick({300, 470, 810}));
    events.emplace_back(PodPending{comes});
    if (dice.one_in(40)) events.emplace_back(NodeGone{"n0"});
    if (dice.one_in(20)) events.emplace_back(NodeChanged{node("n0").cards(4)});
    if (dice.one_in(20)) events.emplace_back(BindFailed{uid});
    if (dice.one_in(20)) events.emplace_back(Tick{});
  }
  return events;
}

}  // namespace stowage::core::testing
