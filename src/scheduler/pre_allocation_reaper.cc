#include "scheduler/pre_allocation_reaper.h"

#include <algorithm>
#include <utility>

namespace stowage::scheduler {

PreAllocationReaper::PreAllocationReaper(const PreAllocationReaperOptions& options, Deps deps)
    : options_(options), deps_(deps), timer_(deps.loop), alive_(std::make_shared<bool>(true)) {
  look();
}

PreAllocationReaper::~PreAllocationReaper() { *alive_ = false; }

void PreAllocationReaper::watch(const TrackedPod& tracked) {
  const auto [at, fresh] = by_uid_.try_emplace(
      tracked.uid, Kept{.tracked = tracked, .look_at = tracked.until, .number = ++numbers_});
  if (!fresh) at->second.look_at = std::min(at->second.look_at, tracked.until);
}

void PreAllocationReaper::made(const TrackedPod& tracked) {
  by_uid_.insert_or_assign(
      tracked.uid, Kept{.tracked = tracked, .look_at = tracked.until, .number = ++numbers_});
}

bool PreAllocationReaper::refused(const dialect::PodObject& pod, const TrackedPod& tracked) {
  return pod.unscheduled_since != tracked.refused_before &&
         dialect::refused_since(pod, tracked.made);
}

void PreAllocationReaper::saw(const dialect::PodObject& pod) {
  const auto found = by_uid_.find(pod.uid);
  if (found == by_uid_.end()) return;
  Kept& kept = found->second;
  if (refused(pod, kept.tracked)) kept.look_at = std::min(kept.look_at, deps_.loop.now());
}

void PreAllocationReaper::cards_changed(const std::string& node) {
  for (auto& [uid, kept] : by_uid_) {
    if (kept.tracked.node == node) kept.look_at = std::min(kept.look_at, deps_.loop.now());
  }
}

void PreAllocationReaper::listed() {
  for (auto& [uid, kept] : by_uid_) {
    if (deps_.cluster_cache.pods().name_of(uid).empty())
      kept.look_at = std::min(kept.look_at, deps_.loop.now());
  }
}

void PreAllocationReaper::look() {
  timer_.start(options_.look_every, [this] { look(); });
  const auto now = deps_.loop.now();
  std::size_t looks = 0;
  for (auto at = by_uid_.begin(); at != by_uid_.end();) {
    const auto here = at++;
    Kept& kept = here->second;
    if (kept.look_at > now) continue;
    if (deps_.cluster_cache.pods().preemption_info(here->first) != nullptr) {
      by_uid_.erase(here);  // a pod on a node keeps its cards
    } else if (++looks <= options_.looks_max) {
      look_up(kept);
    }
  }
}

void PreAllocationReaper::look_up(Kept& kept) {
  kept.look_at = deps_.loop.now() + options_.again;
  kept.number = ++numbers_;
  deps_.pods.read(kept.tracked.pod, [this, alive = alive_, asked = kept](Found pod) {
    if (*alive) looked_up(asked, std::move(pod));
  });
}

// Meanwhile the pod may have a new pre-allocation, or be on its node, or we may no longer lead.
PreAllocationReaper::Kept* PreAllocationReaper::same(const Kept& asked) {
  const auto known = by_uid_.find(asked.tracked.uid);
  if (known == by_uid_.end() || known->second.number != asked.number) return nullptr;
  return deps_.cluster_cache.pods().preemption_info(asked.tracked.uid) == nullptr ? &known->second
                                                                                  : nullptr;
}

void PreAllocationReaper::looked_up(const Kept& asked, Found pod) {
  const std::string& uid = asked.tracked.uid;
  if (same(asked) == nullptr) return;
  if (!pod && !pod.error().absent) return;
  if (!pod || pod->uid != uid || pod->ended()) {
    deps_.event_queue.put_reply(core::PodGone{uid});
    return forget(std::string(uid));
  }
  if (pod->node.empty()) return unbound(asked, *pod);
  if (deps_.cluster_cache.pods().name_of(uid).empty()) return;  // not seen yet, or deleted
  deps_.cluster_cache.upsert_pod(std::move(*pod));
  forget(std::string(uid));
}

void PreAllocationReaper::unbound(const Kept& asked, const dialect::PodObject& pod) {
  const TrackedPod& tracked = asked.tracked;
  const bool over = tracked.until <= deps_.loop.now() || pod.deleting || refused(pod, tracked) ||
                    deps_.cluster_cache.pre_allocations().outdated(pod);
  if (!over) {  // the earlier observation was wrong
    same(asked)->look_at = tracked.until;
    return;
  }
  if (!dialect::pre_allocated_node(pod) && !dialect::signed_node(pod)) return ended(tracked.uid);
  take_off(asked, pod);
}

void PreAllocationReaper::take_off(const Kept& asked, const dialect::PodObject& pod) {
  codec::MetadataRequest patch{.uid = pod.uid,
                               .annotations = deps_.cluster_cache.pre_allocations().withdrawal(pod),
                               .labels = {},
                               .resource_version = pod.resource_version,
                               .remove = dialect::pre_allocation_annotations(pod)};
  std::erase_if(patch.remove,
                [&](const std::string& key) { return patch.annotations.contains(key); });
  deps_.pods.write_fenced(asked.tracked.pod, std::move(patch), {},
                          [this, alive = alive_, asked](const std::string& error) {
                            // If the lookup failed, the state of the pod is unknown: the next
                            // lookup finds out.
                            if (!*alive || !error.empty() || same(asked) == nullptr) return;
                            ++taken_off_;
                            deps_.cluster_cache.wrote(asked.tracked.uid, {});
                            ended(asked.tracked.uid);
                          });
}

void PreAllocationReaper::ended(const std::string& uid) {
  deps_.cluster_cache.pre_allocations().ended(uid);
  deps_.event_queue.put_reply(core::HoldEnded{uid});
  forget(std::string(uid));
}

}  // namespace stowage::scheduler
