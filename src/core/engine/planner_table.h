// The planners of an engine: one per profile, and one per policy that pods ask for instead of their
// profile's policy. Pods can ask for any policy, so planners that were not used lately are dropped.
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

  // State that all planners share. `loads` is informed about the policies in use.
  struct Shared {
    Ledger& ledger;
    SearchSteps& search;
    LoadTracker& loads;
  };
  PlannerTable(std::vector<PolicyOptions> profiles, const Shared& shared);

  [[nodiscard]] std::size_t profiles() const { return profiles_; }
  // The planner of the pod's profile, or of the policy that it asks for. Requires: a known profile.
  [[nodiscard]] Planner& of(const PodSpec& pod);
  [[nodiscard]] Planner& first() { return *planners_.front(); }
  // Must not be called while a planner of a pod's own policy is in use.
  void forget_unused();

  // The planners of all profiles learn about a pod that another one placed, or refused (`placed` is
  // invalid). Planners of policies that pods ask for learn only from their own pods, since pods can
  // ask for every policy.
  void teach_others(const PodSpec& pod, PodIndex placed, Planner::Try which);
  // The same for a pod that was found on a node. After a restart, policies learn this way.
  void teach_all(const PodSpec& pod, PodIndex placed);
  void departed(PodIndex pod);

  // Judgements so far, weighted by their cost; and sums over the planners.
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
    std::size_t at = 0;  // position in planners_
    std::uint64_t asked = 0;
  };
  void make(PolicyOptions options, std::size_t keys);
  void teach(Planner& planner, const PodSpec& pod, PodIndex placed, Planner::Try which);

  Shared shared_;
  std::size_t profiles_ = 0;
  std::vector<std::unique_ptr<Planner>>
      planners_;  // by profile, followed by those that pods ask for
  std::map<WishKey, Wish> wishes_;
  std::uint64_t asked_ = 0;  // counter of pods that ask for a policy
};

}  // namespace stowage::core
