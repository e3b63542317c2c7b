#include "scheduler/nominator.h"

#include <utility>

#include <fmt/format.h>

#include "codec/patches.h"
#include "kube/object_path.h"

namespace stowage::scheduler {

Nominator::Nominator(Deps deps) : deps_(deps), alive_(std::make_shared<bool>(true)) {}
Nominator::~Nominator() { *alive_ = false; }

void Nominator::nominate(const core::Nominate& command) {
  const PendingPod* pending = deps_.cluster_cache.pods().pending(command.uid);
  if (pending == nullptr) return;  // it is deleted or bound
  const auto [found, fresh] = under_way_.try_emplace(
      command.uid, Pod{.ns = pending->object.ns, .name = pending->object.name, .next = {}});
  Pod& pod = found->second;
  record_event(command, pod);
  if (fresh) return send(command.uid, command.node);
  if (pod.next) ++counters_.replaced;
  pod.next = command.node;
}

void Nominator::record_event(const core::Nominate& command, const Pod& pod) {
  if (command.node.empty()) return;
  std::string note = command.preempts
                         ? fmt::format("evicting pods of lower priority from {}", command.node)
                         : fmt::format(
                               "capacity on {} is reserved for the pod as it becomes free: {} of "
                               "{} GPU cards so far",
                               command.node, command.cards, command.wanted);
  deps_.recorder.record(
      {.regarding = {.kind = "Pod", .ns = pod.ns, .name = pod.name, .uid = command.uid},
       .type = kube::EventType::normal,
       .reason = kube::EventReason::nominated,
       .action = command.preempts ? "Preempting" : "Reserving",
       .note = std::move(note)});
}

void Nominator::send(const std::string& uid, const std::string& node) {
  const Pod& pod = under_way_.at(uid);
  deps_.objects.call({.what = fmt::format("nominate pod {}/{}", pod.ns, pod.name),
                      .target = kube::core_path(pod.ns, "pods", pod.name) + "/status",
                      .body = codec::nomination_patch(uid, node)},
                     [this, alive = alive_, uid](const kube::ObjectOutcome& outcome) {
                       if (*alive) replied(uid, outcome);
                     });
}

void Nominator::replied(const std::string& uid, const kube::ObjectOutcome& outcome) {
  using kube::ObjectResult;
  Pod& pod = under_way_.at(uid);
  if (outcome.result == ObjectResult::done) {
    ++counters_.written;
  } else if (outcome.result != ObjectResult::gone && outcome.result != ObjectResult::conflict) {
    ++counters_.failed;
    deps_.log.warn("pod not nominated",
                   {{"pod", pod.ns + "/" + pod.name}, {"why", outcome.message}});
  }
  if (!pod.next || deps_.cluster_cache.pods().pending(uid) == nullptr) {
    under_way_.erase(uid);
    return;
  }
  const std::string node = *std::exchange(pod.next, std::nullopt);
  send(uid, node);
}

}  // namespace stowage::scheduler
