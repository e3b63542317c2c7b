// Unbound pods of other schedulers: sends their pre-allocations or nominations to the engine, and
// reports pods that no scheduler handles.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "base/instant.h"
#include "dialect/dialect.h"
#include "scheduler/event_queue.h"
#include "scheduler/ignored_pods.h"
#include "scheduler/node_cache.h"
#include "scheduler/notice.h"
#include "scheduler/pod_cache.h"
#include "scheduler/pod_classifier.h"
#include "scheduler/pre_allocations.h"

namespace stowage::scheduler {

class UnboundExternalPods {
 public:
  struct Deps {  // all outlive it
    const PodClassifier& classifier;
    const PodCache& pods;
    const NodeCache& nodes;
    PreAllocations& pre_allocations;
    EventQueue& event_queue;
    const OnNotice& on_notice;
  };
  UnboundExternalPods(std::function<base::Instant()> now, const Deps& deps)
      : deps_(deps), now_(std::move(now)) {}

  // Called for an unbound pod of another scheduler whenever it is seen.
  void on_seen(std::function<void(const dialect::PodObject&)> told) { on_seen_ = std::move(told); }

  // Such a pod was created or has changed.
  void update(PodCache::Entry& entry, const dialect::PodObject& object);
  // The pod is bound, is being deleted or cannot be placed.
  void forget(PodCache::Entry& entry);
  // Call about once a second: reports, once each, pods of other schedulers that ask for cards and
  // that no scheduler has handled for a minute.
  void report_ignored();

 private:
  void update_nomination(PodCache::Entry& entry, const dialect::PodObject& object);

  Deps deps_;
  std::function<base::Instant()> now_;
  std::function<void(const dialect::PodObject&)> on_seen_;
  IgnoredPods ignored_;
};

}  // namespace stowage::scheduler
