#include "scheduler/evictor.h"

#include <utility>

#include <fmt/format.h>

#include "codec/patches.h"

namespace stowage::scheduler {

using kube::ObjectResult;

Evictor::Evictor(Ends ends) : ends_(std::move(ends)), alive_(std::make_shared<bool>(true)) {}
Evictor::~Evictor() { *alive_ = false; }

std::string Evictor::Victim::path() const {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", net::percent_encode(ns),
                     net::percent_encode(name));
}

void Evictor::evict(const core::Evict& command) {
  const std::string full = ends_.roster.name_of(command.uid);
  if (full.empty()) return;  // it has gone: that event is on its way to the engine
  if (!under_way_.insert(command.uid).second) return;
  const std::size_t slash = full.find('/');
  Victim victim{.uid = command.uid,
                .by = command.by,
                .node = command.node,
                .ns = full.substr(0, slash),
                .name = full.substr(slash + 1)};
  std::string preemptor = ends_.roster.name_of(command.by);
  if (preemptor.empty()) preemptor = command.by;
  const codec::DisruptionAsk ask{
      .uid = victim.uid,
      .message =
          fmt::format("preempted to make room for pod {}, whose priority is higher", preemptor),
      .unix_seconds = kube::unix_seconds(ends_.wall_clock())};
  ends_.log.info("evicting a pod", {{"pod", full}, {"node", victim.node}, {"for", preemptor}});
  ends_.objects.call({.what = fmt::format("write the condition of pod {}", full),
                      .target = victim.path() + "/status",
                      .body = codec::disruption_patch(ask),
                      .content_type = kube::kStrategicMergePatch},
                     [this, alive = alive_, victim](const kube::ObjectOutcome& outcome) {
                       if (*alive) marked(victim, outcome);
                     });
}

// A pod that is deleted without the condition looks as if it had failed by itself, and some jobs
// count their failures: then rather not. Whether a conflict means another pod of that name, the
// deletion finds out.
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
  ends_.objects.call({.what = fmt::format("delete pod {}", victim.text()),
                      .method = "DELETE",
                      .target = victim.path(),
                      .body = codec::delete_options(victim.uid),
                      .content_type = "application/json"},
                     [this, alive = alive_, victim](const kube::ObjectOutcome& outcome) {
                       if (*alive) removed(victim, outcome);
                     });
}

void Evictor::removed(const Victim& victim, const kube::ObjectOutcome& outcome) {
  switch (outcome.result) {
    case ObjectResult::refused:
    case ObjectResult::failed: return give_up(victim, outcome.message);
    case ObjectResult::gone:
    case ObjectResult::conflict:  // another pod has its name now
      under_way_.erase(victim.uid);
      ++counters_.gone;
      return;
    case ObjectResult::done: break;
  }
  under_way_.erase(victim.uid);
  ++counters_.deleted;
  ends_.recorder.record(
      {.regarding = {.kind = "Pod", .ns = victim.ns, .name = victim.name, .uid = victim.uid},
       .type = kube::EventType::normal,
       .reason = "Preempted",
       .action = "Preempting",
       .note = fmt::format("Preempted by pod {} on node {}", victim.by, victim.node)});
}

void Evictor::give_up(const Victim& victim, const std::string& why) {
  under_way_.erase(victim.uid);
  ++counters_.failed;
  ends_.log.warn("pod not evicted", {{"pod", victim.text()}, {"node", victim.node}, {"why", why}});
  ends_.mailbox.put_reply(core::EvictFailed{victim.uid});
}

Evictor::Counters Evictor::counters() const {
  Counters counters = counters_;
  counters.under_way = under_way_.size();
  return counters;
}

}  // namespace stowage::scheduler
