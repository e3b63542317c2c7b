#include "scheduler/roster.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "dialect/times.h"

namespace stowage::scheduler {
namespace {

// By when the cards of a bound pod were chosen that does not say when they were: by the end of the
// second in which it was bound. The API server writes the condition together with the node.
std::int64_t placed_by(const dialect::PodObject& object) {
  const auto moment = dialect::parse_moment(object.scheduled_since);
  if (!moment || *moment < 0) return std::numeric_limits<std::int64_t>::max();
  return *moment + dialect::kNanosPerSecond;
}

// The spec has these too, and pods that wait may be many.
void strip(dialect::PodObject& object) {
  object.rules = {};
  object.around = {};
  dialect::shed(object);
}

// Leaves both as they are.
bool same_but_nominated(const core::PodSpec& old, core::PodSpec& now) {
  std::string nominated = std::exchange(now.nominated, old.nominated);
  const bool same = old == now;
  now.nominated = std::move(nominated);
  return same;
}

}  // namespace

Roster::Roster(const std::vector<Profile>& profiles, Mailbox& mailbox, OnNotice on_notice,
               Clock clock)
    : classifier_(profiles),
      mailbox_(mailbox),
      on_notice_(std::move(on_notice)),
      now_(clock.now),
      annotations_(signatures_),
      kubelets_(clock.now),
      decision_clock_(clock.unix_nanos),
      pre_allocations_(std::move(clock), {.pods = pods_,
                                          .nodes = nodes_,
                                          .signatures = signatures_,
                                          .decision_clock = decision_clock_,
                                          .mailbox = mailbox_}) {}

bool Roster::use_keys(kube::Keys keys) {
  const std::set<std::string> again = signatures_.use_keys(std::move(keys));
  for (const std::string& uid : again) {
    Entry* entry = pods_.find(uid);
    if (entry == nullptr) continue;
    entry->testimony.doubt_again();
    entry->promise.version.clear();
  }
  return !again.empty();
}

void Roster::wrote(const std::string& uid, const dialect::Annotations& annotations) {
  if (Entry* entry = pods_.find(uid)) annotations_.wrote(entry->testimony, annotations);
}

void Roster::stand_down() {
  pre_allocations_.stand_down();
  for (auto& [uid, entry] : pods_.all()) {
    entry.testimony.forget_wrote();
    entry.promise.told = false;
  }
}

// ---- nodes ----------------------------------------------------------------------------------

void Roster::see_node(const dialect::NodeObject& object) {
  NodeCache::Update update = nodes_.update(object);
  if (!update.notice.empty()) {
    on_notice_({.kind = Notice::Kind::node,
                .name = object.name,
                .uid = object.uid,
                .text = std::move(update.notice)});
  }
  if (!update.now) return;
  mailbox_.put_node(core::NodeChanged{std::move(*update.now)});
  if (!update.cards_changed) return;
  if (on_cards_) on_cards_(object.name, &nodes_.find(object.name)->cards);
  pre_allocations_.node_changed(object.name);
  for (const std::string& uid : pods_.pods_on(object.name)) compare_with_kubelet(*pods_.find(uid));
  for (const std::string& uid : pods_.take_unresolved(object.name)) {
    Entry& entry = *pods_.find(uid);
    const std::unique_ptr<Wanting> kept = std::move(entry.wanting);
    tell_bound(entry, std::move(kept->object), std::move(kept->spec), std::nullopt);
  }
}

void Roster::lose_node(const std::string& name) {
  if (!nodes_.erase(name)) return;
  kubelets_.hear_agent(name, true);
  mailbox_.put_node_gone(name);
  if (on_cards_) on_cards_(name, nullptr);
}

// ---- pods -----------------------------------------------------------------------------------

void Roster::see_pod(dialect::PodObject object, const Signatures::Checked& check) {
  const PodClassifier::Class is = classifier_.classify(object);
  if (is.state == PodState::ended) return lose_pod(object.uid);
  Entry& entry = pods_.add(object.uid, object.ns + "/" + object.name);
  if (is.state == PodState::bound) return see_bound(entry, std::move(object), is, check);
  see_unbound(entry, std::move(object), is);
}

void Roster::see_unbound(Entry& entry, dialect::PodObject object, const PodClassifier::Class& is) {
  const bool first = !entry.unplaced;
  const bool ours = is.profile != nullptr;
  notify(annotations_.check_forged(entry.testimony, {.object = object,
                                                     .first = first,
                                                     .created = first && !listing_pods_,
                                                     .is_ours = ours,
                                                     .promises_count = pre_allocations_.heeded()}));
  if (first && (ours || dialect::asks_for_cards(object))) {
    const std::string text = dialect::unknown_keys(object);
    if (!text.empty()) notify(notice_of(Notice::Kind::unknown_key, object, text));
  }
  entry.unplaced = true;
  if (is.state == PodState::deleting) return forget(entry);
  if (is.state == PodState::external) return see_guest(entry, object);
  if (is.state == PodState::pending) return see_wanting(entry, std::move(object), is);
}

// A pod that somebody else schedules. The extender may hold cards for it, so its end is told.
void Roster::see_guest(Entry& entry, const dialect::PodObject& object) {
  entry.told = true;
  if (on_guest_) on_guest_(object);
  if (pre_allocations_.heeded()) notify(pre_allocations_.see(entry, object));
  if (!entry.promise.told) see_nomination(entry, object);
  ignored_.watch(object, now_());
}

// Its scheduler has made room for it on a node, or is about to bind it there: others keep off.
void Roster::see_nomination(Entry& entry, const dialect::PodObject& object) {
  if (object.nominated.empty() && entry.nominated.empty()) return;
  auto spec = dialect::to_spec(
      object, nodes_.reading({.floor_whole_cards = true, .placed_by_others = true}));
  if (!spec) spec = dialect::readable_part(object, nodes_.reading({}));
  entry.nominated = object.nominated;
  mailbox_.put_pod(core::PodNominated{.pod = std::move(*spec), .node = object.nominated});
}

void Roster::see_wanting(Entry& entry, dialect::PodObject object, const PodClassifier::Class& is) {
  Result<core::PodSpec> spec = dialect::to_spec(object, nodes_.reading(is.profile->reading));
  if (!spec) {
    forget(entry);
    return notify(notice_of(Notice::Kind::refused, object, spec.error().message));
  }
  if (!object.unsupported.empty()) {
    forget(entry);
    return notify(notice_of(
        Notice::Kind::unsupported, object,
        fmt::format("the pod uses {}, which Stowage does not support yet: remove it, or give the "
                    "pod to another scheduler",
                    base::join(object.unsupported, ", "))));
  }
  spec->profile = is.number;
  strip(object);
  if (entry.wanting && same_but_nominated(entry.wanting->spec, *spec)) {
    // Its status changed, nothing that the engine looks at; but somebody else may have nominated
    // it. Not in the lane of objects: the pod may still wait there to be asked about.
    if (entry.wanting->spec.nominated != spec->nominated) {
      mailbox_.put_reply(core::PodNominated{.pod = *spec, .node = spec->nominated});
    }
    return pods_.set_wanting(entry, {.object = std::move(object), .spec = std::move(*spec)});
  }
  entry.told = true;
  pods_.set_wanting(entry, {.object = std::move(object), .spec = *spec});
  mailbox_.put_pod(core::PodPending{std::move(*spec)});
}

void Roster::tell_wanting_again() {
  for (const auto& [name, wanting] : pods_.all_wanting()) {
    mailbox_.put_pod(core::PodPending{wanting->spec});
  }
}

void Roster::see_bound(Entry& entry, dialect::PodObject object, const PodClassifier::Class& is,
                       const Signatures::Checked& check) {
  dialect::ReadOptions options =
      is.profile == nullptr ? dialect::ReadOptions{} : is.profile->reading;
  options.floor_whole_cards = true;  // whoever bound it did so: it has what it has
  auto spec = dialect::to_spec(object, nodes_.reading(options));
  if (!spec) {
    notify(notice_of(Notice::Kind::unread_pod, object, spec.error().message));
    spec = dialect::readable_part(object, nodes_.reading(options));
  }
  spec->profile = is.number;
  pre_allocations_.forget(entry);
  ignored_.forget(object.uid);
  pods_.bind(entry, object);
  tell_bound(entry, std::move(object), std::move(*spec), check);
}

void Roster::tell_bound(Entry& entry, dialect::PodObject object, core::PodSpec spec,
                        const Signatures::Checked& check) {
  const core::NodeSpec* node = nodes_.find(object.node);
  const CardAnnotations::Answer answer =
      annotations_.read(entry.testimony, {.object = object,
                                          .pod = spec,
                                          .node = node,
                                          .created_bound = !entry.unplaced && !listing_pods_,
                                          .is_ours = classifier_.is_ours(object),
                                          .check = check});
  notify(answer.notice);
  entry.told = true;
  // One whose cards are not there any more takes part in no conflict about others.
  const bool ours = entry.testimony.ours() && answer.word.cards;
  // What was promised may have been taken back since, and put back on the pod by its author: such a
  // time says by when it was decided at the most, and evicts no other pod.
  const bool promised = dialect::promised_by_signature(object);
  const auto decided = ours && !promised ? dialect::decided_at(object) : std::nullopt;
  if (decided) decision_clock_.saw(*decided, signatures_.keys() != nullptr);
  const std::int64_t placed = ours ? decided.value_or(placed_by(object)) : 0;
  std::optional<core::NamedAssignment> cards;
  if (answer.word.cards) cards = core::by_id(*answer.word.cards, *node);
  kubelets_.set_cards(entry.cards, spec, cards);
  mailbox_.put_pod(core::PodSeenBound{.pod = spec,
                                      .node = object.node,
                                      .cards = std::move(cards),
                                      .placed = placed,
                                      .placed_by_then = !decided});
  compare_with_kubelet(entry);
  // It came before its node, or while that lacks cards that the pod names: it is heard again.
  if (node != nullptr && answer.word.trouble != Testimony::Word::Trouble::unread) return;
  strip(object);
  pods_.set_unresolved(entry, {.object = std::move(object), .spec = std::move(spec)});
}

void Roster::forget(Entry& entry) {
  pods_.clear_wanting(entry);
  pre_allocations_.forget(entry);
  ignored_.forget(*entry.uid);
  if (entry.told) mailbox_.put_pod_gone(*entry.uid);
  entry.told = false;
  entry.promise.told = false;
  entry.nominated.clear();
}

void Roster::lose_pod(const std::string& uid) {
  Entry* entry = pods_.find(uid);
  if (entry == nullptr) return;
  signatures_.forget(uid);
  kubelets_.forget(entry->cards);
  forget(*entry);
  annotations_.forget(entry->testimony);
  pods_.erase(uid);
}

void Roster::expect_pod(const std::string& uid, const std::string& name) {
  const bool known = pods_.find(uid) != nullptr;
  pods_.add(uid, name).told = true;  // the engine has reserved its cards
  if (!known && on_expected_) on_expected_(uid);
}

void Roster::hear_kubelet(const std::string& node, const std::string& pod,
                          dialect::KubeletWord word) {
  Entry* entry = pods_.find(pods_.uid_of(pod));
  const bool here = entry != nullptr && entry->node == node;
  kubelets_.set_word({.node = node, .name = pod, .uid = here ? *entry->uid : std::string()},
                     std::move(word));
  if (here) compare_with_kubelet(*entry);
}

void Roster::believe_kubelets() {
  for (const std::string& uid : kubelets_.take_doubted()) {
    Entry* entry = pods_.find(uid);
    if (entry != nullptr) take_finding(kubelets_.believe(where(*entry), entry->cards));
  }
}

void Roster::compare_with_kubelet(Entry& entry) {
  take_finding(kubelets_.compare(where(entry), entry.cards));
}

void Roster::take_finding(KubeletCards::Finding found) {
  notify(found.notice);
  if (found.cards) mailbox_.put_cards(std::move(*found.cards));
}

void Roster::tell_unlooked() {
  if (!pre_allocations_.leads()) return;
  const std::vector<std::string> profiles = classifier_.profile_names();
  for (const IgnoredPods::Ignored& pod : ignored_.take_due(now_())) {
    const std::string name = pods_.name_of(pod.uid);
    const std::size_t slash = name.find('/');
    on_notice_({.kind = Notice::Kind::unlooked,
                .ns = name.substr(0, slash),
                .name = name.substr(slash + 1),
                .uid = pod.uid,
                .text = IgnoredPods::sentence(pod, profiles)});
  }
}

Roster::Sizes Roster::sizes() const {
  return {.nodes = nodes_.size(),
          .unread_nodes = nodes_.unreadable(),
          .pods = pods_.size(),
          .wanting = pods_.wanting_count(),
          .bound = pods_.bound_count(),
          .drifted = annotations_.drifted(),
          .astray = kubelets_.astray(),
          .unnamed = kubelets_.unnamed(),
          .by_kubelet = kubelets_.by_kubelet(),
          .drifts = annotations_.drifts(),
          .forged = annotations_.forged() + pre_allocations_.forged()};
}

}  // namespace stowage::scheduler
