#include "scheduler/nominator.h"

#include <utility>

#include <fmt/format.h>

#include "codec/patches.h"
#include "kube/object_path.h"

namespace stowage::scheduler {

Nominator::Nominator(Ends ends) : ends_(ends), alive_(std::make_shared<bool>(true)) {}
Nominator::~Nominator() { *alive_ = false; }

void Nominator::nominate(const core::Nominate& command) {
  const Wanting* wanting = ends_.roster.pods().wanting(command.uid);
  if (wanting == nullptr) return;  // it has gone or is bound
  const auto [found, fresh] = under_way_.try_emplace(
      command.uid, Pod{.ns = wanting->object.ns, .name = wanting->object.name, .next = {}});
  Pod& pod = found->second;
  tell(command, pod);
  if (fresh) return send(command.uid, command.node);
  if (pod.next) ++counters_.replaced;
  pod.next = command.node;
}

void Nominator::tell(const core::Nominate& command, const Pod& pod) {
  if (command.node.empty()) return;
  std::string note =
      command.preempts
          ? fmt::format("evicting less important pods from {} to make room", command.node)
          : fmt::format(
                "room on {} is reserved for the pod as it falls free: {} of {} GPU cards "
                "so far",
                command.node, command.cards, command.wanted);
  ends_.recorder.record(
      {.regarding = {.kind = "Pod", .ns = pod.ns, .name = pod.name, .uid = command.uid},
       .type = kube::EventType::normal,
       .reason = "Nominated",
       .action = command.preempts ? "Preempting" : "Reserving",
       .note = std::move(note)});
}

void Nominator::send(const std::string& uid, const std::string& node) {
  const Pod& pod = under_way_.at(uid);
  ends_.objects.call({.what = fmt::format("nominate pod {}/{}", pod.ns, pod.name),
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
    ends_.log.warn("pod not nominated",
                   {{"pod", pod.ns + "/" + pod.name}, {"why", outcome.message}});
  }
  if (!pod.next || ends_.roster.pods().wanting(uid) == nullptr) {
    under_way_.erase(uid);
    return;
  }
  const std::string node = *std::exchange(pod.next, std::nullopt);
  send(uid, node);
}

}  // namespace stowage::scheduler
