#include "scheduler/kubelet_allocations.h"

#include <utility>

namespace stowage::scheduler {

void KubeletAllocations::set(const std::string& node, const std::string& pod,
                             dialect::KubeletAllocation allocation) {
  PodCache::Entry* entry = deps_.pods.find(deps_.pods.uid_of(pod));
  const bool here = entry != nullptr && entry->node == node;
  cards_.set_allocation({.node = node, .name = pod, .uid = here ? *entry->uid : std::string()},
                        std::move(allocation));
  if (here) compare(*entry);
}

void KubeletAllocations::confirm() {
  for (const std::string& uid : cards_.take_unconfirmed()) {
    PodCache::Entry* entry = deps_.pods.find(uid);
    if (entry != nullptr) report(cards_.confirm(where(*entry), entry->cards));
  }
}

void KubeletAllocations::compare(PodCache::Entry& entry) {
  report(cards_.compare(where(entry), entry.cards));
}

void KubeletAllocations::report(KubeletCards::Finding found) {
  notify(deps_.on_notice, found.notice);
  if (found.cards) deps_.event_queue.put_cards(std::move(*found.cards));
}

}  // namespace stowage::scheduler
