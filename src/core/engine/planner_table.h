// The planners of an engine: one for each profile, and one for each policy that pods wish for
// instead of their profile's own. Pods can wish for any policy: planners that no pod wished for
// lately are forgotten.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "core/engine/load_tracker.h"
#include "core/engine/planner.h"
#include "core/place/judge.h"

namespace stowage::core {

class PlannerTable {
 public:
  static constexpr std::size_t kWishPlanners = 32;  // between two calls of forget_unused()

  // What all planners share. `loads` is told of the policies that are in use.
  struct Shared {
    Ledger& ledger;
    SearchSteps& search;
    LoadTracker& loads;
  };
  PlannerTable(std::vector<PolicyOptions> profiles, const Shared& shared);

  [[nodiscard]] std::size_t profiles() const { return profiles_; }
  // The planner of the pod's profile, or the one of its wish. Requires: a known profile.
  [[nodiscard]] Planner& of(const PodSpec& pod);
  [[nodiscard]] Planner& first() { return *planners_.front(); }
  // Not while a planner of a wish is in use.
  void forget_unused();

  // Demand is one: the planners of all profiles learn of a pod that another one has placed (or
  // refused: `placed` is invalid). Those of wishes, of which pods can make as many as there are
  // policies, learn from their own pods alone.
  void teach_others(const PodSpec& pod, PodIndex placed, Planner::Try which);
  // The same for a pod that was found on a node: after a restart this is how policies learn.
  void teach_all(const PodSpec& pod, PodIndex placed);
  void departed(PodIndex pod);

  // Judgements so far, by how long they take; and sums over the planners.
  [[nodiscard]] std::uint64_t effort() const;
  struct Totals {
    std::uint64_t judged = 0;
    std::uint64_t models_learned = 0;
    std::size_t shapes = 0;
  };
  [[nodiscard]] Totals totals() const;

 private:
  using WishKey = std::tuple<std::uint32_t, NodePolicy, CardPolicy, bool>;
  struct Wish {
    std::size_t at = 0;  // in planners_
    std::uint64_t asked = 0;
  };
  void make(PolicyOptions options, std::size_t keys);
  void teach(Planner& planner, const PodSpec& pod, PodIndex placed, Planner::Try which);

  Shared shared_;
  std::size_t profiles_ = 0;
  std::vector<std::unique_ptr<Planner>> planners_;  // by profile, then those of wishes
  std::map<WishKey, Wish> wishes_;
  std::uint64_t asked_ = 0;  // for wishes
};

}  // namespace stowage::core
