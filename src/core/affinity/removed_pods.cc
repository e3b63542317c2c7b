#include "core/affinity/removed_pods.h"

#include "core/affinity/affinity_index.h"

namespace stowage::core {

void RemovedPods::count(PodIndex pod, std::int32_t delta) {
  const AffinityPod& known = *index_->find(pod);
  SetPods& of_set = by_set_[known.set];
  of_set.all += delta;
  if (known.leaving) of_set.leaving += delta;
  for (const AntiTermIndex term : known.anti_terms) by_term_[term] += delta;
}

void RemovedPods::take(PodIndex pod) {
  if (index_->contains(pod) && pods_.insert(pod).second) count(pod, 1);
}

void RemovedPods::put_back(PodIndex pod) {
  if (pods_.erase(pod) > 0) count(pod, -1);
}

std::int64_t RemovedPods::counted_by(const TopologyCounter& counter, NodeIndex node) const {
  std::int64_t pods = 0;
  for (const auto& [set, taken] : by_set_) {
    if (taken.all == 0 || !counter.selects(set)) continue;
    pods += taken.all - (counter.skip_leaving() ? taken.leaving : 0);
  }
  return pods != 0 && counter.counts_node(node.at()) ? pods : 0;
}

std::int32_t RemovedPods::with_term(AntiTermIndex term) const {
  const auto found = by_term_.find(term);
  return found == by_term_.end() ? 0 : found->second;
}

}  // namespace stowage::core
