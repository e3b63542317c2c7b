#include "scheduler/cluster_cache.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "core/model/counted.h"
#include "dialect/times.h"

namespace stowage::scheduler {
namespace {

// The latest time at which the cards of a bound pod were chosen, for a pod that does not record it:
// the end of the second in which it was bound. The API server writes the condition together with
// the node.
std::int64_t placed_by(const dialect::PodObject& object) {
  const auto moment = dialect::parse_moment(object.scheduled_since);
  if (!moment || *moment < 0) return std::numeric_limits<std::int64_t>::max();
  return *moment + dialect::kNanosPerSecond;
}

// The spec has these too, and many pods may be pending.
void strip(dialect::PodObject& object) {
  object.rules = {};
  object.constraints = {};
  dialect::shed(object);
}

// Leaves both arguments unchanged.
bool same_but_nominated(const core::PodSpec& old, core::PodSpec& now) {
  std::string nominated = std::exchange(now.nominated, old.nominated);
  const bool same = old == now;
  now.nominated = std::move(nominated);
  return same;
}

}  // namespace

ClusterCache::ClusterCache(const std::vector<Profile>& profiles, EventQueue& event_queue,
                           OnNotice on_notice, const Clock& clock)
    : classifier_(profiles),
      event_queue_(event_queue),
      on_notice_(std::move(on_notice)),
      annotations_(signatures_),
      kubelets_(
          clock.now,
          {.pods = pods_, .nodes = nodes_, .event_queue = event_queue_, .on_notice = on_notice_}),
      decision_clock_(clock.unix_nanos),
      pre_allocations_(clock, {.pods = pods_,
                               .nodes = nodes_,
                               .signatures = signatures_,
                               .decision_clock = decision_clock_,
                               .event_queue = event_queue_}),
      external_pods_(clock.now, {.classifier = classifier_,
                                 .pods = pods_,
                                 .nodes = nodes_,
                                 .pre_allocations = pre_allocations_,
                                 .event_queue = event_queue_,
                                 .on_notice = on_notice_}) {}

bool ClusterCache::use_keys(kube::Keys keys) {
  const std::set<std::string> again = signatures_.use_keys(std::move(keys));
  for (const std::string& uid : again) {
    Entry* entry = pods_.find(uid);
    if (entry == nullptr) continue;
    entry->resolver.forget_reported();
    entry->pre_allocation.version.clear();
  }
  return !again.empty();
}

void ClusterCache::wrote(const std::string& uid, const dialect::Annotations& annotations) {
  if (!pre_allocations_.leads()) return;
  if (Entry* entry = pods_.find(uid)) annotations_.wrote(entry->resolver, annotations);
}

void ClusterCache::stand_down() {
  pre_allocations_.stand_down();
  for (auto& [uid, entry] : pods_.all()) {
    entry.resolver.forget_wrote();
    entry.pre_allocation.told = false;
  }
}

// ---- nodes ----------------------------------------------------------------------------------

void ClusterCache::upsert_node(const dialect::NodeObject& object) {
  NodeCache::Update update = nodes_.update(object);
  if (!update.notice.empty()) {
    on_notice_({.kind = Notice::Kind::node,
                .name = object.name,
                .uid = object.uid,
                .text = std::move(update.notice)});
  }
  if (!update.now) return;
  event_queue_.put_node(core::NodeChanged{std::move(*update.now)});
  if (!update.cards_changed) return;
  if (on_cards_) on_cards_(object.name, &nodes_.find(object.name)->cards);
  pre_allocations_.node_changed(object.name);
  for (const std::string& uid : pods_.pods_on(object.name)) {
    Entry& entry = *pods_.find(uid);
    if (entry.indexed) read_indexed_again(entry, *nodes_.find(object.name));
    kubelets_.compare(entry);
  }
  for (const std::string& uid : pods_.take_unresolved(object.name)) {
    Entry& entry = *pods_.find(uid);
    const std::unique_ptr<PendingPod> kept = std::move(entry.pending);
    emit_bound(entry, std::move(kept->object), std::move(kept->spec), std::nullopt);
  }
}

void ClusterCache::remove_node(const std::string& name) {
  if (!nodes_.erase(name)) return;
  kubelets_.cards().set_agent_silent(name, true);
  event_queue_.put_node_gone(name);
  if (on_cards_) on_cards_(name, nullptr);
}

// ---- pods -----------------------------------------------------------------------------------

void ClusterCache::upsert_pod(dialect::PodObject object, const Signatures::Checked& check) {
  const PodClassifier::Class is = classifier_.classify(object);
  if (is.state == PodState::ended) return remove_pod(object.uid);
  Entry& entry = pods_.add(object.uid, object.ns + "/" + object.name);
  if (is.state == PodState::bound) return update_bound(entry, std::move(object), is, check);
  update_unbound(entry, std::move(object), is);
}

void ClusterCache::update_unbound(Entry& entry, dialect::PodObject object,
                                  const PodClassifier::Class& is) {
  const bool first = !entry.unplaced;
  const bool ours = is.profile != nullptr;
  notify(on_notice_, annotations_.check_untrusted(
                         entry.resolver, {.object = object,
                                          .first = first,
                                          .created = first && !listing_pods_,
                                          .is_ours = ours,
                                          .pre_allocations_count = pre_allocations_.enabled()}));
  if (first && (ours || dialect::asks_for_cards(object))) {
    const std::string text = dialect::unknown_keys(object);
    if (!text.empty()) on_notice_(notice_of(Notice::Kind::unknown_key, object, text));
  }
  entry.unplaced = true;
  if (is.state == PodState::deleting) return forget(entry);
  if (is.state == PodState::external) return external_pods_.update(entry, object);
  if (is.state == PodState::pending) return update_pending(entry, std::move(object), is);
}

void ClusterCache::update_pending(Entry& entry, dialect::PodObject object,
                                  const PodClassifier::Class& is) {
  Result<core::PodSpec> spec = dialect::to_spec(object, nodes_.reading(is.profile->reading));
  if (!spec) {
    forget(entry);
    return on_notice_(notice_of(Notice::Kind::invalid, object, spec.error().message));
  }
  if (!object.unsupported.empty()) {
    forget(entry);
    return on_notice_(notice_of(
        Notice::Kind::unsupported, object,
        fmt::format("the pod uses {}, which Stowage does not support yet: remove it, or give the "
                    "pod to another scheduler",
                    base::join(object.unsupported, ", "))));
  }
  spec->profile = is.number;
  strip(object);
  if (entry.pending && same_but_nominated(entry.pending->spec, *spec)) {
    // Only its status changed, in fields that the engine does not read; but another scheduler may
    // have nominated it. This event does not use the queue of objects, where the pod may still wait
    // to be placed.
    if (entry.pending->spec.nominated != spec->nominated) {
      event_queue_.put_reply(core::PodNominated{.pod = *spec, .node = spec->nominated});
    }
    return pods_.set_pending(entry, {.object = std::move(object), .spec = std::move(*spec)});
  }
  entry.told = true;
  pods_.set_pending(entry, {.object = std::move(object), .spec = *spec});
  event_queue_.put_pod(core::PodPending{std::move(*spec)});
}

void ClusterCache::update_bound(Entry& entry, dialect::PodObject object,
                                const PodClassifier::Class& is, const Signatures::Checked& check) {
  dialect::ReadOptions options =
      is.profile == nullptr ? dialect::ReadOptions{} : is.profile->reading;
  options.floor_whole_cards = true;  // it is bound already, so it has its cards
  auto spec = dialect::to_spec(object, nodes_.reading(options));
  if (!spec) {
    on_notice_(notice_of(Notice::Kind::unread_pod, object, spec.error().message));
    spec = dialect::readable_part(object, nodes_.reading(options));
  }
  spec->profile = is.number;
  external_pods_.forget(entry);
  pods_.bind(entry, object);
  emit_bound(entry, std::move(object), std::move(*spec), check);
}

void ClusterCache::emit_bound(Entry& entry, dialect::PodObject object, core::PodSpec spec,
                              const Signatures::Checked& check) {
  const core::NodeSpec* node = nodes_.find(object.node);
  CardAnnotations::Answer answer =
      annotations_.read(entry.resolver, {.object = object,
                                         .pod = spec,
                                         .node = node,
                                         .created_bound = !entry.unplaced && !listing_pods_,
                                         .is_ours = classifier_.is_ours(object),
                                         .check = check});
  notify(on_notice_, answer.notice);
  entry.told = true;
  // A pod whose cards no longer exist takes part in no conflict about cards.
  const bool ours = entry.resolver.ours() && answer.resolution.cards;
  // The pre-allocation may have been withdrawn and then written back by the author of the pod. Such
  // a time is only an upper bound for the decision, and evicts no other pod.
  const bool pre_allocated = dialect::pre_allocated_by_signature(object);
  const auto decided = ours && !pre_allocated ? dialect::decided_at(object) : std::nullopt;
  if (decided) decision_clock_.saw(*decided, signatures_.keys() != nullptr);
  const std::int64_t placed = ours ? decided.value_or(placed_by(object)) : 0;
  std::optional<core::NamedAssignment> cards = take_cards(
      entry, {.object = object, .spec = spec, .node = node, .resolution = answer.resolution});
  kubelets_.cards().set_cards(entry.cards, {.spec = spec, .node = object.node, .cards = cards});
  event_queue_.put_pod(core::PodSeenBound{.pod = spec,
                                          .node = object.node,
                                          .cards = std::move(cards),
                                          .placed = placed,
                                          .placed_by_then = !decided});
  kubelets_.compare(entry);
  // The pod came before its node, or the node lacks cards that the pod names: it is resolved again
  // later.
  if (node != nullptr &&
      answer.resolution.trouble != AssignmentResolver::Resolution::Trouble::unread)
    return;
  strip(object);
  pods_.set_unresolved(entry, {.object = std::move(object), .spec = std::move(spec)});
}

std::optional<core::NamedAssignment> ClusterCache::take_cards(Entry& entry, const ReadPod& pod) {
  AssignmentResolver::Resolution& read = pod.resolution;
  if (!read.cards) {  // known cards stay
    if (entry.indexed) entry.indexed->pod.spec = pod.spec;
    return std::nullopt;
  }
  core::NamedAssignment cards = core::by_id(*read.cards, *pod.node);
  if (read.by_index.empty()) {
    entry.indexed.reset();
    return cards;
  }
  IndexedPod now{.pod = {.object = pod.object, .spec = pod.spec},
                 .listed = core::lists_cards(*pod.node)};
  now.pod.object.annotations = std::move(read.by_index);
  strip(now.pod.object);
  now.text = dialect::answer_text(now.pod.object).text;
  const IndexedPod* known = entry.indexed.get();
  const bool same =
      known != nullptr && !known->missing && known->listed == now.listed && known->text == now.text;
  now.cards = same ? known->cards : std::move(cards);
  entry.indexed = std::make_unique<IndexedPod>(std::move(now));
  return entry.indexed->cards;
}

void ClusterCache::read_indexed_again(Entry& entry, const core::NodeSpec& node) {
  IndexedPod& indexed = *entry.indexed;
  if (node.cards.empty()) return;
  const bool listed = core::lists_cards(node);
  if (indexed.listed == listed && !indexed.missing) return;
  const auto read = dialect::read_answer(indexed.pod.object, indexed.pod.spec, &node);
  indexed.missing = !read || !*read;
  if (indexed.missing) return;
  indexed.listed = listed;
  indexed.cards = core::by_id(**read, node);
  const std::optional<core::NamedAssignment> cards = indexed.cards;
  kubelets_.cards().set_cards(entry.cards,
                              {.spec = indexed.pod.spec, .node = node.name, .cards = cards});
  event_queue_.put_pod(
      core::PodSeenBound{.pod = indexed.pod.spec, .node = node.name, .cards = cards});
}

void ClusterCache::forget(Entry& entry) {
  pods_.clear_pending(entry);
  external_pods_.forget(entry);
  if (entry.told) event_queue_.put_pod_gone(*entry.uid);
  entry.told = false;
  entry.pre_allocation.told = false;
  entry.nominated.clear();
}

void ClusterCache::remove_pod(const std::string& uid) {
  Entry* entry = pods_.find(uid);
  if (entry == nullptr) return;
  signatures_.forget(uid);
  kubelets_.cards().forget(entry->cards);
  forget(*entry);
  annotations_.forget(entry->resolver);
  pods_.erase(uid);
}

void ClusterCache::expect_pod(const std::string& uid, const std::string& name) {
  const bool known = pods_.find(uid) != nullptr;
  pods_.add(uid, name).told = true;  // the engine has reserved its cards
  if (!known && on_expected_) on_expected_(uid);
}

ClusterCache::Sizes ClusterCache::sizes() const {
  return {.nodes = nodes_.size(),
          .unread_nodes = nodes_.unreadable(),
          .pods = pods_.size(),
          .pending = pods_.pending_count(),
          .bound = pods_.bound_count(),
          .annotation_mismatched = annotations_.mismatched(),
          .device_mismatched = kubelets_.cards().mismatched(),
          .unnamed = kubelets_.cards().unnamed(),
          .by_kubelet = kubelets_.cards().by_kubelet(),
          .annotation_edits = annotations_.edits(),
          .untrusted = annotations_.untrusted() + pre_allocations_.untrusted()};
}

}  // namespace stowage::scheduler
