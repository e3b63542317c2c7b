// bind: the cards are checked and reserved, written, and the pod is bound.
#include <utility>

#include <fmt/format.h>

#include "core/explain/model_note.h"
#include "core/explain/render.h"
#include "core/explain/topology_note.h"
#include "dialect/dialect.h"
#include "extender/call.h"
#include "extender/words.h"

namespace stowage::extender {

void Extender::bind_answer(const CallPtr& call, const std::string& error) {
  send_json(call, codec::encode_binding_result(error), error.empty());
}

void Extender::bind(const CallPtr& call) {
  auto args = decoder_.binding(call->request.http.body);
  if (!args) return bind_answer(call, "cannot read the request: " + args.error().message);
  call->binding = std::move(*args);
  const codec::BindingArgs& ask = call->binding;
  if (ask.node.empty()) return bind_answer(call, "ExtenderBindingArgs.Node cannot be empty");
  if (ask.pod_name.empty() || ask.pod_namespace.empty() || ask.pod_uid.empty()) {
    return bind_answer(call, "PodName, PodNamespace and PodUID must be set");
  }
  if (std::string why = ends_.not_ready(); !why.empty()) {
    return bind_answer(call, "Stowage cannot answer yet: " + why);
  }
  // What kube-scheduler said of the pod when it was filtered; else the API server is asked.
  const Guest* guest = guests_.find(ask.pod_uid);
  const std::string name = ask.pod_namespace + "/" + ask.pod_name;
  const bool same_pod = ends_.shared.roster.pods().uid_of(name) == ask.pod_uid;
  const bool fresh = guest != nullptr && guest->object.ns == ask.pod_namespace &&
                     guest->object.name == ask.pod_name && options_.mode != Mode::single_node;
  if (fresh && same_pod) {
    call->object = guest->object;
    return bind_known(call);
  }
  ends_.shared.pods.read(
      {.ns = ask.pod_namespace, .name = ask.pod_name},
      [this, alive = alive_,
       call](tl::expected<dialect::PodObject, kube::PodAccess::ReadError> pod) {
        if (!*alive) return;
        if (!pod && pod.error().absent) {
          return bind_answer(call, fmt::format("pods \"{}\" not found", call->binding.pod_name));
        }
        if (!pod) return bind_answer(call, pod.error().message);
        if (pod->uid != call->binding.pod_uid) {
          return bind_answer(call, uids_differ({.preset = options_.preset,
                                                .ns = pod->ns,
                                                .name = pod->name,
                                                .real = pod->uid,
                                                .given = call->binding.pod_uid}));
        }
        call->object = std::move(*pod);
        bind_known(call);
      });
}

// What in the pod itself forbids this bind; empty if nothing.
std::string Extender::bind_obstacle(const Call& call) const {
  const dialect::PodObject& pod = call.object;
  const std::string& node = call.binding.node;
  if (pod.ended() || pod.deleting) {
    return fmt::format("pod {}/{} already deleted or completed", pod.ns, pod.name);
  }
  if (!pod.node.empty() && pod.node != node) {
    return fmt::format("pod {}/{} is on node {} already", pod.ns, pod.name, pod.node);
  }
  if (options_.mode != Mode::single_node) return {};
  const auto phase = pod.around.labels.find("nvidia.com/assigned-phase");
  if (phase != pod.around.labels.end() && phase->second == "failed") {
    return fmt::format("device pre allocation check failed, unable to bind to node \"{}\"", node);
  }
  const auto promised = dialect::promised_node(pod);
  if (promised && *promised != node) {
    return fmt::format("predicate node \"{}\" does not match the bound node \"{}\"", *promised,
                       node);
  }
  return {};
}

void Extender::bind_known(const CallPtr& call) {
  if (std::string why = bind_obstacle(*call); !why.empty()) return bind_answer(call, why);
  if (call->object.node == call->binding.node) return bind_answer(call, "");  // done already
  if (auto read = read_spec(*call); !read) return bind_answer(call, read.error().message);
  ends_.shared.promises.forget(call->object.uid);  // what is claimed ends with its bind
  on_engine(
      call,
      [](Call& on, const scheduler::Mailbox::Hearing& hearing) {
        on.claim = hearing.engine.claim({.pod = on.spec, .node = on.binding.node}, hearing.now,
                                        hearing.out);
      },
      [this](const CallPtr& done) { claimed(done); });
}

void Extender::claimed(const CallPtr& call) {
  const std::string& target = call->binding.node;
  const std::string who = call->object.ns + "/" + call->object.name;
  if (!call->claim.bound_to.empty()) {
    const bool same = call->claim.bound_to == target;
    return bind_answer(
        call,
        same ? "" : fmt::format("pod {} is on its way to node {}", who, call->claim.bound_to));
  }
  if (!call->claim.place) {
    const std::string why =
        call->claim.unknown ? unknown_node_phrase(call->dialect) : core::render(call->claim.reason);
    return bind_answer(call, fmt::format("cannot bind pod {} to node {}: {}", who, target, why));
  }
  if (call->claim.again) {
    return bind_answer(call, fmt::format("pod {} is on its way to node {}", who, target));
  }
  const core::NodeSpec* node = ends_.shared.roster.nodes().find(target);
  const auto cards =
      node == nullptr ? std::nullopt : core::by_position(call->claim.place->cards, *node);
  if (!cards) {
    ends_.shared.mailbox.put_reply(core::BindFailed{call->object.uid});
    return bind_answer(call, fmt::format("node {} has gone, or has lost cards", target));
  }
  dialect::Answer answer;
  if (core::names_cards(*cards) && options_.mode != Mode::count) {
    // What was promised when it was filtered was decided then. Not by what stands on the pod: its
    // author may have written that.
    const Guest* guest = guests_.find(call->object.uid);
    const bool promised = call->claim.held && guest != nullptr && guest->decided != 0;
    const std::int64_t decided =
        promised ? guest->decided : ends_.shared.roster.decision_clock().next(call->object);
    answer = dialect::answer({.object = call->object,
                              .pod = call->spec,
                              .node = *node,
                              .cards = *cards,
                              .unix_nanos = decided});
    ends_.shared.roster.signatures().seal(
        {.object = call->object, .node = target, .unix_nanos = decided}, answer.annotations);
  }
  // In single-node mode it was told when the cards were chosen.
  std::string warning;
  std::string model_note;
  if (options_.mode == Mode::bind || options_.mode == Mode::choose) {
    warning = core::topology_note(call->spec, *node, *cards);
    model_note = core::model_note(call->spec, *node, *cards);
  }
  ends_.shared.outbox.bind_guest({.ask = {.ns = call->object.ns,
                                          .name = call->object.name,
                                          .uid = call->object.uid,
                                          .node = target,
                                          .annotations = std::move(answer.annotations)},
                                  .labels = std::move(answer.labels),
                                  .warning = std::move(warning),
                                  .model_note = std::move(model_note),
                                  .done = [this, alive = alive_, call](const std::string& error) {
                                    if (!*alive) return;
                                    if (error.empty()) guests_.forget(call->object.uid);
                                    bind_answer(call, error);
                                  }});
}

}  // namespace stowage::extender
