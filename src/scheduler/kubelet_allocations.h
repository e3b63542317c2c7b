// Applies the allocations that kubelets report to the pods of the cache: sends the cards of a pod
// to the engine (CardsNamed), or a notice about a device mismatch.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/instant.h"
#include "dialect/kubelet_allocation.h"
#include "scheduler/event_queue.h"
#include "scheduler/kubelet_cards.h"
#include "scheduler/node_cache.h"
#include "scheduler/notice.h"
#include "scheduler/pod_cache.h"

namespace stowage::scheduler {

class KubeletAllocations {
 public:
  struct Deps {  // all outlive it
    PodCache& pods;
    const NodeCache& nodes;
    EventQueue& event_queue;
    const OnNotice& on_notice;
  };
  KubeletAllocations(std::function<base::Instant()> now, const Deps& deps)
      : deps_(deps), cards_(std::move(now)) {}

  // What is known without the pods: the reports, the agents, and counts.
  [[nodiscard]] KubeletCards& cards() { return cards_; }
  [[nodiscard]] const KubeletCards& cards() const { return cards_; }

  // The devices of a pod ("namespace/name") on this node. They have no effect unless the API shows
  // the pod on this node.
  void set(const std::string& node, const std::string& pod, dialect::KubeletAllocation allocation);
  // Call about once a second: unconfirmed allocations that have been reported for long enough
  // count.
  void confirm();
  // The cards of the pod or of its node may have changed.
  void compare(PodCache::Entry& entry);

 private:
  [[nodiscard]] KubeletCards::Where where(const PodCache::Entry& entry) const {
    return {.uid = *entry.uid, .name = entry.name, .node = deps_.nodes.find(entry.node)};
  }
  void report(KubeletCards::Finding found);

  Deps deps_;
  KubeletCards cards_;
};

}  // namespace stowage::scheduler
