#include "scheduler/outbox.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "codec/picker.h"
#include "core/explain/model_note.h"
#include "core/explain/render.h"
#include "core/explain/topology_note.h"
#include "dialect/dialect.h"

namespace stowage::scheduler {
namespace {

constexpr std::chrono::seconds kPauseAfterUnknown{2};
constexpr std::size_t kFoundBeforeMax = 1000;
constexpr const char* kNotLeading = "this replica does not lead any more; ask again";

}  // namespace

Outbox::Outbox(const Options& options, Ends ends)
    : ends_(std::move(ends)),
      evictor_({.roster = ends_.roster,
                .mailbox = ends_.mailbox,
                .objects = ends_.objects,
                .recorder = ends_.recorder,
                .log = ends_.log,
                .wall_clock = ends_.wall_clock}),
      nominator_({.roster = ends_.roster,
                  .objects = ends_.objects,
                  .recorder = ends_.recorder,
                  .log = ends_.log}),
      claims_(options.claims, {.objects = ends_.objects,
                               .loop = ends_.loop,
                               .claim = ends_.claim,
                               .pod_waits =
                                   [this](const std::string& uid) {
                                     return ends_.roster.pods().wanting(uid) != nullptr;
                                   },
                               .node_there =
                                   [this](const std::string& name) {
                                     return ends_.roster.nodes().find(name) != nullptr;
                                   },
                               .on_number = ends_.on_claims_waiting}),
      alive_(std::make_shared<bool>(true)) {
  for (std::size_t i = 0; i < options.profiles.size(); ++i) {
    const Profile& profile = options.profiles[i];
    if (!profile.picker) continue;
    pickers_.emplace(
        static_cast<std::uint32_t>(i),
        std::make_unique<Picker>(ends_.loop, *profile.picker, profile.name, ends_.log));
  }
}

Outbox::~Outbox() { *alive_ = false; }

void Outbox::stand_down() {
  leads_ = false;
  *alive_ = false;  // of everything that was begun
  alive_ = std::make_shared<bool>(true);
  pauses_.clear();
  evictor_.stand_down();
  claims_.forget_all();
  ends_.roster.stand_down();
}

void Outbox::lead() {
  leads_ = true;
  for (const auto& [key, notice] : std::exchange(found_before_, {})) {
    const std::string& uid = notice.uid;
    if (ends_.roster.pods().name_of(uid).empty()) continue;
    const bool refused =
        notice.kind == Notice::Kind::refused || notice.kind == Notice::Kind::unsupported;
    // It has been bound since, or changed so that it can be placed.
    if (refused && (ends_.roster.pods().standing(uid) != nullptr ||
                    ends_.roster.pods().wanting(uid) != nullptr)) {
      continue;
    }
    tell(notice);
  }
}

void Outbox::carry_out(const core::Commands& commands) {
  if (!leads_) return;
  for (const auto& command : commands) {
    std::visit([this](const auto& c) { carry_out(c); }, command);
  }
}

void Outbox::carry_out(const core::Bind& bind_command) {
  const Wanting* pod = ends_.roster.pods().wanting(bind_command.uid);
  if (pod == nullptr) return;  // it has gone or is bound: that event is on its way to the engine
  const std::int64_t decided = ends_.roster.decision_clock().next(pod->object);
  if (bind_command.claims.empty()) return bind_pod(bind_command, decided);
  claims_.bind({.uid = bind_command.uid, .node = bind_command.node, .claims = bind_command.claims},
               [this, bind_command, decided](const std::string& error) {
                 if (error.empty()) return bind_pod(bind_command, decided);
                 claims_failed(bind_command, error);
               });
}

void Outbox::claims_failed(const core::Bind& bind_command, const std::string& why) {
  ends_.mailbox.put_reply(core::BindFailed{bind_command.uid});
  const Wanting* pod = ends_.roster.pods().wanting(bind_command.uid);
  if (pod == nullptr) return;
  const dialect::PodObject& object = pod->object;
  const Name name{.ns = object.ns, .name = object.name, .uid = object.uid};
  ends_.log.warn("volumes not bound",
                 {{"pod", name.text()}, {"node", bind_command.node}, {"why", why}});
  record(name, kube::EventType::warning, "FailedScheduling",
         fmt::format("the volumes of the pod could not be bound for node {}: {}", bind_command.node,
                     why));
}

void Outbox::carry_out(const core::AskPicker& ask) {
  const auto answer = [this, uid = ask.uid, generation = ask.generation](const std::string& node) {
    ends_.mailbox.put_reply(core::Picked{.uid = uid, .generation = generation, .node = node});
  };
  const Wanting* pod = ends_.roster.pods().wanting(ask.uid);
  if (pod == nullptr) return answer("");
  const auto picker = pickers_.find(pod->spec.profile);
  if (picker == pickers_.end()) return answer("");
  Picker::Question question{
      .json = codec::picker_question({.object = pod->object, .pod = pod->spec, .ask = ask}),
      .offered = {}};
  for (const auto& candidate : ask.candidates) question.offered.push_back(candidate.node);
  picker->second->ask(std::move(question), answer);
}

void Outbox::carry_out(const core::CardConflict& conflict) {
  const std::string full = ends_.roster.pods().name_of(conflict.uid);
  if (full.empty()) return;
  ++counters_.conflicts;
  std::string with = ends_.roster.pods().name_of(conflict.with);
  if (with.empty()) with = conflict.with;
  ends_.log.warn("two pods were given one share of a card",
                 {{"pod", full},
                  {"node", conflict.node},
                  {"card", conflict.card},
                  {"stays", with},
                  {"evicted", conflict.evict ? "yes" : "no"}});
  const std::size_t slash = full.find('/');
  record({.ns = full.substr(0, slash), .name = full.substr(slash + 1), .uid = conflict.uid},
         kube::EventType::warning, "CardConflict",
         fmt::format("card {} of node {} cannot hold this pod beside {}, which {}; this pod {}",
                     conflict.card, conflict.node,
                     ends_.roster.pods().called({.uid = conflict.with, .reader = conflict.uid}),
                     conflict.in_doubt ? "perhaps was given it earlier, perhaps later"
                                       : "was given it earlier and stays",
                     conflict.evict ? "is evicted" : "is left where it is: look into it"));
  if (conflict.evict) evictor_.evict(conflict);
}

void Outbox::bind_pod(const core::Bind& bind_command, std::int64_t decided) {
  const Wanting* pod = ends_.roster.pods().wanting(bind_command.uid);
  if (pod == nullptr) return;
  const core::NodeSpec* node = ends_.roster.nodes().find(bind_command.node);
  // The engine decides by the cards that it knows of; the node may have lost some since.
  const auto cards = node == nullptr ? std::nullopt : core::by_position(bind_command.cards, *node);
  if (!cards) return ends_.mailbox.put_reply(core::BindFailed{bind_command.uid});
  dialect::Answer answer = dialect::answer({.object = pod->object,
                                            .pod = pod->spec,
                                            .node = *node,
                                            .cards = *cards,
                                            .unix_nanos = decided});
  ends_.roster.signatures().seal(
      {.object = pod->object, .node = bind_command.node, .unix_nanos = decided},
      answer.annotations);
  kube::BindAsk ask{.ns = pod->object.ns,
                    .name = pod->object.name,
                    .uid = pod->object.uid,
                    .node = bind_command.node,
                    .annotations = std::move(answer.annotations)};
  ends_.conditions.forget(ask.uid);
  bind({.ask = std::move(ask),
        .labels = std::move(answer.labels),
        .warning = core::topology_note(pod->spec, *node, *cards),
        .model_note = core::model_note(pod->spec, *node, *cards)});
}

void Outbox::bind_guest(GuestBind guest) {
  if (!leads_) {
    // The question was answered after the engine had let go of everything: this was reserved since.
    ends_.mailbox.put_reply(core::BindFailed{guest.ask.uid});
    return guest.done(kNotLeading);
  }
  ends_.roster.expect_pod(guest.ask.uid, guest.ask.ns + "/" + guest.ask.name);
  bind({.ask = std::move(guest.ask),
        .labels = std::move(guest.labels),
        .warning = std::move(guest.warning),
        .model_note = std::move(guest.model_note),
        .tell_guest = std::move(guest.done)});
}

void Outbox::drop(Errand& errand) {
  if (errand.tell_guest) std::exchange(errand.tell_guest, nullptr)(kNotLeading);
}

// Labels are not merged by a binding, and who reads them expects them once the pod is bound: they
// go first.
void Outbox::bind(Errand errand) {
  if (errand.labels.empty()) return send(std::move(errand));
  codec::MetadataAsk patch{.uid = errand.ask.uid, .annotations = {}, .labels = errand.labels};
  // Before the errand is moved: the order in which arguments are made is not fixed.
  kube::PodAccess::Name name{.ns = errand.ask.ns, .name = errand.ask.name};
  ends_.pods.write(
      std::move(name), patch,
      [this, alive = alive_, errand = std::move(errand)](const std::string& error) mutable {
        if (!*alive) return drop(errand);
        if (error.empty()) return send(std::move(errand));
        bind_ended(errand, {.result = kube::BindResult::failed, .message = error});
      });
}

void Outbox::send(Errand errand) {
  kube::BindAsk copy = errand.ask;
  ends_.binder.bind(std::move(copy), [this, alive = alive_, errand = std::move(errand)](
                                         const kube::BindOutcome& outcome) mutable {
    if (!*alive) return drop(errand);
    bind_ended(errand, outcome);
  });
}

void Outbox::bind_ended(Errand& errand, const kube::BindOutcome& outcome) {
  const kube::BindAsk& ask = errand.ask;
  const bool guest = errand.tell_guest != nullptr || errand.guest_told;
  if (errand.tell_guest) {
    const bool good = outcome.result == kube::BindResult::bound;
    std::exchange(errand.tell_guest, nullptr)(good ? "" : outcome.message);
    errand.guest_told = true;
  }
  const Name pod{.ns = ask.ns, .name = ask.name, .uid = ask.uid};
  switch (outcome.result) {
    case kube::BindResult::bound:
      ends_.roster.wrote(ask.uid, ask.annotations);
      ends_.mailbox.put_reply(core::BindDone{ask.uid});
      if (ends_.log.enabled(base::LogLevel::debug)) {
        ends_.log.debug("pod bound", {{"pod", pod.text()}, {"node", ask.node}});
      }
      if (!errand.warning.empty()) {
        record(pod, kube::EventType::warning, "TopologyDowngraded", errand.warning);
      }
      if (!errand.model_note.empty()) {
        record(pod, kube::EventType::warning, "ModelMatch", errand.model_note);
      }
      if (guest) return;  // its scheduler says so itself
      return record(pod, kube::EventType::normal, "Scheduled",
                    fmt::format("Successfully assigned {} to {}", pod.text(), ask.node));
    case kube::BindResult::gone:
      if (guest) ends_.roster.lose_pod(ask.uid);
      return ends_.mailbox.put_reply(core::PodGone{ask.uid});
    case kube::BindResult::refused:
      ends_.mailbox.put_reply(core::BindFailed{ask.uid});
      ends_.log.warn("bind refused",
                     {{"pod", pod.text()}, {"node", ask.node}, {"why", outcome.message}});
      if (guest) return;
      return record(pod, kube::EventType::warning, "FailedScheduling",
                    "the bind was refused: " + outcome.message);
    case kube::BindResult::failed:
      ends_.log.warn("bind failed", {{"pod", pod.text()},
                                     {"node", ask.node},
                                     {"why", outcome.message},
                                     {"open", outcome.maybe_bound ? "yes" : "no"}});
      if (outcome.maybe_bound) return bind_again(std::move(errand));
      return ends_.mailbox.put_reply(core::BindFailed{ask.uid});
  }
}

// The server may have bound the pod. Until that is known its cards stay reserved, and asking for
// the very same bind again is harmless.
void Outbox::bind_again(Errand errand) {
  ++counters_.unknown;
  const std::uint64_t number = pause_count_++;
  net::Timer& timer = pauses_.emplace(number, net::Timer(ends_.loop)).first->second;
  timer.start(kPauseAfterUnknown, [this, number, errand = std::move(errand)]() mutable {
    Errand again = std::move(errand);
    pauses_.erase(number);
    // The watch has told the engine how it ended.
    if (!again.guest_told && ends_.roster.pods().wanting(again.ask.uid) == nullptr) return;
    if (again.guest_told && ends_.roster.pods().standing(again.ask.uid) != nullptr) return;
    send(std::move(again));
  });
}

void Outbox::carry_out(const core::Refuse& command) {
  const Wanting* pod = ends_.roster.pods().wanting(command.uid);
  if (pod == nullptr) return;
  if (!command.refusal.counts.empty()) {
    ++counters_.refused_by[core::to_word(command.refusal.counts.front().code)];
  }
  const dialect::PodObject& object = pod->object;
  refuse({.pod = {.ns = object.ns, .name = object.name, .uid = object.uid},
          .was_false = !object.unscheduled_reason.empty(),
          .condition = core::condition(command.refusal),
          .message = core::sentence(command.refusal)});
}

void Outbox::carry_out(const core::Reject& command) {
  const Wanting* pod = ends_.roster.pods().wanting(command.subject);
  if (pod == nullptr) {
    return ends_.log.warn("object ignored", {{"object", command.subject}, {"why", command.why}});
  }
  ++counters_.refused_by["rejected"];
  const dialect::PodObject& object = pod->object;
  refuse({.pod = {.ns = object.ns, .name = object.name, .uid = object.uid},
          .was_false = !object.unscheduled_reason.empty(),
          .condition = core::Condition::invalid_request,
          .message = command.why});
}

void Outbox::refuse(const Refused& refused) {
  ++counters_.refused;
  if (ends_.log.enabled(base::LogLevel::debug)) {
    ends_.log.debug("pod refused", {{"pod", refused.pod.text()}, {"why", refused.message}});
  }
  ends_.conditions.write({.ns = refused.pod.ns,
                          .name = refused.pod.name,
                          .uid = refused.pod.uid,
                          .reason = core::to_word(refused.condition),
                          .message = refused.message,
                          .was_false = refused.was_false});
  record(refused.pod, kube::EventType::warning, "FailedScheduling", refused.message);
}

void Outbox::record(const Name& pod, kube::EventType type, std::string reason, std::string note) {
  std::string action = reason == "Scheduled" ? "Binding" : "Scheduling";
  ends_.recorder.record(
      {.regarding = {.kind = "Pod", .ns = pod.ns, .name = pod.name, .uid = pod.uid},
       .type = type,
       .reason = std::move(reason),
       .action = std::move(action),
       .note = std::move(note)});
}

Outbox::Counters Outbox::counters() const {
  Counters counters = counters_;
  counters.evictions = evictor_.counters();
  counters.nominations = nominator_.counters();
  counters.claims = claims_.counters();
  for (const auto& [number, picker] : pickers_) {
    counters.pickers.emplace(picker->profile(), picker->counters());
  }
  return counters;
}

void Outbox::tell(const Notice& notice) {
  const Name pod{.ns = notice.ns, .name = notice.name, .uid = notice.uid};
  using Kind = Notice::Kind;
  const bool to_people = notice.kind == Kind::refused || notice.kind == Kind::unsupported ||
                         notice.kind == Kind::forged || notice.kind == Kind::drift ||
                         notice.kind == Kind::astray || notice.kind == Kind::unknown_key ||
                         notice.kind == Kind::unlooked;
  if (to_people && !leads_) {  // the leader says so, if there is one
    const bool waits = notice.kind == Kind::forged || notice.kind == Kind::refused ||
                       notice.kind == Kind::unsupported;
    if (waits && found_before_.size() < kFoundBeforeMax) {
      found_before_.insert_or_assign({notice.uid, notice.kind}, notice);
    }
    return;
  }
  switch (notice.kind) {
    case Notice::Kind::refused:
    case Notice::Kind::unsupported:
      ++counters_.refused_by["rejected"];
      return refuse({.pod = pod,
                     .was_false = notice.was_false,
                     .condition = notice.kind == Kind::refused ? core::Condition::invalid_request
                                                               : core::Condition::unsupported_rule,
                     .message = notice.text});
    case Notice::Kind::unknown_key:
      return record(pod, kube::EventType::warning, "UnknownAnnotation", notice.text);
    case Notice::Kind::unlooked:
      return record(pod, kube::EventType::warning, "NoScheduler", notice.text);
    case Notice::Kind::forged:
      ends_.log.warn("forged annotation ignored", {{"pod", pod.text()}});
      return record(pod, kube::EventType::warning, "ForgedAnnotation", notice.text);
    case Notice::Kind::drift:
      ends_.log.warn("annotations of a bound pod were edited",
                     {{"pod", pod.text()}, {"why", notice.text}});
      return record(pod, kube::EventType::warning, "AnnotationDrift", notice.text);
    case Notice::Kind::unread_cards:
      return ends_.log.warn("cards of a bound pod are unknown",
                            {{"pod", pod.text()}, {"why", notice.text}});
    case Notice::Kind::unread_pod:
      return ends_.log.warn("bound pod cannot be read",
                            {{"pod", pod.text()}, {"why", notice.text}});
    case Notice::Kind::astray:
      ends_.log.warn("a pod has other cards than it was placed on",
                     {{"pod", pod.text()}, {"why", notice.text}});
      return record(pod, kube::EventType::warning, "CardDrift", notice.text);
    case Notice::Kind::node:
      return ends_.log.warn("node", {{"node", notice.name}, {"why", notice.text}});
  }
}

}  // namespace stowage::scheduler
