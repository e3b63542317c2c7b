#include "local/controllers/rollout.h"

#include <algorithm>

namespace stowage::local {
namespace {

RolloutStep as_it_is(const RolloutSet& fresh, const std::vector<RolloutSet>& old) {
  RolloutStep step{fresh.wanted, {}};
  for (const RolloutSet& set : old) step.old.push_back(set.wanted);
  return step;
}

std::int64_t sum(const std::vector<std::int64_t>& numbers) {
  std::int64_t total = 0;
  for (const std::int64_t number : numbers) total += number;
  return total;
}

// Available replicas that will stay: the status may still count pods that are about to go.
std::int64_t available(const RolloutSet& set, std::int64_t wanted) {
  return std::min(set.available, wanted);
}

// A paused rollout does not progress, but a changed number of replicas is applied if it is clear to
// which set.
RolloutStep step_paused(const RolloutWish& wish, const RolloutSet& fresh,
                        const std::vector<RolloutSet>& old) {
  RolloutStep step = as_it_is(fresh, old);
  const auto active = std::count_if(step.old.begin(), step.old.end(), [](auto n) { return n > 0; });
  if (active == 0) {
    step.fresh = wish.replicas;
  } else if (active == 1 && fresh.wanted == 0) {
    *std::find_if(step.old.begin(), step.old.end(), [](auto n) { return n > 0; }) = wish.replicas;
  }
  return step;
}

RolloutStep step_recreate(const RolloutWish& wish, const RolloutSet& fresh,
                          const std::vector<RolloutSet>& old) {
  RolloutStep step{wish.replicas, std::vector<std::int64_t>(old.size(), 0)};
  const bool still_there =
      std::any_of(old.begin(), old.end(), [](const RolloutSet& set) { return set.replicas > 0; });
  if (still_there) step.fresh = std::min(fresh.wanted, wish.replicas);
  return step;
}

// Removes replicas from the old sets, the oldest first, while any are left to remove.
template <typename Most>
void take_down(RolloutStep& step, std::int64_t count, const Most& most) {
  for (std::size_t i = 0; i < step.old.size() && count > 0; ++i) {
    const std::int64_t less = std::clamp<std::int64_t>(most(i), 0, std::min(count, step.old[i]));
    step.old[i] -= less;
    count -= less;
  }
}

}  // namespace

RolloutStep next_step(const RolloutWish& wish, const RolloutSet& fresh,
                      const std::vector<RolloutSet>& old) {
  if (wish.paused) return step_paused(wish, fresh, old);
  if (wish.recreate) return step_recreate(wish, fresh, old);
  RolloutStep step = as_it_is(fresh, old);
  const std::int64_t total = fresh.wanted + sum(step.old);
  const std::int64_t room = std::max<std::int64_t>(wish.replicas + wish.max_surge - total, 0);
  step.fresh = std::min(fresh.wanted + room, wish.replicas);
  // One step at a time: new replicas must be counted before old ones are removed for them.
  if (step.fresh != fresh.wanted || old.empty()) return step;

  const std::int64_t least = wish.replicas - wish.max_unavailable;
  const std::int64_t coming = fresh.wanted - available(fresh, fresh.wanted);
  const std::int64_t spare = total - least - coming;
  if (spare <= 0) return step;
  // First the replicas that are not available, then as many as availability allows.
  take_down(step, spare,
            [&](std::size_t i) { return old[i].wanted - available(old[i], old[i].wanted); });
  std::int64_t of_use = available(fresh, fresh.wanted);
  for (std::size_t i = 0; i < old.size(); ++i) of_use += available(old[i], step.old[i]);
  take_down(step, of_use - least, [&](std::size_t i) { return step.old[i]; });
  return step;
}

}  // namespace stowage::local
