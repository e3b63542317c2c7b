// What an extender in singleNode or count mode writes on a pod before it answers: kube-scheduler
// may bind the pod by the answer up to 11 minutes later, and the next leader has to know what is
// held for it.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/engine/engine.h"
#include "core/explain/model_note.h"
#include "core/explain/topology_note.h"
#include "dialect/dialect.h"
#include "extender/call.h"

namespace stowage::extender {
namespace {

// Annotations of an earlier promise that the new one does not replace.
std::vector<std::string> outdated(const dialect::PodObject& pod,
                                  const dialect::Annotations& written) {
  std::vector<std::string> keys = dialect::promise_annotations(pod);
  // kube-scheduler may have sent the pod as it was before that promise.
  for (const std::string_view key :
       {dialect::kGpusAnnotation, dialect::kPreAllocatedNodeAnnotation}) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.emplace_back(key);
  }
  std::erase_if(keys, [&](const std::string& key) { return written.contains(key); });
  return keys;
}

}  // namespace

// The engine keeps what it chose until it is told. False: this is not to be answered, since it was
// asked after it had let go of everything.
bool Extender::keep_until_bound(const CallPtr& call, bool fits) {
  const dialect::PodObject& pod = call->object;
  if (ends_.leads && !ends_.leads()) {
    ends_.shared.mailbox.put_reply(core::HoldEnded{pod.uid});
    return false;
  }
  // What it was promised before, and is not any more, has to be taken off it.
  if (!fits && !dialect::promised_node(pod)) return true;
  call->decided = ends_.shared.roster.decision_clock().next(pod);
  const auto now = ends_.shared.loop.now();
  const auto& held = call->held ? call->held : call->answer.held;
  ends_.shared.promises.made({.uid = pod.uid,
                              .pod = {.ns = pod.ns, .name = pod.name},
                              .made = call->decided,
                              .until = fits ? now + options_.bind_limit : now,
                              .refused_before = pod.unscheduled_since,
                              .node = held ? held->node : std::string()});
  return true;
}

// The cards where they are named, and the node: where the pod's dialect has no annotation for it,
// in ours.
dialect::Annotations Extender::promise_text(const Call& call, const core::NodeSpec& node,
                                            const core::Assignment& cards) const {
  dialect::Annotations text;
  if (core::names_cards(cards) && options_.mode != Mode::count) {
    text = dialect::answer({.object = call.object,
                            .pod = call.spec,
                            .node = node,
                            .cards = cards,
                            .unix_nanos = call.decided})
               .annotations;
  }
  dialect::PodObject after = call.object;  // as it will be
  for (const auto& key : dialect::promise_annotations(after)) after.annotations.erase(key);
  for (const auto& [key, value] : text) after.annotations[key] = value;
  if (!dialect::promised_node(after)) {
    text.emplace(dialect::kPreAllocatedNodeAnnotation, node.name);
  }
  ends_.shared.roster.signatures().seal({.object = after,
                                         .node = node.name,
                                         .purpose = dialect::Purpose::promise,
                                         .unix_nanos = call.decided},
                                        text);
  return text;
}

// The promise is on the pod before kube-scheduler hears of the node: it may bind at once. So that
// writing is fenced as a bind is.
void Extender::write_then_answer(const CallPtr& call) {
  const core::Place& place = *call->held;
  const core::NodeSpec* node = ends_.shared.roster.nodes().find(place.node);
  const auto cards = node == nullptr ? std::nullopt : core::by_position(place.cards, *node);
  if (!cards) {
    ends_.shared.mailbox.put_reply(core::BindFailed{call->object.uid});
    return promise_failed(call, fmt::format("node {} has gone, or has lost cards", place.node));
  }
  dialect::Annotations text = promise_text(*call, *node, *cards);
  std::string downgraded;
  std::string loose;
  if (options_.mode == Mode::single_node && core::names_cards(*cards)) {
    downgraded = core::topology_note(call->spec, *node, *cards);
    loose = core::model_note(call->spec, *node, *cards);
  }
  const codec::MetadataAsk patch{.uid = call->object.uid,
                                 .annotations = text,
                                 .labels = {},
                                 .resource_version = {},
                                 .remove = outdated(call->object, text)};
  // One at a time: an older write must neither replace a newer one nor undo its hold.
  writing_.insert(call->object.uid);
  ends_.shared.pods.write_fenced(
      {.ns = call->object.ns, .name = call->object.name}, patch,
      [this, alive = alive_, call, downgraded, loose,
       written = std::move(text)](const std::string& error) {
        if (!*alive) return;
        writing_.erase(call->object.uid);
        if (error.empty()) {
          ends_.shared.roster.wrote(call->object.uid, written);
          if (!downgraded.empty()) warn(call, "TopologyDowngraded", downgraded);
          if (!loose.empty()) warn(call, "ModelMatch", loose);
          return promise_written(call);
        }
        // After prioritize kube-scheduler goes on without our scores: what is held stays held.
        if (call->verb != Verb::prioritize) {
          ends_.shared.mailbox.put_reply(core::BindFailed{call->object.uid});
        }
        promise_failed(call, "update pod annotation failed: " + error);
      });
}

// The writing may have taken seconds, and the cards may have been given up meanwhile: we led no
// longer, or the node has lost them. Then others may have them already, whatever the pod says.
void Extender::promise_written(const CallPtr& call) {
  on_engine(
      call,
      [](Call& on, const scheduler::Mailbox::Hearing& hearing) {
        on.still_held = hearing.engine.holds(on.object.uid, *on.held);
      },
      [this](const CallPtr& done) {
        if (!done->still_held) {
          return promise_failed(done, "the cards were given up while they were written; ask again");
        }
        Guest& guest = guests_.visit(done->object.uid);
        guest.held_on = done->held->node;
        guest.decided = done->decided;
        done->verb == Verb::prioritize ? answer_scores(done) : answer_filter(done);
      });
}

// kube-scheduler goes on without the scores of an extender that fails.
void Extender::promise_failed(const CallPtr& call, const std::string& error) {
  call->verb == Verb::prioritize ? send_text(call, 503, error + "\n") : filter_error(call, error);
}

}  // namespace stowage::extender
