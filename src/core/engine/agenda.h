// What an event leaves for the next ones, so that no event takes long however many pods wait. The
// unit of work is the judgement of a node, and EngineOptions say how many an event has; a try
// counts as several, more if the pod's rules are long. No clock is asked: the same events leave the
// same.
//
// Carried on at once, by Continue, the outcome is that of one long event.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "core/engine/waiting.h"
#include "core/model/ids.h"

namespace stowage::core {

inline constexpr std::uint64_t kJudgementsPerTry = 64;  // times Waiting::try_cost()

// Groups of parked pods by their keys, or owners of rooms by their uids: in the order of their
// turns.
using Line = std::set<std::pair<Waiting::Place, std::string>>;

struct Step {
  enum class Kind : std::uint8_t {
    wake,      // there is more room on the node
    rooms,     // the line of owners of rooms on the node
    parked,    // parked pods that the node can hold; all if it is invalid
    line,      // what is left of that
    rested,    // pods that have rested
    some,      // some parked pods, come what may
    groups,    // what is left of that
    starving,  // room for the pod that has waited longest
    beyond,    // pods that others, or volumes, can help
  };
  Kind kind = Kind::wake;
  NodeIndex node;
  Line line;
  int looks = 0;          // beyond: that were taken already
  std::string under_way;  // beyond: the group whose twins are being tried

  // Asks for nothing more than a step that stands in the agenda already.
  [[nodiscard]] bool fresh() const { return line.empty() && looks == 0 && under_way.empty(); }
};

}  // namespace stowage::core
