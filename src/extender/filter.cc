// filter, its dry run, and prioritize. promise.cc writes what was chosen on the pod.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "codec/kubernetes.h"
#include "core/engine/engine.h"
#include "core/explain/condition.h"
#include "core/explain/model_note.h"
#include "core/explain/render.h"
#include "core/explain/topology_note.h"
#include "dialect/dialect.h"
#include "extender/call.h"
#include "extender/words.h"

namespace stowage::extender {
namespace {

constexpr std::size_t kTemplatesMax = 256;  // of one dry run
constexpr int kTemplateSearch = 1024;       // steps of the search for cards on one of them
constexpr std::string_view kNoNodes =
    "the request names no nodes: neither NodeNames nor Nodes is set";
constexpr std::string_view kNoNodesElastic =
    "elastic-gpu-scheduler extender must be configured with nodeCacheCapable=true";

// Taken out of the request, which keeps an empty list where it had one.
std::vector<std::string> names_of(codec::ExtenderArgs& args) {
  if (args.node_names) return std::exchange(*args.node_names, {});
  std::vector<std::string> names;
  names.reserve(args.nodes->size());
  for (auto& node : *args.nodes) names.push_back(std::move(node.name));
  return names;
}

bool constrains_models(const core::PodSpec& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(), [](const auto& container) {
    return container.gpu.filter.constrains_models();
  });
}

Status validate_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxName = 253;
  for (const auto& name : names) {
    if (name.empty() || name.size() > kMaxName) {
      return fail(fmt::format("a node is named \"{}\"", name.substr(0, 32)));
    }
  }
  return {};
}

}  // namespace

void Extender::filter_error(const CallPtr& call, const std::string& error) {
  codec::FilterResult result;
  result.error = error;
  send_json(call, codec::encode(result), false);
}

bool Extender::open_args(const CallPtr& call) {
  const bool scoring = call->verb == Verb::prioritize;
  const auto refuse = [&](const std::string& why) {
    scoring ? send_text(call, 400, why + "\n") : filter_error(call, why);
    return false;
  };
  auto args = decoder_.args(call->request.http.body);
  if (!args) return refuse("cannot read the request: " + args.error().message);
  call->args = std::move(*args);
  if (!call->args.pod) return refuse("the request has no Pod");
  if (!call->args.node_names && !call->args.nodes) {
    const bool elastic = options_.preset == "elastic-gpu-scheduler";
    return refuse(std::string(elastic ? kNoNodesElastic : kNoNodes));
  }
  call->ask.nodes = names_of(call->args);
  if (auto valid = validate_names(call->ask.nodes); !valid) return refuse(valid.error().message);
  if (std::string why = ends_.not_ready(); !why.empty()) {
    return refuse("Stowage cannot answer yet: " + why);
  }
  return read_pod(call, std::move(*call->args.pod));
}

// The pod in the engine's terms, and what it asks for; false if that makes no sense, which has been
// answered then.
bool Extender::read_pod(const CallPtr& call, dialect::PodObject object) {
  if (object.uid.empty()) object.uid = object.ns + "/" + object.name;  // of a dry run, perhaps
  call->object = std::move(object);
  const Status read = read_spec(*call);
  if (read) return true;
  if (call->verb == Verb::filter) tell_refusal(call, read.error().message);
  if (call->verb == Verb::prioritize) {
    send_json(call, codec::encode_priorities({}));
  } else {
    filter_error(call, read.error().message);
  }
  return false;
}

// Pods without cards, and those that say nothing that this extender would look at.
bool Extender::not_ours(const Call& call) const {
  if (!core::asks_for_cards(call.spec)) return true;
  return options_.without_model_passes && !constrains_models(call.spec);
}

void Extender::pass(const CallPtr& call) {
  codec::FilterResult result;
  std::vector<std::string_view> list;
  if (call->args.node_names) {
    list.assign(call->ask.nodes.begin(), call->ask.nodes.end());
    result.node_names = &list;
  } else {
    for (const auto& node : *call->args.nodes) list.push_back(node.json);
    result.nodes = &list;
  }
  send_json(call, codec::encode(result));
}

// A pod that carries a promise of one node gets that node again. False if the promise is of a node
// that is not asked about, which is an error for some: it has been answered then.
bool Extender::keep_promise(const CallPtr& call) {
  const auto promised = dialect::promised_node(call->object);
  if (!promised || !ends_.shared.roster.signatures().believes_promise(call->object)) return true;
  const auto& names = call->ask.nodes;
  if (std::find(names.begin(), names.end(), *promised) != names.end()) {
    call->ask.prefer = *promised;
    return true;
  }
  if (call->dialect != "vgpu") return true;
  const core::NodeSpec* node = ends_.shared.roster.nodes().find(*promised);
  if (node != nullptr) {
    const std::int64_t now = unix_nanos();
    const auto promise = dialect::read_promise(
        {.object = call->object, .pod = call->spec, .node = *node, .unix_nanos = now});
    const std::int64_t fresh = now - std::chrono::nanoseconds(options_.hold).count();
    // Its scheduler asks anew, so it will not bind by one that is broken, or so old.
    if (!promise || promise->broken || promise->made_unix_nanos <= fresh) return true;
  }
  filter_error(call, fmt::format("pod {} had been predicated", call->object.uid));
  return false;
}

// Where kube-scheduler binds without asking us again, cards are kept for as long as it may do so.
std::optional<std::chrono::nanoseconds> Extender::hold_time() const {
  if (options_.mode == Mode::single_node || options_.mode == Mode::count) return std::nullopt;
  return options_.hold;
}

void Extender::filter(const CallPtr& call) {
  if (!open_args(call)) return;
  if (not_ours(*call)) return pass(call);
  const bool dry = call->verb == Verb::dry_run;
  if (!dry && writing_.contains(call->object.uid)) {
    return filter_error(call, "an earlier answer is still being written on the pod; ask again");
  }
  const bool single = options_.mode == Mode::single_node;
  call->ask.pod = call->spec;
  const bool one = single || options_.mode == Mode::choose;
  call->ask.keep = dry ? core::Keep::nothing : one ? core::Keep::one : core::Keep::hold;
  if (single && !dry && !keep_promise(call)) return;
  // Whatever was kept for it until now is not any more.
  if (!dry) {
    ends_.shared.promises.forget(call->object.uid);
    ends_.shared.roster.pre_allocations().asked_again(call->object.uid);
  }
  on_engine(
      call,
      [hold = hold_time()](Call& on, const scheduler::Mailbox::Hearing& hearing) {
        on.ask.until = hold ? base::Instant{hearing.now.ns + hold->count()} : core::kUntilTold;
        on.answer = hearing.engine.filter(on.ask, hearing.now, hearing.out);
      },
      [this](const CallPtr& done) { filtered(done); });
}

void Extender::filtered(const CallPtr& call) {
  if (!call->answer.binding_to.empty()) {
    return filter_error(call, fmt::format("pod {}/{} is on its way to node {}", call->object.ns,
                                          call->object.name, call->answer.binding_to));
  }
  if (call->verb == Verb::dry_run) {
    judge_templates(call);
    return answer_filter(call);
  }
  Guest& guest = guests_.visit(call->object.uid);
  guest.object = call->object;
  dialect::shed(guest.object);
  guest.spec = call->spec;
  guest.dialect = call->dialect;
  guest.held_on.clear();
  guest.decided = 0;
  if (!hold_time() && !keep_until_bound(call, !call->answer.fits.empty())) {
    return filter_error(call, "this replica does not lead any more; ask again");
  }
  if (call->answer.fits.empty()) {
    ++counters_.verbs[static_cast<std::size_t>(Verb::filter)].refused;
    look_again_later(guest);
    if (call->answer.refusal.nodes > 0) {
      tell_refusal(call, core::sentence(call->answer.refusal));
    }
    const bool unknown = std::any_of(call->answer.refused.begin(), call->answer.refused.end(),
                                     [](const auto& refused) { return refused.unknown; });
    if (options_.error_if_no_node_helps && !unknown && call->answer.refusal.nodes > 0 &&
        core::condition(call->answer.refusal) != core::Condition::unschedulable) {
      return filter_error(call, no_node_helps(call->dialect, call->answer.refusal));
    }
    return answer_filter(call);
  }
  guest.told.clear();
  guest.waits = false;
  if (hold_time()) return answer_filter(call);
  call->held = call->answer.held;
  write_then_answer(call);
}

void Extender::answer_filter(const CallPtr& call) {
  const bool full = !call->args.node_names;
  std::vector<std::string_view> list;
  list.reserve(call->answer.fits.size());
  for (const auto position : call->answer.fits) {
    list.push_back(full ? (*call->args.nodes)[position].json
                        : std::string_view(call->ask.nodes[position]));
  }
  codec::FilterResult result;
  (full ? result.nodes : result.node_names) = &list;
  const std::string& uid = call->object.uid;
  std::array<std::string, core::kReasonCodes> phrases;  // made once each
  const std::string unknown = unknown_node_phrase(call->dialect);
  result.failed.reserve(call->answer.refused.size());
  for (const auto& refused : call->answer.refused) {
    // That another node is better needs no words for each node: they would cost more than the rest.
    const bool fits = refused.reason.code == core::ReasonCode::none && !refused.unknown;
    if (fits && options_.mode == Mode::choose) continue;
    std::string& phrase = phrases[static_cast<std::size_t>(refused.reason.code)];
    if (phrase.empty() && !refused.unknown) {
      phrase = refused.reason.code == core::ReasonCode::none
                   ? other_node_phrase(call->dialect, uid)
                   : short_phrase(call->dialect, refused.reason.code, uid);
    }
    result.failed.emplace_back(call->ask.nodes[refused.node], refused.unknown ? unknown : phrase);
  }
  // kube-scheduler cannot make room for shares of cards by evicting pods: its dry run does not ask
  // us. A node that only we refuse would make it try, and fail with a confusing text.
  result.unresolvable = result.failed;
  send_json(call, codec::encode(result));
}

// Nodes that exist only in the request, as an autoscaler imagines them. They are judged on the
// loop's thread: there are few of them, and each is searched for a limited time. The others count
// as unknown.
void Extender::judge_templates(const CallPtr& call) const {
  if (!call->args.nodes) return;
  std::size_t judged = 0;
  codec::Decoder decoder;
  std::vector<core::FilterAnswer::Refused> still;
  for (auto& refused : call->answer.refused) {
    const bool judge = refused.unknown && ++judged <= kTemplatesMax;
    const auto node = judge ? decoder.node((*call->args.nodes)[refused.node].json)
                            : Result<dialect::NodeObject>(fail("not judged"));
    auto spec = node ? dialect::to_spec(*node) : Result<dialect::NodeReading>(fail("unread"));
    if (!spec) {
      still.push_back(refused);
      continue;
    }
    core::Engine alone({core::PolicyOptions{}}, {.search_per_event = kTemplateSearch});
    (void)alone.handle(core::NodeChanged{spec->node}, {});
    core::FilterAsk ask{.pod = call->spec, .nodes = {spec->node.name}, .keep = core::Keep::nothing};
    ask.pod.profile = 0;
    core::Commands none;
    const auto answer = alone.filter(ask, {}, none);
    if (!answer.fits.empty()) {
      call->answer.fits.push_back(refused.node);
    } else {
      refused.unknown = false;
      if (!answer.refused.empty()) refused.reason = answer.refused.front().reason;
      still.push_back(refused);
    }
  }
  call->answer.refused = std::move(still);
  std::sort(call->answer.fits.begin(), call->answer.fits.end());
}

void Extender::tell_refusal(const CallPtr& call, const std::string& text) {
  Guest& guest = guests_.visit(call->object.uid);
  if (guest.object.uid.empty()) {
    guest.object = call->object;
    dialect::shed(guest.object);
  }
  if (guest.told == text) return;
  guest.told = text;
  warn(call, "FilteringFailed", text);
}

void Extender::warn(const CallPtr& call, std::string reason, std::string note) {
  ends_.shared.recorder.record({.regarding = {.kind = "Pod",
                                              .ns = call->object.ns,
                                              .name = call->object.name,
                                              .uid = call->object.uid},
                                .type = kube::EventType::warning,
                                .reason = std::move(reason),
                                .action = "Filtering",
                                .note = std::move(note)});
}

void Extender::score_cpu_nodes(const CallPtr& call) {
  std::vector<codec::HostScore> scores;
  scores.reserve(call->ask.nodes.size());
  for (const auto& name : call->ask.nodes) {
    const core::NodeSpec* node = ends_.shared.roster.nodes().find(name);
    const bool without = options_.cpu_nodes_first && node != nullptr && node->cards.empty();
    scores.push_back({.host = name, .score = without ? 1 : 0});
  }
  send_json(call, codec::encode_priorities(scores));
}

void Extender::prioritize(const CallPtr& call) {
  if (!open_args(call)) return;
  if (not_ours(*call)) return score_cpu_nodes(call);
  if (options_.mode == Mode::single_node) {  // the node was chosen when it was filtered
    const Guest* guest = guests_.find(call->object.uid);
    for (const auto& name : call->ask.nodes) {
      call->scores.push_back(guest != nullptr && guest->held_on == name ? core::kMaxScore : 0);
    }
    return answer_scores(call);
  }
  call->ask.pod = call->spec;
  on_engine(
      call,
      [hold = hold_time()](Call& on, const scheduler::Mailbox::Hearing& hearing) {
        on.ask.until = hold ? base::Instant{hearing.now.ns + hold->count()} : core::kUntilTold;
        core::ScoreAnswer answer = hearing.engine.score(on.ask, hearing.now, hearing.out);
        on.scores = std::move(answer.scores);
        on.held = std::move(answer.held);
      },
      [this](const CallPtr& done) { scored(done); });
}

// The hold has followed the scores: where the pod says another node, it is written anew.
void Extender::scored(const CallPtr& call) {
  if (hold_time()) return answer_scores(call);
  if (!keep_until_bound(call, call->held.has_value())) {
    return promise_failed(call, "this replica does not lead any more; ask again");
  }
  const Guest* guest = guests_.find(call->object.uid);
  const bool written = call->held && guest != nullptr && guest->held_on == call->held->node;
  if (!call->held || written) return answer_scores(call);
  write_then_answer(call);
}

void Extender::answer_scores(const CallPtr& call) {
  std::vector<codec::HostScore> scores;
  scores.reserve(call->ask.nodes.size());
  for (std::size_t i = 0; i < call->ask.nodes.size(); ++i) {
    scores.push_back({.host = call->ask.nodes[i], .score = call->scores[i]});
  }
  send_json(call, codec::encode_priorities(scores));
}

}  // namespace stowage::extender
