#include "scheduler/unbound_external_pods.h"

#include <cstddef>
#include <vector>

namespace stowage::scheduler {

// The extender may hold cards for the pod, so the engine must learn of its end.
void UnboundExternalPods::update(PodCache::Entry& entry, const dialect::PodObject& object) {
  entry.told = true;
  if (on_seen_) on_seen_(object);
  if (deps_.pre_allocations.enabled()) {
    notify(deps_.on_notice, deps_.pre_allocations.see(entry, object));
  }
  if (!entry.pre_allocation.told) update_nomination(entry, object);
  ignored_.watch(object, now_());
}

// Its scheduler has freed capacity for it on a node, or is about to bind it there. Other pods must
// not use that capacity.
void UnboundExternalPods::update_nomination(PodCache::Entry& entry,
                                            const dialect::PodObject& object) {
  if (object.nominated.empty() && entry.nominated.empty()) return;
  auto spec = dialect::to_spec(
      object, deps_.nodes.reading({.floor_whole_cards = true, .placed_by_others = true}));
  if (!spec) spec = dialect::readable_part(object, deps_.nodes.reading({}));
  entry.nominated = object.nominated;
  deps_.event_queue.put_pod(core::PodNominated{.pod = std::move(*spec), .node = object.nominated});
}

void UnboundExternalPods::forget(PodCache::Entry& entry) {
  deps_.pre_allocations.forget(entry);
  ignored_.forget(*entry.uid);
}

void UnboundExternalPods::report_ignored() {
  if (!deps_.pre_allocations.leads()) return;
  const std::vector<std::string> profiles = deps_.classifier.profile_names();
  for (const IgnoredPods::Ignored& pod : ignored_.take_due(now_())) {
    const std::string name = deps_.pods.name_of(pod.uid);
    const std::size_t slash = name.find('/');
    deps_.on_notice({.kind = Notice::Kind::ignored,
                     .ns = name.substr(0, slash),
                     .name = name.substr(slash + 1),
                     .uid = pod.uid,
                     .text = IgnoredPods::sentence(pod, profiles)});
  }
}

}  // namespace stowage::scheduler
