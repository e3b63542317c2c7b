#include "scheduler/command_executor.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "codec/picker.h"
#include "core/explain/model_note.h"
#include "core/explain/render.h"
#include "core/explain/topology_note.h"
#include "dialect/dialect.h"

namespace stowage::scheduler {
namespace {

constexpr std::chrono::seconds kPauseAfterUnknown{2};
constexpr std::size_t kFoundBeforeMax = 1000;
constexpr const char* kNotLeading = "this replica no longer leads; try again";

}  // namespace

CommandExecutor::CommandExecutor(const Options& options, Deps deps)
    : deps_(std::move(deps)),
      evictor_({.cluster_cache = deps_.cluster_cache,
                .event_queue = deps_.event_queue,
                .objects = deps_.objects,
                .recorder = deps_.recorder,
                .log = deps_.log,
                .wall_clock = deps_.wall_clock}),
      nominator_({.cluster_cache = deps_.cluster_cache,
                  .objects = deps_.objects,
                  .recorder = deps_.recorder,
                  .log = deps_.log}),
      claims_(options.claims, {.objects = deps_.objects,
                               .loop = deps_.loop,
                               .claim = deps_.claim,
                               .pod_waits =
                                   [this](const std::string& uid) {
                                     return deps_.cluster_cache.pods().pending(uid) != nullptr;
                                   },
                               .node_there =
                                   [this](const std::string& name) {
                                     return deps_.cluster_cache.nodes().find(name) != nullptr;
                                   },
                               .on_number = deps_.on_claims_waiting}),
      alive_(std::make_shared<bool>(true)) {
  for (std::size_t i = 0; i < options.profiles.size(); ++i) {
    const Profile& profile = options.profiles[i];
    if (!profile.picker) continue;
    pickers_.emplace(
        static_cast<std::uint32_t>(i),
        std::make_unique<Picker>(deps_.loop, *profile.picker, profile.name, deps_.log));
  }
}

CommandExecutor::~CommandExecutor() { *alive_ = false; }

void CommandExecutor::stand_down() {
  leads_ = false;
  *alive_ = false;  // for all callbacks of requests under way
  alive_ = std::make_shared<bool>(true);
  pauses_.clear();
  deps_.binder.end_term();
  deps_.pods.end_term();
  evictor_.stand_down();
  claims_.forget_all();
  deps_.cluster_cache.stand_down();
}

void CommandExecutor::lead() {
  leads_ = true;
  for (const auto& [key, notice] : std::exchange(found_before_, {})) {
    const std::string& uid = notice.uid;
    if (deps_.cluster_cache.pods().name_of(uid).empty()) continue;
    const bool refused =
        notice.kind == Notice::Kind::invalid || notice.kind == Notice::Kind::unsupported;
    // The pod was bound meanwhile, or changed so that it can be placed.
    if (refused && (deps_.cluster_cache.pods().preemption_info(uid) != nullptr ||
                    deps_.cluster_cache.pods().pending(uid) != nullptr)) {
      continue;
    }
    report(notice);
  }
}

void CommandExecutor::execute(const core::Commands& commands) {
  if (!leads_) return;
  for (const auto& command : commands) {
    std::visit([this](const auto& c) { execute(c); }, command);
  }
}

void CommandExecutor::execute(const core::Bind& bind_command) {
  const PendingPod* pod = deps_.cluster_cache.pods().pending(bind_command.uid);
  if (pod == nullptr) return;  // it is deleted or bound: the engine gets that event
  const std::int64_t decided = deps_.cluster_cache.decision_clock().next(pod->object);
  if (bind_command.claims.empty()) return bind_pod(bind_command, decided);
  claims_.bind({.uid = bind_command.uid, .node = bind_command.node, .claims = bind_command.claims},
               [this, bind_command, decided](const std::string& error) {
                 if (error.empty()) return bind_pod(bind_command, decided);
                 claims_failed(bind_command, error);
               });
}

void CommandExecutor::claims_failed(const core::Bind& bind_command, const std::string& why) {
  deps_.event_queue.put_reply(core::BindFailed{bind_command.uid});
  const PendingPod* pod = deps_.cluster_cache.pods().pending(bind_command.uid);
  if (pod == nullptr) return;
  const dialect::PodObject& object = pod->object;
  const Name name{.ns = object.ns, .name = object.name, .uid = object.uid};
  deps_.log.warn("volumes not bound",
                 {{"pod", name.text()}, {"node", bind_command.node}, {"why", why}});
  record(name, kube::EventType::warning, kube::EventReason::failed_scheduling,
         fmt::format("the volumes of the pod could not be bound for node {}: {}", bind_command.node,
                     why));
}

void CommandExecutor::execute(const core::AskPicker& ask) {
  const auto answer = [this, uid = ask.uid, generation = ask.generation](const std::string& node) {
    deps_.event_queue.put_reply(core::Picked{.uid = uid, .generation = generation, .node = node});
  };
  const PendingPod* pod = deps_.cluster_cache.pods().pending(ask.uid);
  if (pod == nullptr) return answer("");
  const auto picker = pickers_.find(pod->spec.profile);
  if (picker == pickers_.end()) return answer("");
  Picker::Question question{
      .json = codec::picker_question({.object = pod->object, .pod = pod->spec, .ask = ask}),
      .offered = {}};
  for (const auto& candidate : ask.candidates) question.offered.push_back(candidate.node);
  picker->second->ask(std::move(question), answer);
}

void CommandExecutor::execute(const core::CardConflict& conflict) {
  const std::string full = deps_.cluster_cache.pods().name_of(conflict.uid);
  if (full.empty()) return;
  ++counters_.conflicts;
  std::string with = deps_.cluster_cache.pods().name_of(conflict.with);
  if (with.empty()) with = conflict.with;
  deps_.log.warn("two pods were given one share of a card",
                 {{"pod", full},
                  {"node", conflict.node},
                  {"card", conflict.card},
                  {"stays", with},
                  {"evicted", conflict.evict ? "yes" : "no"}});
  const base::SplitName parts = base::split_name(full);
  record(
      {.ns = std::string(parts.ns), .name = std::string(parts.name), .uid = conflict.uid},
      kube::EventType::warning, kube::EventReason::card_conflict,
      fmt::format(
          "card {} of node {} cannot hold both this pod and {}, which {}; this pod {}",
          conflict.card, conflict.node,
          deps_.cluster_cache.pods().called({.uid = conflict.with, .reader = conflict.uid}),
          conflict.in_doubt ? "was given it at an unknown time" : "was given it earlier and stays",
          conflict.evict ? "is evicted" : "is not evicted: delete one of the two"));
  if (conflict.evict) evictor_.evict(conflict);
}

void CommandExecutor::bind_pod(const core::Bind& bind_command, std::int64_t decided) {
  const PendingPod* pod = deps_.cluster_cache.pods().pending(bind_command.uid);
  if (pod == nullptr) return;
  const core::NodeSpec* node = deps_.cluster_cache.nodes().find(bind_command.node);
  // The engine decides by the cards in its ledger; the node may have lost some since.
  const auto cards = node == nullptr ? std::nullopt : core::by_position(bind_command.cards, *node);
  if (!cards) return deps_.event_queue.put_reply(core::BindFailed{bind_command.uid});
  dialect::Answer answer = dialect::answer({.object = pod->object,
                                            .pod = pod->spec,
                                            .node = *node,
                                            .cards = *cards,
                                            .unix_nanos = decided});
  deps_.cluster_cache.signatures().seal(
      {.object = pod->object, .node = bind_command.node, .unix_nanos = decided},
      answer.annotations);
  kube::BindRequest ask{.ns = pod->object.ns,
                        .name = pod->object.name,
                        .uid = pod->object.uid,
                        .node = bind_command.node,
                        .annotations = std::move(answer.annotations)};
  deps_.conditions.forget(ask.uid);
  bind({.ask = std::move(ask),
        .labels = std::move(answer.labels),
        .warning = core::topology_note(pod->spec, *node, *cards),
        .model_note = core::model_note(pod->spec, *node, *cards)});
}

void CommandExecutor::bind_external(ExternalBind external) {
  if (!leads_) {
    // The request was answered after the engine had dropped its reservations: this one is newer.
    deps_.event_queue.put_reply(core::BindFailed{external.ask.uid});
    return external.done(kNotLeading);
  }
  deps_.cluster_cache.expect_pod(external.ask.uid, external.ask.ns + "/" + external.ask.name);
  bind({.ask = std::move(external.ask),
        .labels = std::move(external.labels),
        .warning = std::move(external.warning),
        .model_note = std::move(external.model_note),
        .on_done = std::move(external.done)});
}

void CommandExecutor::drop(BindTask& task) {
  if (task.on_done) std::exchange(task.on_done, nullptr)(kNotLeading);
}

// A binding does not merge labels, and readers expect them once the pod is bound. So labels are
// written first.
void CommandExecutor::bind(BindTask task) {
  if (task.labels.empty()) return send(std::move(task));
  codec::MetadataRequest patch{.uid = task.ask.uid, .annotations = {}, .labels = task.labels};
  // Read before the task is moved: the evaluation order of arguments is not fixed.
  kube::PodAccess::Name name{.ns = task.ask.ns, .name = task.ask.name};
  deps_.pods.write(
      std::move(name), patch,
      [this, alive = alive_, task = std::move(task)](const std::string& error) mutable {
        if (!*alive) return drop(task);
        if (error.empty()) return send(std::move(task));
        bind_ended(task, {.result = kube::BindResult::failed, .message = error});
      });
}

void CommandExecutor::send(BindTask task) {
  kube::BindRequest copy = task.ask;
  deps_.binder.bind(std::move(copy), [this, alive = alive_, task = std::move(task)](
                                         const kube::BindOutcome& outcome) mutable {
    if (!*alive) return drop(task);
    bind_ended(task, outcome);
  });
}

void CommandExecutor::bind_ended(BindTask& task, const kube::BindOutcome& outcome) {
  const kube::BindRequest& ask = task.ask;
  const bool external = task.on_done != nullptr || task.done_called;
  if (task.on_done) {
    const bool good = outcome.result == kube::BindResult::bound;
    std::exchange(task.on_done, nullptr)(good ? "" : outcome.message);
    task.done_called = true;
  }
  const Name pod{.ns = ask.ns, .name = ask.name, .uid = ask.uid};
  switch (outcome.result) {
    case kube::BindResult::bound:
      deps_.cluster_cache.wrote(ask.uid, ask.annotations);
      deps_.event_queue.put_reply(core::BindDone{ask.uid});
      if (deps_.log.enabled(base::LogLevel::debug)) {
        deps_.log.debug("pod bound", {{"pod", pod.text()}, {"node", ask.node}});
      }
      if (!task.warning.empty()) {
        record(pod, kube::EventType::warning, kube::EventReason::topology_downgraded, task.warning);
      }
      if (!task.model_note.empty()) {
        record(pod, kube::EventType::warning, kube::EventReason::ambiguous_model, task.model_note);
      }
      if (external) return;  // its scheduler reports it
      return record(pod, kube::EventType::normal, kube::EventReason::scheduled,
                    fmt::format("Successfully assigned {} to {}", pod.text(), ask.node));
    case kube::BindResult::gone:
      if (external) deps_.cluster_cache.remove_pod(ask.uid);
      return deps_.event_queue.put_reply(core::PodGone{ask.uid});
    case kube::BindResult::refused:
      deps_.event_queue.put_reply(core::BindFailed{ask.uid});
      deps_.log.warn("bind refused",
                     {{"pod", pod.text()}, {"node", ask.node}, {"why", outcome.message}});
      if (external) return;
      return record(pod, kube::EventType::warning, kube::EventReason::failed_scheduling,
                    "the bind was refused: " + outcome.message);
    case kube::BindResult::failed:
      deps_.log.warn("bind failed", {{"pod", pod.text()},
                                     {"node", ask.node},
                                     {"why", outcome.message},
                                     {"open", outcome.maybe_bound ? "yes" : "no"}});
      if (outcome.maybe_bound) return bind_again(std::move(task));
      return deps_.event_queue.put_reply(core::BindFailed{ask.uid});
  }
}

// The server may have bound the pod. Its cards stay reserved until that is known. Repeating the
// same bind is harmless.
void CommandExecutor::bind_again(BindTask task) {
  ++counters_.unknown;
  const std::uint64_t number = pause_count_++;
  net::Timer& timer = pauses_.emplace(number, net::Timer(deps_.loop)).first->second;
  timer.start(kPauseAfterUnknown, [this, number, task = std::move(task)]() mutable {
    BindTask again = std::move(task);
    pauses_.erase(number);
    // The watch has already reported the result to the engine.
    if (!again.done_called && deps_.cluster_cache.pods().pending(again.ask.uid) == nullptr) return;
    if (again.done_called && deps_.cluster_cache.pods().preemption_info(again.ask.uid) != nullptr)
      return;
    send(std::move(again));
  });
}

void CommandExecutor::execute(const core::Refuse& command) {
  const PendingPod* pod = deps_.cluster_cache.pods().pending(command.uid);
  if (pod == nullptr) return;
  if (!command.refusal.counts.empty()) {
    ++counters_.refused_by[core::to_string(command.refusal.counts.front().code)];
  }
  const dialect::PodObject& object = pod->object;
  refuse({.pod = {.ns = object.ns, .name = object.name, .uid = object.uid},
          .was_false = !object.unscheduled_reason.empty(),
          .condition = core::condition_reason(command.refusal),
          .message = core::sentence(command.refusal)});
}

void CommandExecutor::execute(const core::Reject& command) {
  const PendingPod* pod = deps_.cluster_cache.pods().pending(command.subject);
  if (pod == nullptr) {
    return deps_.log.warn("object ignored", {{"object", command.subject}, {"why", command.why}});
  }
  ++counters_.refused_by[kRejected];
  const dialect::PodObject& object = pod->object;
  refuse({.pod = {.ns = object.ns, .name = object.name, .uid = object.uid},
          .was_false = !object.unscheduled_reason.empty(),
          .condition = core::ConditionReason::invalid_request,
          .message = command.why});
}

void CommandExecutor::refuse(const Refused& refused) {
  ++counters_.refused;
  if (deps_.log.enabled(base::LogLevel::debug)) {
    deps_.log.debug("pod refused", {{"pod", refused.pod.text()}, {"why", refused.message}});
  }
  deps_.conditions.write({.ns = refused.pod.ns,
                          .name = refused.pod.name,
                          .uid = refused.pod.uid,
                          .reason = core::to_string(refused.condition),
                          .message = refused.message,
                          .was_false = refused.was_false});
  record(refused.pod, kube::EventType::warning, kube::EventReason::failed_scheduling,
         refused.message);
}

void CommandExecutor::record(const Name& pod, kube::EventType type, kube::EventReason reason,
                             std::string note) {
  const char* const action = reason == kube::EventReason::scheduled ? "Binding" : "Scheduling";
  deps_.recorder.record(
      {.regarding = {.kind = "Pod", .ns = pod.ns, .name = pod.name, .uid = pod.uid},
       .type = type,
       .reason = reason,
       .action = action,
       .note = std::move(note)});
}

CommandExecutor::Counters CommandExecutor::counters() const {
  Counters counters = counters_;
  counters.evictions = evictor_.counters();
  counters.nominations = nominator_.counters();
  counters.claims = claims_.counters();
  for (const auto& [number, picker] : pickers_) {
    counters.pickers.emplace(picker->profile(), picker->counters());
  }
  return counters;
}

void CommandExecutor::report(const Notice& notice) {
  const Name pod{.ns = notice.ns, .name = notice.name, .uid = notice.uid};
  using Kind = Notice::Kind;
  const bool to_people = notice.kind == Kind::invalid || notice.kind == Kind::unsupported ||
                         notice.kind == Kind::untrusted ||
                         notice.kind == Kind::annotation_mismatch ||
                         notice.kind == Kind::device_mismatch || notice.kind == Kind::unknown_key ||
                         notice.kind == Kind::ignored;
  if (to_people && !leads_) {  // the leader reports it, if there is one
    const bool waits = notice.kind == Kind::untrusted || notice.kind == Kind::invalid ||
                       notice.kind == Kind::unsupported;
    if (waits && found_before_.size() < kFoundBeforeMax) {
      found_before_.insert_or_assign({notice.uid, notice.kind}, notice);
    }
    return;
  }
  switch (notice.kind) {
    case Notice::Kind::invalid:
    case Notice::Kind::unsupported:
      ++counters_.refused_by[kRejected];
      return refuse({.pod = pod,
                     .was_false = notice.was_false,
                     .condition = notice.kind == Kind::invalid
                                      ? core::ConditionReason::invalid_request
                                      : core::ConditionReason::unsupported_rule,
                     .message = notice.text});
    case Notice::Kind::unknown_key:
      return record(pod, kube::EventType::warning, kube::EventReason::unknown_annotation,
                    notice.text);
    case Notice::Kind::ignored:
      return record(pod, kube::EventType::warning, kube::EventReason::no_scheduler, notice.text);
    case Notice::Kind::untrusted:
      deps_.log.warn("untrusted annotation ignored", {{"pod", pod.text()}});
      return record(pod, kube::EventType::warning, kube::EventReason::untrusted_annotation,
                    notice.text);
    case Notice::Kind::annotation_mismatch:
      deps_.log.warn("annotations of a bound pod were edited",
                     {{"pod", pod.text()}, {"why", notice.text}});
      return record(pod, kube::EventType::warning, kube::EventReason::annotation_mismatch,
                    notice.text);
    case Notice::Kind::unread_cards:
      return deps_.log.warn("cards of a bound pod are unknown",
                            {{"pod", pod.text()}, {"why", notice.text}});
    case Notice::Kind::unread_pod:
      return deps_.log.warn("bound pod cannot be read",
                            {{"pod", pod.text()}, {"why", notice.text}});
    case Notice::Kind::device_mismatch:
      deps_.log.warn("a pod has other cards than it was assigned",
                     {{"pod", pod.text()}, {"why", notice.text}});
      return record(pod, kube::EventType::warning, kube::EventReason::device_mismatch, notice.text);
    case Notice::Kind::node:
      return deps_.log.warn("node", {{"node", notice.name}, {"why", notice.text}});
  }
}

}  // namespace stowage::scheduler
