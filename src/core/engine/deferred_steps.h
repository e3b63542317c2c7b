// Work that an event leaves for later events, so that no event takes long however many pods wait.
// The unit of work is the judgement of one node; EngineOptions sets how many judgements an event
// may make. A try counts as several, and as more if the pod's rules are long. No clock is used, so
// the same events leave the same steps.
//
// If Continue events follow at once, the outcome is the same as that of one long event.
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

// Groups of parked pods by key, or nominated pods by uid, in the order in which they are tried.
using Line = std::set<std::pair<Waiting::Position, std::string>>;

struct Step {
  enum class Kind : std::uint8_t {
    wake,         // the node has more free capacity
    nominations,  // the pods in `line`, nominated to the node
    parked,       // parked pods that fit the node; all parked pods if the node is invalid
    line,         // the rest of `parked`
    rested,       // pods whose back-off is over
    some,         // some parked pods, regardless of events
    groups,       // the rest of `some`
    starving,     // a nomination for the pod that has waited longest
    constrained,  // pods that changes of other pods or volumes can help
  };
  Kind kind = Kind::wake;
  NodeIndex node;
  Line line;
  int looks = 0;          // `constrained`: groups looked at so far
  std::string under_way;  // `constrained`: the group whose twins are being tried

  // True for a step that has not started, so it asks for no more than an equal step in the queue.
  [[nodiscard]] bool fresh() const { return line.empty() && looks == 0 && under_way.empty(); }
};

// Steps that earlier events left, in order.
class DeferredSteps {
 public:
  // Ignored if an equal step is already deferred.
  void defer(Step step);
  // Removes and returns all steps.
  [[nodiscard]] std::deque<Step> take() { return std::exchange(steps_, {}); }
  [[nodiscard]] bool empty() const { return steps_.empty(); }
  void clear() { steps_.clear(); }

 private:
  std::deque<Step> steps_;
};

// The work that is left to an event or an external request.
class WorkBudget {
 public:
  WorkBudget(std::uint64_t judgements, int search_steps)
      : judgements_(judgements), search_steps_(search_steps), search_{.left = search_steps} {}

  // `effort`: the work of all planners so far.
  void begin(std::uint64_t effort) {
    refill_search();
    looks_ = 0;
    effort_before_ = effort;
  }
  void refill_search() { search_ = {.left = search_steps_}; }
  // Adds work outside the planners, in judgements.
  void add_looks(std::uint64_t looks) { looks_ += looks; }
  [[nodiscard]] bool spent(std::uint64_t effort) const {
    return looks_ + effort - effort_before_ >= judgements_;
  }
  // Steps of the search for cards. Planners keep a pointer to it.
  [[nodiscard]] SearchSteps& search() { return search_; }
  // True if too few steps are left to continue a search that was cut.
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
