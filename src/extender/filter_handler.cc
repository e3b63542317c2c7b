#include "extender/filter_handler.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/engine/engine.h"
#include "core/explain/condition.h"
#include "core/explain/render.h"
#include "dialect/dialect.h"
#include "extender/reason_texts.h"
#include "extender/template_nodes.h"

namespace stowage::extender {

void FilterHandler::send_error(const FilterCall& call, const std::string& error) {
  codec::FilterResult result;
  result.error = error;
  context_.send_json(call, codec::encode(result), false);
}

// Answers all nodes, for a pod that is not ours to place.
void FilterHandler::pass(const FilterCall& call) {
  codec::FilterResult result;
  std::vector<std::string_view> list;
  if (call.args.node_names) {
    list.assign(call.ask.nodes.begin(), call.ask.nodes.end());
    result.node_names = &list;
  } else {
    for (const auto& node : *call.args.nodes) list.push_back(node.json);
    result.nodes = &list;
  }
  context_.send_json(call, codec::encode(result));
}

void FilterHandler::handle(Call request) {
  auto call = std::make_shared<FilterCall>(std::move(request));
  const bool dry = call->verb == Verb::dry_run;
  if (auto read = read_args(context_, *call); !read) {
    return send_error(*call, read.error().message);
  }
  if (auto read = context_.read_spec(*call); !read) {
    if (!dry) report_refusal(*call, read.error().message);
    return send_error(*call, read.error().message);
  }
  const ExtenderOptions& options = context_.options();
  if (!places(options, call->spec)) return pass(*call);
  auto& pre_allocations = context_.shared().cluster_cache.pre_allocations();
  if (!dry && pre_allocations.being_written(call->object.uid)) {
    return send_error(*call, std::string(kBeingWritten));
  }
  const bool single = options.mode == Mode::single_node;
  const bool one = single || options.mode == Mode::choose;
  call->ask.pod = call->spec;
  call->ask.keep = dry ? core::HoldMode::nothing : one ? core::HoldMode::one : core::HoldMode::hold;
  if (single && !dry && !prefer_pre_allocated(*call)) return;
  if (!dry) {  // ends what was kept for the pod by an earlier filter
    context_.shared().reaper.forget(call->object.uid);
    pre_allocations.asked_again(call->object.uid);
  }
  context_.on_engine(
      std::move(call),
      [hold = hold_time(options)](FilterCall& on,
                                  const scheduler::EventQueue::EngineAccess& access) {
        on.ask.until = hold_until(hold, access.now);
        on.answer = access.engine.filter(on.ask, access.now, access.out);
        on.held = on.answer.held;
      },
      [this](const FilterCallPtr& done) { filtered(done); });
}

// A pod with a pre-allocation gets its node again, if that node is asked about. If not, a vgpu pod
// gets an error: then this is answered, and false.
bool FilterHandler::prefer_pre_allocated(FilterCall& call) {
  auto& cache = context_.shared().cluster_cache;
  const auto pre_allocated = dialect::pre_allocated_node(call.object);
  if (!pre_allocated || !cache.signatures().trusts_pre_allocation(call.object)) return true;
  const auto& names = call.ask.nodes;
  if (std::find(names.begin(), names.end(), *pre_allocated) != names.end()) {
    call.ask.prefer = *pre_allocated;
    return true;
  }
  if (call.dialect != "vgpu") return true;
  const core::NodeSpec* node = cache.nodes().find(*pre_allocated);
  if (node != nullptr) {
    const std::int64_t now = context_.unix_nanos();
    const auto pre_allocation = dialect::read_pre_allocation(
        {.object = call.object, .pod = call.spec, .node = *node, .unix_nanos = now});
    const std::int64_t fresh = now - std::chrono::nanoseconds(context_.options().hold).count();
    // kube-scheduler asks again, so it will not bind by one that is broken or that old.
    if (!pre_allocation || pre_allocation->broken || pre_allocation->made_unix_nanos <= fresh)
      return true;
  }
  send_error(call, fmt::format("pod {} had been predicated", call.object.uid));
  return false;
}

void FilterHandler::filtered(const FilterCallPtr& call) {
  if (!call->answer.binding_to.empty()) {
    return send_error(*call, fmt::format("pod {}/{} is being bound to node {}", call->object.ns,
                                         call->object.name, call->answer.binding_to));
  }
  if (call->verb == Verb::dry_run) {
    if (call->args.nodes) judge_template_nodes(call->spec, *call->args.nodes, call->answer);
    return answer(*call);
  }
  ExternalPod& external = parts_.external_pods.find_or_add(call->object.uid);
  external.object = call->object;
  dialect::shed(external.object);
  external.spec = call->spec;
  external.dialect = call->dialect;
  external.held_on.clear();
  external.decided = 0;
  const bool fits = !call->answer.fits.empty();
  const bool bound_elsewhere = !hold_time(context_.options());
  if (bound_elsewhere && !parts_.writer.keep_until_bound(*call, fits)) {
    return send_error(*call, "this replica no longer leads; try again");
  }
  if (!fits) return refused(*call, external);
  external.told.clear();
  parts_.waker.unwatch(external);
  if (!bound_elsewhere) return answer(*call);
  parts_.writer.write(call, [this, call](const std::string& error) {
    error.empty() ? answer(*call) : send_error(*call, error);
  });
}

void FilterHandler::refused(const FilterCall& call, ExternalPod& external) {
  ++context_.count(Verb::filter).refused;
  parts_.waker.watch(external);
  const core::Refusal& refusal = call.answer.refusal;
  if (refusal.nodes > 0) report_refusal(call, core::sentence(refusal));
  const bool unknown = std::any_of(call.answer.refused.begin(), call.answer.refused.end(),
                                   [](const auto& node) { return node.unknown; });
  if (context_.options().error_if_no_node_helps && !unknown && refusal.nodes > 0 &&
      core::condition_reason(refusal) != core::ConditionReason::unschedulable) {
    return send_error(call, no_node_helps(call.dialect, refusal));
  }
  answer(call);
}

// Records an event about the refusal, unless it is the one that was reported last.
void FilterHandler::report_refusal(const FilterCall& call, const std::string& text) {
  ExternalPod& external = parts_.external_pods.find_or_add(call.object.uid);
  if (external.object.uid.empty()) {
    external.object = call.object;
    dialect::shed(external.object);
  }
  if (external.told == text) return;
  external.told = text;
  context_.warn(call, kube::EventReason::filtering_failed, text);
}

void FilterHandler::answer(const FilterCall& call) {
  const bool full = !call.args.node_names;
  std::vector<std::string_view> list;
  list.reserve(call.answer.fits.size());
  for (const auto position : call.answer.fits) {
    list.push_back(full ? (*call.args.nodes)[position].json
                        : std::string_view(call.ask.nodes[position]));
  }
  codec::FilterResult result;
  (full ? result.nodes : result.node_names) = &list;
  const std::string& uid = call.object.uid;
  std::array<std::string, core::kReasonCodes> phrases;  // each made once
  const std::string unknown = unknown_node_phrase(call.dialect);
  result.failed.reserve(call.answer.refused.size());
  for (const auto& refused : call.answer.refused) {
    // In choose mode, nodes that fit but are not the best get no text: it would cost more than all
    // the rest.
    const bool fits = refused.reason.code == core::ReasonCode::none && !refused.unknown;
    if (fits && context_.options().mode == Mode::choose) continue;
    std::string& phrase = phrases[static_cast<std::size_t>(refused.reason.code)];
    if (phrase.empty() && !refused.unknown) {
      phrase = refused.reason.code == core::ReasonCode::none
                   ? other_node_phrase(call.dialect, uid)
                   : short_phrase(call.dialect, refused.reason.code, uid);
    }
    result.failed.emplace_back(call.ask.nodes[refused.node], refused.unknown ? unknown : phrase);
  }
  // kube-scheduler cannot free shares of cards by evicting pods: its dry run does not ask us. A
  // node that only we refuse would make it try, and fail with a confusing text.
  result.unresolvable = result.failed;
  context_.send_json(call, codec::encode(result));
}

}  // namespace stowage::extender
