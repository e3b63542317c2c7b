// What an event leaves for the next ones, so that no event takes long however many pods wait. The
// unit of work is the judgement of a node, and EngineOptions say how many an event has; a try
// counts as several, more if the pod's rules are long. No clock is asked: the same events leave the
// same.
//
// Carried on at once, by Continue, the outcome is that of one long event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>

#include "core/engine/waiting.h"
#include "core/model/ids.h"
#include "core/place/containers.h"
#include "core/place/judge.h"

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

// Steps that earlier events left, in their order.
class Agenda {
 public:
  // Left out if a step that asks for the same stands there already.
  void defer(Step step);
  // Takes all steps out.
  [[nodiscard]] std::deque<Step> take() { return std::exchange(steps_, {}); }
  [[nodiscard]] bool empty() const { return steps_.empty(); }
  void clear() { steps_.clear(); }

 private:
  std::deque<Step> steps_;
};

// How much work an event, or a question, has left.
class WorkBudget {
 public:
  WorkBudget(std::uint64_t judgements, int search_steps)
      : judgements_(judgements), search_steps_(search_steps), search_{.left = search_steps} {}

  // `effort`: what all planners have done so far.
  void begin(std::uint64_t effort) {
    refill_search();
    looks_ = 0;
    effort_before_ = effort;
  }
  void refill_search() { search_ = {.left = search_steps_}; }
  // Work besides that of the planners, in judgements.
  void add_looks(std::uint64_t looks) { looks_ += looks; }
  [[nodiscard]] bool spent(std::uint64_t effort) const {
    return looks_ + effort - effort_before_ >= judgements_;
  }
  // Steps of the search for cards; planners have the address.
  [[nodiscard]] SearchSteps& search() { return search_; }
  // Too few steps are left for a search that was cut to go on.
  [[nodiscard]] bool search_spent() const {
    return search_.left < std::min(kSearchLimit, search_steps_);
  }

 private:
  std::uint64_t judgements_;
  int search_steps_;
  SearchSteps search_;
  std::uint64_t looks_ = 0;
  std::uint64_t effort_before_ = 0;
};

}  // namespace stowage::core
