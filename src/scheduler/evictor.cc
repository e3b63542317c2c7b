#include "scheduler/evictor.h"

#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "codec/patches.h"
#include "kube/object_path.h"

namespace stowage::scheduler {

using kube::ObjectResult;

Evictor::Evictor(Deps deps) : deps_(std::move(deps)), alive_(std::make_shared<bool>(true)) {}
Evictor::~Evictor() { *alive_ = false; }

void Evictor::stand_down() {
  *alive_ = false;
  alive_ = std::make_shared<bool>(true);
  under_way_.clear();
}

std::string Evictor::Victim::path() const { return kube::core_path(ns, "pods", name); }

void Evictor::evict(const core::Evict& command) {
  begin(command.uid, command.node, command.by,
        {.condition = fmt::format(
             "preempted for {}, whose priority is higher",
             deps_.cluster_cache.pods().called({.uid = command.by, .reader = command.uid})),
         .note = fmt::format("Preempted by pod {} on node {}", command.by, command.node)});
}

void Evictor::evict(const core::CardConflict& command) {
  begin(command.uid, command.node, command.with,
        {.condition = fmt::format(
             "card {} was given to {} before, and cannot hold both pods", command.card,
             deps_.cluster_cache.pods().called({.uid = command.with, .reader = command.uid})),
         .note = ""});
}

void Evictor::begin(const std::string& uid, const std::string& node, const std::string& by,
                    const Why& why) {
  const std::string full = deps_.cluster_cache.pods().name_of(uid);
  if (full.empty()) return;  // it is deleted: the engine gets that event
  if (!under_way_.insert(uid).second) return;
  const base::SplitName parts = base::split_name(full);
  Victim victim{.uid = uid,
                .node = node,
                .note = why.note,
                .ns = std::string(parts.ns),
                .name = std::string(parts.name)};
  const codec::DisruptionRequest ask{
      .uid = uid, .message = why.condition, .unix_seconds = kube::unix_seconds(deps_.wall_clock())};
  deps_.log.info("evicting a pod", {{"pod", full},
                                    {"node", node},
                                    {"for", deps_.cluster_cache.pods().name_of(by)},
                                    {"why", why.condition}});
  deps_.objects.call({.what = fmt::format("write the condition of pod {}", full),
                      .target = victim.path() + "/status",
                      .body = codec::disruption_patch(ask),
                      .content_type = kube::kStrategicMergePatch},
                     [this, alive = alive_, victim](const kube::ObjectOutcome& outcome) {
                       if (*alive) marked(victim, outcome);
                     });
}

// A pod that is deleted without the condition looks as if it had failed, and some jobs count their
// failures. So it is not deleted. After a conflict the deletion itself finds out whether another
// pod has that name.
void Evictor::marked(const Victim& victim, const kube::ObjectOutcome& outcome) {
  switch (outcome.result) {
    case ObjectResult::done:
    case ObjectResult::conflict: return remove(victim);
    case ObjectResult::gone: return removed(victim, outcome);
    case ObjectResult::refused:
    case ObjectResult::failed: return give_up(victim, outcome.message);
  }
}

void Evictor::remove(const Victim& victim) {
  deps_.objects.call({.what = fmt::format("delete pod {}", victim.text()),
                      .method = "DELETE",
                      .target = victim.path(),
                      .body = codec::delete_options(victim.uid)},
                     [this, alive = alive_, victim](const kube::ObjectOutcome& outcome) {
                       if (*alive) removed(victim, outcome);
                     });
}

void Evictor::removed(const Victim& victim, const kube::ObjectOutcome& outcome) {
  switch (outcome.result) {
    case ObjectResult::refused:
    case ObjectResult::failed:
    // Another pod has its name now, or the conflict was temporary. If the pod is deleted, the
    // engine gets that event. If not, only this reply tells the engine that the pod stays.
    case ObjectResult::conflict: return give_up(victim, outcome.message);
    case ObjectResult::gone:
      under_way_.erase(victim.uid);
      ++counters_.gone;
      return;
    case ObjectResult::done: break;
  }
  under_way_.erase(victim.uid);
  ++counters_.deleted;
  if (victim.note.empty()) return;
  deps_.recorder.record(
      {.regarding = {.kind = "Pod", .ns = victim.ns, .name = victim.name, .uid = victim.uid},
       .type = kube::EventType::normal,
       .reason = kube::EventReason::preempted,
       .action = "Preempting",
       .note = victim.note});
}

void Evictor::give_up(const Victim& victim, const std::string& why) {
  under_way_.erase(victim.uid);
  ++counters_.failed;
  deps_.log.warn("pod not evicted", {{"pod", victim.text()}, {"node", victim.node}, {"why", why}});
  deps_.event_queue.put_reply(core::EvictFailed{victim.uid});
}

Evictor::Counters Evictor::counters() const {
  Counters counters = counters_;
  counters.under_way = under_way_.size();
  return counters;
}

}  // namespace stowage::scheduler
