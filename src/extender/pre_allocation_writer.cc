#include "extender/pre_allocation_writer.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/engine/engine.h"
#include "core/explain/model_note.h"
#include "core/explain/topology_note.h"

namespace stowage::extender {
namespace {

// Annotations of an earlier pre-allocation that the new one does not replace.
std::vector<std::string> outdated(const dialect::PodObject& pod,
                                  const dialect::Annotations& written) {
  std::vector<std::string> keys = dialect::pre_allocation_annotations(pod);
  // kube-scheduler may have sent the pod as it was before that pre-allocation.
  for (const std::string_view key :
       {dialect::kGpusAnnotation, dialect::kPreAllocatedNodeAnnotation}) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.emplace_back(key);
  }
  std::erase_if(keys, [&](const std::string& key) { return written.contains(key); });
  return keys;
}

}  // namespace

bool PreAllocationWriter::keep_until_bound(NodesCall& call, bool fits) {
  const dialect::PodObject& pod = call.object;
  const auto& shared = context_.shared();
  if (!context_.leads()) {
    shared.event_queue.put_reply(core::HoldEnded{pod.uid});
    return false;
  }
  // Where no node fits, only a pod with an earlier pre-allocation has something to take off.
  if (!fits && !dialect::pre_allocated_node(pod)) return true;
  call.decided = shared.cluster_cache.decision_clock().next(pod);
  const auto now = shared.loop.now();
  shared.reaper.made({.uid = pod.uid,
                      .pod = {.ns = pod.ns, .name = pod.name},
                      .made = call.decided,
                      .until = fits ? now + context_.options().bind_limit : now,
                      .refused_before = pod.unscheduled_since,
                      .node = call.held ? call.held->node : std::string()});
  return true;
}

// The cards if they are named, and the node: in the annotation of the pod's dialect if it has one,
// else in ours.
dialect::Annotations PreAllocationWriter::annotations_for(const NodesCall& call,
                                                          const core::NodeSpec& node,
                                                          const core::Assignment& cards) const {
  dialect::Annotations annotations;
  if (core::names_cards(cards) && context_.options().mode != Mode::count) {
    annotations = dialect::answer({.object = call.object,
                                   .pod = call.spec,
                                   .node = node,
                                   .cards = cards,
                                   .unix_nanos = call.decided})
                      .annotations;
  }
  dialect::PodObject after = call.object;  // as it will be
  for (const auto& key : dialect::pre_allocation_annotations(after)) after.annotations.erase(key);
  for (const auto& [key, value] : annotations) after.annotations[key] = value;
  if (!dialect::pre_allocated_node(after))
    annotations.emplace(dialect::kPreAllocatedNodeAnnotation, node.name);
  context_.shared().cluster_cache.signatures().seal({.object = after,
                                                     .node = node.name,
                                                     .purpose = dialect::Purpose::pre_allocation,
                                                     .unix_nanos = call.decided},
                                                    annotations);
  return annotations;
}

Result<codec::MetadataRequest> PreAllocationWriter::patch_for(NodesCall& call) const {
  const core::CardPlacement& place = *call.held;
  const core::NodeSpec* node = context_.shared().cluster_cache.nodes().find(place.node);
  const auto cards = node == nullptr ? std::nullopt : core::by_position(place.cards, *node);
  if (!cards) return fail(fmt::format("node {} was deleted, or lost cards", place.node));
  call.written = annotations_for(call, *node, *cards);
  return codec::MetadataRequest{.uid = call.object.uid,
                                .annotations = call.written,
                                .labels = {},
                                .resource_version = call.object.resource_version,
                                .remove = outdated(call.object, call.written)};
}

Result<codec::MetadataRequest> PreAllocationWriter::rebase(NodesCall& call,
                                                           const dialect::PodObject& now) const {
  const dialect::PodObject& pod = call.object;
  if (now.uid != pod.uid || now.deleting) {
    return fail(fmt::format("pod {}/{} was deleted", pod.ns, pod.name));
  }
  if (!now.node.empty()) {
    return fail(fmt::format("pod {}/{} was bound to node {}", pod.ns, pod.name, now.node));
  }
  if (context_.shared().cluster_cache.signatures().decided_after(now, call.decided)) {
    return fail("a later answer was written to the pod; try again");
  }
  call.object = now;
  return patch_for(call);
}

// kube-scheduler may bind as soon as it has the answer, so the write is fenced as a bind is.
void PreAllocationWriter::write(const NodesCallPtr& call, Done done) {
  const auto& shared = context_.shared();
  auto& pre_allocations = shared.cluster_cache.pre_allocations();
  // Two calls of one pod may have been in the engine at once, as when kube-scheduler restarts while
  // its first one waits for a leader.
  if (pre_allocations.being_written(call->object.uid)) return done(std::string(kBeingWritten));
  auto patch = patch_for(*call);
  if (!patch) {
    shared.event_queue.put_reply(core::BindFailed{call->object.uid});
    return done(patch.error().message);
  }
  pre_allocations.begin_write(call->object.uid);
  shared.pods.write_fenced(
      {.ns = call->object.ns, .name = call->object.name}, std::move(*patch),
      [this, call](const dialect::PodObject& now) { return rebase(*call, now); },
      context_.while_alive([this, call, done = std::move(done)](const std::string& error) {
        const auto& parts = context_.shared();
        parts.cluster_cache.pre_allocations().end_write(call->object.uid);
        if (error.empty()) {
          parts.cluster_cache.wrote(call->object.uid, call->written);
          warn_about(*call);
          return check_still_held(call, done);
        }
        // kube-scheduler goes on without the scores of a prioritize that failed, so what is held
        // stays held.
        if (call->verb != Verb::prioritize) {
          parts.event_queue.put_reply(core::BindFailed{call->object.uid});
        }
        done("update pod annotation failed: " + error);
      }));
}

void PreAllocationWriter::warn_about(const NodesCall& call) const {
  const core::NodeSpec* node = context_.shared().cluster_cache.nodes().find(call.held->node);
  const auto cards = node == nullptr ? std::nullopt : core::by_position(call.held->cards, *node);
  if (!cards || context_.options().mode != Mode::single_node || !core::names_cards(*cards)) return;
  const std::string downgraded = core::topology_note(call.spec, *node, *cards);
  const std::string ambiguous = core::model_note(call.spec, *node, *cards);
  if (!downgraded.empty()) {
    context_.warn(call, kube::EventReason::topology_downgraded, downgraded);
  }
  if (!ambiguous.empty()) context_.warn(call, kube::EventReason::ambiguous_model, ambiguous);
}

// The write may have taken seconds. If this replica lost the lead or the node lost the cards
// meanwhile, the cards were given up, and other pods may have them already.
void PreAllocationWriter::check_still_held(const NodesCallPtr& call, Done done) {
  if (context_.shared().event_queue.closed()) {
    return done("this replica or its configuration was replaced meanwhile; try again");
  }
  context_.on_engine(
      call,
      [](NodesCall& on, const scheduler::EventQueue::EngineAccess& access) {
        on.still_held = access.engine.holds(on.object.uid, *on.held);
      },
      [this, done = std::move(done)](const NodesCallPtr& checked) {
        if (!checked->still_held) {
          return done("the hold on the cards ended while they were being written; try again");
        }
        ExternalPod& external = external_pods_.find_or_add(checked->object.uid);
        external.held_on = checked->held->node;
        external.decided = checked->decided;
        done({});
      });
}

}  // namespace stowage::extender
