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

// kube-scheduler may bind as soon as it has the answer, so the write is fenced as a bind is.
void PreAllocationWriter::write(const NodesCallPtr& call, Done done) {
  // Two calls of one pod may have been in the engine at once, as when kube-scheduler restarts while
  // its first one waits for a leader.
  if (writing(call->object.uid)) {
    return done("an earlier answer is still being written to the pod; try again");
  }
  const auto& shared = context_.shared();
  const core::CardPlacement& place = *call->held;
  const core::NodeSpec* node = shared.cluster_cache.nodes().find(place.node);
  const auto cards = node == nullptr ? std::nullopt : core::by_position(place.cards, *node);
  if (!cards) {
    shared.event_queue.put_reply(core::BindFailed{call->object.uid});
    return done(fmt::format("node {} was deleted, or lost cards", place.node));
  }
  dialect::Annotations annotations = annotations_for(*call, *node, *cards);
  std::string downgraded;
  std::string ambiguous;
  if (context_.options().mode == Mode::single_node && core::names_cards(*cards)) {
    downgraded = core::topology_note(call->spec, *node, *cards);
    ambiguous = core::model_note(call->spec, *node, *cards);
  }
  const codec::MetadataRequest patch{.uid = call->object.uid,
                                     .annotations = annotations,
                                     .labels = {},
                                     .resource_version = {},
                                     .remove = outdated(call->object, annotations)};
  // One at a time: an older write must neither replace a newer one nor undo its hold.
  writing_.insert(call->object.uid);
  shared.pods.write_fenced(
      {.ns = call->object.ns, .name = call->object.name}, patch,
      context_.while_alive([this, call, downgraded, ambiguous, written = std::move(annotations),
                            done = std::move(done)](const std::string& error) {
        writing_.erase(call->object.uid);
        if (error.empty()) {
          context_.shared().cluster_cache.wrote(call->object.uid, written);
          if (!downgraded.empty())
            context_.warn(*call, kube::EventReason::topology_downgraded, downgraded);
          if (!ambiguous.empty())
            context_.warn(*call, kube::EventReason::ambiguous_model, ambiguous);
          return check_still_held(call, done);
        }
        // kube-scheduler goes on without the scores of a prioritize that failed, so what is held
        // stays held.
        if (call->verb != Verb::prioritize) {
          context_.shared().event_queue.put_reply(core::BindFailed{call->object.uid});
        }
        done("update pod annotation failed: " + error);
      }));
}

// The write may have taken seconds. If this replica lost the lead or the node lost the cards
// meanwhile, the cards were given up, and other pods may have them already.
void PreAllocationWriter::check_still_held(const NodesCallPtr& call, Done done) {
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
