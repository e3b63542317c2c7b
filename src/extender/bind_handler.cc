#include "extender/bind_handler.h"

#include <utility>

#include <fmt/format.h>

#include "core/engine/engine.h"
#include "core/explain/model_note.h"
#include "core/explain/render.h"
#include "core/explain/topology_note.h"
#include "extender/reason_texts.h"

namespace stowage::extender {

void BindHandler::answer(const BindCall& call, const std::string& error) {
  context_.send_json(call, codec::encode_binding_result(error), error.empty());
}

void BindHandler::handle(Call request) {
  auto call = std::make_shared<BindCall>(std::move(request));
  auto args = context_.decoder().binding(call->request.http.body);
  if (!args) return answer(*call, "cannot read the request: " + args.error().message);
  call->binding = std::move(*args);
  const codec::BindingArgs& ask = call->binding;
  if (ask.node.empty()) return answer(*call, "ExtenderBindingArgs.Node cannot be empty");
  if (ask.pod_name.empty() || ask.pod_namespace.empty() || ask.pod_uid.empty()) {
    return answer(*call, "PodName, PodNamespace and PodUID must be set");
  }
  if (const std::string why = context_.not_ready(); !why.empty()) return answer(*call, why);
  // The pod as kube-scheduler sent it to filter; if that is not known, the API server is asked.
  const ExternalPod* external = external_pods_.find(ask.pod_uid);
  const std::string name = ask.pod_namespace + "/" + ask.pod_name;
  const bool same_pod = context_.shared().cluster_cache.pods().uid_of(name) == ask.pod_uid;
  const bool fresh = external != nullptr && external->object.ns == ask.pod_namespace &&
                     external->object.name == ask.pod_name &&
                     context_.options().mode != Mode::single_node;
  if (!fresh || !same_pod) return read_pod(call);
  call->object = external->object;
  reserve(call);
}

void BindHandler::read_pod(const BindCallPtr& call) {
  context_.shared().pods.read(
      {.ns = call->binding.pod_namespace, .name = call->binding.pod_name},
      context_.while_alive([this, call](
                               tl::expected<dialect::PodObject, kube::PodAccess::ReadError> pod) {
        if (!pod && pod.error().absent) {
          return answer(*call, fmt::format("pods \"{}\" not found", call->binding.pod_name));
        }
        if (!pod) return answer(*call, pod.error().message);
        if (pod->uid != call->binding.pod_uid) {
          return answer(*call, uids_differ({.elastic_messages = context_.options().elastic_messages,
                                            .ns = pod->ns,
                                            .name = pod->name,
                                            .real = pod->uid,
                                            .given = call->binding.pod_uid}));
        }
        call->object = std::move(*pod);
        reserve(call);
      }));
}

// What in the pod itself forbids this bind; empty if nothing.
std::string BindHandler::obstacle(const BindCall& call) const {
  const dialect::PodObject& pod = call.object;
  const std::string& node = call.binding.node;
  if (pod.ended() || pod.deleting) {
    return fmt::format("pod {}/{} already deleted or completed", pod.ns, pod.name);
  }
  if (!pod.node.empty() && pod.node != node) {
    return fmt::format("pod {}/{} is on node {} already", pod.ns, pod.name, pod.node);
  }
  if (context_.options().mode != Mode::single_node) return {};
  const auto phase = pod.constraints.labels.find("nvidia.com/assigned-phase");
  if (phase != pod.constraints.labels.end() && phase->second == "failed") {
    return fmt::format("device pre allocation check failed, unable to bind to node \"{}\"", node);
  }
  const auto pre_allocated = dialect::pre_allocated_node(pod);
  if (pre_allocated && *pre_allocated != node) {
    return fmt::format("predicate node \"{}\" does not match the bound node \"{}\"", *pre_allocated,
                       node);
  }
  return {};
}

void BindHandler::reserve(const BindCallPtr& call) {
  if (const std::string why = obstacle(*call); !why.empty()) return answer(*call, why);
  if (call->object.node == call->binding.node) return answer(*call, "");  // bound already
  if (auto read = context_.read_spec(*call); !read) return answer(*call, read.error().message);
  // From here on the bind decides when the cards are released.
  context_.shared().reaper.forget(call->object.uid);
  context_.on_engine(
      call,
      [](BindCall& on, const scheduler::EventQueue::EngineAccess& access) {
        on.reserve = access.engine.reserve({.pod = on.spec, .node = on.binding.node}, access.now,
                                           access.out);
      },
      [this](const BindCallPtr& done) { reserved(done); });
}

void BindHandler::reserved(const BindCallPtr& call) {
  const core::ReserveAnswer& reserve = call->reserve;
  const std::string& target = call->binding.node;
  const std::string who = call->object.ns + "/" + call->object.name;
  if (!reserve.bound_to.empty()) {
    const bool same = reserve.bound_to == target;
    return answer(
        *call, same ? "" : fmt::format("pod {} is being bound to node {}", who, reserve.bound_to));
  }
  if (!reserve.place) {
    const std::string why =
        reserve.unknown ? unknown_node_phrase(call->dialect) : core::render(reserve.reason);
    return answer(*call, fmt::format("cannot bind pod {} to node {}: {}", who, target, why));
  }
  if (reserve.again) {
    return answer(*call, fmt::format("pod {} is being bound to node {}", who, target));
  }
  const core::NodeSpec* node = context_.shared().cluster_cache.nodes().find(target);
  const auto cards =
      node == nullptr ? std::nullopt : core::by_position(reserve.place->cards, *node);
  if (!cards) {
    context_.shared().event_queue.put_reply(core::BindFailed{call->object.uid});
    return answer(*call, fmt::format("node {} was deleted, or lost cards", target));
  }
  bind(call, *node, *cards);
}

// What the pod gets with its binding, signed; nothing if the cards are not named.
dialect::Answer BindHandler::annotations_for(const BindCall& call, const core::NodeSpec& node,
                                             const core::Assignment& cards) {
  if (!core::names_cards(cards) || context_.options().mode == Mode::count) return {};
  auto& cache = context_.shared().cluster_cache;
  // A pre-allocation was decided at filter. The time is not read from the pod, since its author may
  // have written that.
  const ExternalPod* external = external_pods_.find(call.object.uid);
  const bool pre_allocated = call.reserve.held && external != nullptr && external->decided != 0;
  const std::int64_t decided =
      pre_allocated ? external->decided : cache.decision_clock().next(call.object);
  dialect::Answer answer = dialect::answer({.object = call.object,
                                            .pod = call.spec,
                                            .node = node,
                                            .cards = cards,
                                            .unix_nanos = decided});
  cache.signatures().seal({.object = call.object, .node = call.binding.node, .unix_nanos = decided},
                          answer.annotations);
  return answer;
}

void BindHandler::bind(const BindCallPtr& call, const core::NodeSpec& node,
                       const core::Assignment& cards) {
  dialect::Answer written = annotations_for(*call, node, cards);
  // In single-node mode these were recorded when the cards were chosen.
  std::string warning;
  std::string model_note;
  const Mode mode = context_.options().mode;
  if (mode == Mode::bind || mode == Mode::choose) {
    warning = core::topology_note(call->spec, node, cards);
    model_note = core::model_note(call->spec, node, cards);
  }
  context_.shared().command_executor.bind_external(
      {.ask = {.ns = call->object.ns,
               .name = call->object.name,
               .uid = call->object.uid,
               .node = call->binding.node,
               .annotations = std::move(written.annotations)},
       .labels = std::move(written.labels),
       .warning = std::move(warning),
       .model_note = std::move(model_note),
       .done = context_.while_alive([this, call](const std::string& error) {
         if (error.empty()) external_pods_.forget(call->object.uid);
         answer(*call, error);
       })});
}

}  // namespace stowage::extender
