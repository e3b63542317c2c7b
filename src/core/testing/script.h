// For property tests: random scripts of events. A script is a list of small numbers, so that it can
// be shrunk; what a number means does not depend on what the engine answers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/model/event.h"
#include "core/testing/random.h"

namespace stowage::core::testing {

// One event: what happens, and the seed of how.
using Step = std::pair<std::uint8_t, std::uint16_t>;

inline constexpr std::size_t kScriptNodes = 6;
inline constexpr std::size_t kScriptPods = 12;

inline Event event_of(const Step& step, const Wildness& wild = {}) {
  Dice dice(step.second + 1000U);
  const std::string name = "n" + std::to_string(dice.below(kScriptNodes));
  const std::string uid = "p" + std::to_string(dice.below(kScriptPods));
  switch (step.first % 14) {
    case 0:
    case 1: return NodeChanged{random_node(dice, name, wild)};
    case 2:
      if (dice.one_in(2)) return NodeGone{name};
      return Tick{};
    case 3: return BindDone{uid};
    case 4: return BindFailed{uid};
    case 5:
    case 6: return PodGone{uid};
    case 7: {
      const PodSpec pod = random_pod(dice, uid, wild);
      return PodSeenBound{.pod = pod, .node = name, .cards = random_cards(dice, pod)};
    }
    case 8:
      return PodSeenBound{.pod = random_pod(dice, uid, wild), .node = name, .cards = std::nullopt};
    default: return PodPending{random_pod(dice, uid, wild)};
  }
}

// A cluster of 1 to 6 nodes, and then the steps.
inline std::vector<Event> script_of(std::uint8_t nodes, const std::vector<Step>& steps,
                                    const Wildness& wild = {}) {
  std::vector<Event> events;
  for (std::size_t i = 0; i <= nodes % kScriptNodes; ++i) {
    Dice dice(nodes * 31U + i);
    events.emplace_back(NodeChanged{random_node(dice, "n" + std::to_string(i), wild)});
  }
  for (const Step& step : steps) events.push_back(event_of(step, wild));
  return events;
}

}  // namespace stowage::core::testing
