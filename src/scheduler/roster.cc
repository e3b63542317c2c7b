#include "scheduler/roster.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "dialect/table.h"
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

void drop(std::unordered_map<std::string, std::set<std::string>>& uids_by_node,
          const std::string& node, const std::string& uid) {
  const auto found = uids_by_node.find(node);
  if (found == uids_by_node.end()) return;
  found->second.erase(uid);
  if (found->second.empty()) uids_by_node.erase(found);
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
    : profiles_(profiles),
      mailbox_(mailbox),
      on_notice_(std::move(on_notice)),
      clock_(std::move(clock)) {}

void Roster::notify(Notice::Kind kind, const dialect::PodObject& pod, std::string text) const {
  on_notice_({.kind = kind,
              .ns = pod.ns,
              .name = pod.name,
              .uid = pod.uid,
              .text = std::move(text),
              .was_false = !pod.unscheduled_reason.empty()});
}

// ---- pods -----------------------------------------------------------------------------------

void Roster::begin_pods() {
  ++pod_list_;
  listing_pods_ = true;
  pods_unnamed_ = false;
}

const Profile* Roster::profile_named(std::string_view name, std::uint32_t& number) const {
  for (std::size_t i = 0; i < profiles_.size(); ++i) {
    if (profiles_[i].name != name) continue;
    number = static_cast<std::uint32_t>(i);
    return &profiles_[i];
  }
  return nullptr;
}

void Roster::see_pod(dialect::PodObject object, const Checked& check) {
  if (object.ended()) return lose_pod(object.uid);
  PodEntry& entry = pods_[object.uid];
  if (entry.name.empty()) {
    entry.name = object.ns + "/" + object.name;
    uids_[entry.name] = object.uid;
  }
  entry.seen_in = pod_list_;
  if (!object.node.empty()) return see_bound(entry, std::move(object), check);
  tell_forged(entry, object);
  tell_unknown_keys(entry, object);
  entry.unplaced = true;
  std::uint32_t number = 0;
  if (object.deleting) {
    forget(entry, object.uid);
  } else if (profile_named(object.scheduler, number) == nullptr) {
    see_guest(entry, object);
  } else if (object.gates.empty()) {
    see_wanting(entry, std::move(object));
  }
}

// What only we write, on a pod that is not placed yet: its author wrote it. Where promises are
// heeded, we or another replica of ours may have written the cards before the bind, on a pod of
// another scheduler; and pods that we refused are marked.
void Roster::tell_forged(PodEntry& entry, const dialect::PodObject& object) {
  std::uint32_t number = 0;
  const bool guest = profile_named(object.scheduler, number) == nullptr;
  const bool created = !entry.unplaced && !listing_pods_ && !from_dump_;
  std::vector<std::string> keys = dialect::scheduler_annotations(object);
  std::erase_if(keys, [&](const std::string& key) {
    if (key != dialect::kGpusAnnotation) return entry.unplaced || (guest && !created);
    if (guest && promise_profile_ && !created) return true;
    return !entry.testimony.forged(object, hash_key_);
  });
  if (keys.empty()) return;
  ++forged_;
  notify(Notice::Kind::forged, object,
         fmt::format("the scheduler alone writes {}; what the pod brought along is ignored{}",
                     base::join(keys, " and "), guest ? "" : " and will be replaced"));
}

// A pod that somebody else schedules. The extender may hold cards for it, so its end is told.
void Roster::see_guest(PodEntry& entry, const dialect::PodObject& object) {
  entry.told = true;
  if (on_guest_) on_guest_(object);
  if (promise_profile_) see_promise(entry, object);
  if (!entry.promised) see_nomination(entry, object);
  watch_unlooked(object);
}

// Its scheduler has made room for it on a node, or is about to bind it there: others keep off.
void Roster::see_nomination(PodEntry& entry, const dialect::PodObject& object) {
  if (object.nominated.empty() && entry.nominated.empty()) return;
  auto spec =
      dialect::to_spec(object, reading({.floor_whole_cards = true, .placed_by_others = true}));
  if (!spec) spec = dialect::readable_part(object, reading({}));
  entry.nominated = object.nominated;
  mailbox_.put_pod(core::PodNominated{.pod = std::move(*spec), .node = object.nominated});
}

void Roster::see_wanting(PodEntry& entry, dialect::PodObject object) {
  std::uint32_t number = 0;
  const Profile* profile = profile_named(object.scheduler, number);
  Result<core::PodSpec> spec = dialect::to_spec(object, reading(profile->reading));
  if (!spec) {
    forget(entry, object.uid);
    return notify(Notice::Kind::refused, object, spec.error().message);
  }
  if (!object.unsupported.empty()) {
    forget(entry, object.uid);
    return notify(Notice::Kind::unsupported, object,
                  fmt::format("the pod uses {}, which Stowage does not support yet: remove it, or "
                              "give the pod to another scheduler",
                              base::join(object.unsupported, ", ")));
  }
  spec->profile = number;
  strip(object);
  if (!entry.wanting) {
    entry.wanting = std::make_unique<Wanting>();
    ++wanting_;
  } else if (same_but_nominated(entry.wanting->spec, *spec)) {
    // Its status changed, nothing that the engine looks at; but somebody else may have nominated
    // it. Not in the lane of objects: the pod may still wait there to be asked about.
    if (entry.wanting->spec.nominated != spec->nominated) {
      mailbox_.put_reply(core::PodNominated{.pod = *spec, .node = spec->nominated});
    }
    *entry.wanting = {.object = std::move(object), .spec = std::move(*spec)};
    return;
  }
  entry.told = true;
  *entry.wanting = {.object = std::move(object), .spec = *spec};
  mailbox_.put_pod(core::PodPending{std::move(*spec)});
}

void Roster::tell_wanting_again() {
  std::map<std::string, const Wanting*> again;
  for (const auto& [uid, entry] : pods_) {
    if (entry.wanting && entry.node.empty()) again.emplace(entry.name, entry.wanting.get());
  }
  for (const auto& [name, wanting] : again) mailbox_.put_pod(core::PodPending{wanting->spec});
}

void Roster::see_bound(PodEntry& entry, dialect::PodObject object, const Checked& check) {
  std::uint32_t number = 0;
  const Profile* profile = profile_named(object.scheduler, number);
  dialect::ReadOptions options = profile == nullptr ? dialect::ReadOptions{} : profile->reading;
  options.floor_whole_cards = true;  // whoever bound it did so: it has what it has
  auto spec = dialect::to_spec(object, reading(options));
  if (!spec) {
    notify(Notice::Kind::unread_pod, object, spec.error().message);
    spec = dialect::readable_part(object, reading(options));
  }
  spec->profile = number;
  if (entry.node.empty()) ++bound_;
  if (entry.wanting && entry.node.empty()) --wanting_;
  entry.wanting.reset();
  entry.proved.reset();
  untold_.erase(object.uid);
  forget_unlooked(object.uid);
  drop(unheard_, entry.node, object.uid);
  if (entry.node != object.node) drop(on_node_, entry.node, object.uid);
  entry.node = object.node;
  on_node_[entry.node].insert(object.uid);
  entry.standing = std::make_unique<Standing>(standing_of(object));
  tell_bound(entry, std::move(object), std::move(*spec), check);
}

void Roster::tell_bound(PodEntry& entry, dialect::PodObject object, core::PodSpec spec,
                        const Checked& check) {
  Testimony::Word word = hear(entry, object, spec, check);
  entry.told = true;
  // One whose cards are not there any more takes part in no conflict about others.
  const bool ours = entry.testimony.ours() && word.cards;
  // What was promised may have been taken back since, and put back on the pod by its author: such a
  // time says by when it was decided at the most, and evicts no other pod.
  const bool promised = dialect::promised_by_signature(object);
  const auto decided = ours && !promised ? dialect::decided_at(object) : std::nullopt;
  if (decided) heed_time(*decided, keys_ != nullptr);
  const std::int64_t placed = ours ? decided.value_or(placed_by(object)) : 0;
  std::optional<core::NamedAssignment> cards;
  if (word.cards) cards = core::by_id(*word.cards, *node(object.node));
  note_cards(entry, spec, cards);
  mailbox_.put_pod(core::PodSeenBound{.pod = spec,
                                      .node = object.node,
                                      .cards = std::move(cards),
                                      .placed = placed,
                                      .placed_by_then = !decided});
  ask_kubelet(object.uid, entry);
  // It came before its node, or while that lacks cards that the pod names: it is heard again.
  const bool understood = word.trouble != Testimony::Word::Trouble::unread;
  if (node(object.node) != nullptr && understood) return;
  strip(object);
  unheard_[object.node].insert(object.uid);
  entry.wanting =
      std::make_unique<Wanting>(Wanting{.object = std::move(object), .spec = std::move(spec)});
}

void Roster::forget(PodEntry& entry, const std::string& uid) {
  if (entry.wanting && entry.node.empty()) --wanting_;
  entry.wanting.reset();
  entry.proved.reset();
  untold_.erase(uid);
  forget_unlooked(uid);
  if (entry.told) mailbox_.put_pod_gone(uid);
  entry.told = false;
  entry.promised = false;
  entry.nominated.clear();
}

void Roster::lose_pod(const std::string& uid) {
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return;
  PodEntry& entry = found->second;
  if (!entry.node.empty()) {
    --bound_;
    drop(on_node_, entry.node, uid);
    drop(unheard_, entry.node, uid);
  }
  unknown_key_.erase(uid);
  forget_cards(entry);
  forget(entry, uid);
  if (entry.testimony.drifted()) --drifted_;
  const auto named = uids_.find(entry.name);
  if (named != uids_.end() && named->second == uid) uids_.erase(named);
  pods_.erase(found);
}

void Roster::keep_pod(const std::string& uid) {
  if (const auto found = pods_.find(uid); found != pods_.end()) found->second.seen_in = pod_list_;
  if (uid.empty()) pods_unnamed_ = true;
}

void Roster::end_pods() {
  listing_pods_ = false;
  if (pods_unnamed_) return;
  std::vector<std::string> gone;
  for (const auto& [uid, entry] : pods_) {
    if (entry.seen_in != pod_list_) gone.push_back(uid);
  }
  std::sort(gone.begin(), gone.end());
  for (const auto& uid : gone) lose_pod(uid);
}

void Roster::expect_pod(const std::string& uid, const std::string& name) {
  PodEntry& entry = pods_[uid];
  entry.told = true;  // the engine has reserved its cards
  if (!entry.name.empty()) return;
  entry.name = name;
  uids_[name] = uid;
  entry.seen_in = pod_list_;  // a list that is under way may be older than the pod
}

void Roster::wrote(const std::string& uid, const dialect::Annotations& annotations) {
  const auto found = pods_.find(uid);
  if (found != pods_.end()) found->second.testimony.wrote(annotations, hash_key_);
}

// ---- questions ------------------------------------------------------------------------------

const Roster::Wanting* Roster::wanting(const std::string& uid) const {
  const auto found = pods_.find(uid);
  if (found == pods_.end() || !found->second.node.empty()) return nullptr;
  return found->second.wanting.get();
}

Roster::Standing Roster::standing_of(const dialect::PodObject& object) {
  constexpr std::int32_t kCritical = 2'000'000'000;
  const bool daemon = std::find(object.owner_kinds.begin(), object.owner_kinds.end(),
                                "DaemonSet") != object.owner_kinds.end();
  const bool mirror = object.annotations.contains("kubernetes.io/config.mirror");
  Standing standing{.node = object.node,
                    .priority = object.priority,
                    .has_priority = object.has_priority,
                    .must_stay = object.deleting || object.ended() || daemon || mirror ||
                                 object.priority >= kCritical,
                    .gang = dialect::gang_of(object)};
  for (const char c : object.created) {
    if (c >= '0' && c <= '9' && standing.created < 100'000'000'000'000) {
      standing.created = standing.created * 10 + (c - '0');
    }
  }
  return standing;
}

const Roster::Standing* Roster::standing(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second.standing.get();
}

std::vector<std::string> Roster::pods_on(const std::string& node_name) const {
  const auto found = on_node_.find(node_name);
  if (found == on_node_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::string Roster::uid_of(const std::string& pod) const {
  const auto found = uids_.find(pod);
  return found == uids_.end() ? std::string() : found->second;
}

std::string Roster::name_of(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? std::string() : found->second.name;
}

std::string Roster::called(const Called& pod) const {
  const std::string name = name_of(pod.uid);
  const std::string reader = name_of(pod.reader);
  const std::size_t slash = name.find('/');
  const bool same =
      !name.empty() && slash == reader.find('/') && name.compare(0, slash, reader, 0, slash) == 0;
  return same ? "pod " + name : "a pod of another namespace";
}

Roster::Sizes Roster::sizes() const {
  return {.nodes = nodes_.size(),
          .unread_nodes = unread_nodes_.size(),
          .pods = pods_.size(),
          .wanting = wanting_,
          .bound = bound_,
          .drifted = drifted_,
          .astray = astray_,
          .unnamed = unnamed_,
          .by_kubelet = by_kubelet_,
          .drifts = drifts_,
          .forged = forged_};
}

}  // namespace stowage::scheduler
