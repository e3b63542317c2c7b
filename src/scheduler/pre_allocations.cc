#include "scheduler/pre_allocations.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dialect/absent_cards.h"
#include "dialect/dialect.h"

namespace stowage::scheduler {

std::optional<Notice> PreAllocations::see(PodCache::Entry& entry,
                                          const dialect::PodObject& object) {
  PreAllocation& promise = entry.promise;
  if (leads_ && promise.version == object.resource_version) return std::nullopt;
  promise.version = object.resource_version;
  promise.told = false;
  untold_.erase(object.uid);
  ends_.signatures.forget(object.uid);
  if (promise.proved && ends_.signatures.withdrawn_at(object).value_or(0) > promise.made) {
    promise.proved.reset();
    promise.over = true;
  }
  const Signatures::Said said = ends_.signatures.whose_promise(object);
  std::optional<Notice> notice = unproved(promise, object, said);
  if (!keep(promise, object, said) || !leads_) return notice;
  if (auto held = read(untold_.at(object.uid))) tell(std::move(*held));
  return notice;
}

// False: nothing that it was promised counts.
bool PreAllocations::keep(PreAllocation& promise, const dialect::PodObject& object,
                          const Signatures::Said& said) {
  const bool ours = said.whose == Signatures::Whose::ours;
  // Whoever may edit the pod can put back what stood there before, signature and all.
  const bool put_back = said.made < promise.made || (said.made == promise.made && promise.over);
  const bool keeps = promise.proved && !promise.over;
  const bool counts = ours ? !put_back : said.counts() && !keeps;
  if (!counts && !keeps) return false;
  Untold untold{.object = object, .is_signed = ours, .whole = ours && !said.edited};
  untold.object.rules = {};
  if (counts) {
    if (promise.made != said.made || said.made == 0) {
      promise.made = said.made;
      promise.seen = clock_.now();
      promise.over = false;
    }
    promise.proved.reset();
    if (ours) {
      dialect::Annotations& texts = untold.object.annotations;
      texts[std::string(dialect::kPreAllocatedNodeAnnotation)] = said.node;
      promise.proved_whole = untold.whole;
      promise.proved = std::make_unique<dialect::Annotations>();
      for (const std::string& key : dialect::promise_annotations(untold.object)) {
        promise.proved->emplace(key, texts.at(key));
      }
    }
  } else {
    // Removed or edited, and not by us: the pod may be bound by it all the same.
    untold.object.annotations = *promise.proved;
    untold.is_signed = true;
    untold.whole = promise.proved_whole;
  }
  untold.seen = promise.seen;
  untold_[object.uid] = std::move(untold);
  return true;
}

std::optional<Notice> PreAllocations::unproved(PreAllocation& promise,
                                               const dialect::PodObject& object,
                                               const Signatures::Said& said) {
  using Whose = Signatures::Whose;
  if (said.node.empty() || (said.counts() && !said.edited)) return std::nullopt;
  if (said.whose == Whose::nobodys && !dialect::promised_node(object)) return std::nullopt;
  if (std::exchange(promise.forged, true)) return std::nullopt;
  ++forged_;
  std::string text =
      "what the pod says about a node and cards that were promised to it has no signature of the "
      "scheduler; it is ignored";
  if (said.edited) {
    text =
        "what the pod's annotations say about a node and cards that were promised to it was "
        "changed since they were signed; what was signed counts";
  } else if (said.whose == Whose::unknown) {
    text =
        "what the pod says about a node and cards that were promised to it is signed by a key that "
        "is not known here; it is ignored until the key is";
  }
  return notice_of(Notice::Kind::forged, object, std::move(text));
}

// Unset: it does not count, or has no signature and its node lacks the cards.
std::optional<core::PodHeld> PreAllocations::read(const Untold& untold) const {
  const dialect::PodObject& object = untold.object;
  const auto node_name = dialect::promised_node(object);
  const core::NodeSpec* there = node_name ? ends_.nodes.find(*node_name) : nullptr;
  if (!node_name || (there == nullptr && !untold.is_signed)) return std::nullopt;
  core::NodeSpec on = there != nullptr ? *there : core::NodeSpec{.name = *node_name};
  // Some of its cards may be away, and the pod may be bound by it all the same.
  if (untold.is_signed) dialect::add_absent_cards(object, on);
  auto spec = dialect::to_spec(
      object, ends_.nodes.reading({.floor_whole_cards = true, .placed_by_others = true}));
  if (!spec) return std::nullopt;
  const std::int64_t now = clock_.unix_nanos();
  auto promise = dialect::read_promise({.object = object,
                                        .pod = *spec,
                                        .node = on,
                                        .unix_nanos = now,
                                        .is_signed = untold.is_signed});
  if (!promise) return std::nullopt;
  spec->profile = *profile_;
  const std::int64_t limit = std::chrono::nanoseconds(bind_limit_).count();
  // Its time was written by the clock of another machine, which may differ from ours by any amount:
  // one that we signed lasts from when it was first seen here. Of others the cards are held only if
  // they are free, and not for longer than they say.
  const std::int64_t age = untold.is_signed
                               ? clock_.now().ns - untold.seen.ns
                               : std::max<std::int64_t>(now - promise->made_unix_nanos, 0);
  const bool outdated = untold.whole && dialect::promise_outdated(object, *spec, on);
  const std::int64_t left = promise->broken || outdated ? 0 : limit - age;
  return core::PodHeld{.pod = std::move(*spec),
                       .node = std::move(promise->node),
                       .cards = core::by_id(promise->cards, on),
                       .made = promise->made_unix_nanos,
                       .until = {clock_.now().ns + left},
                       .is_signed = untold.is_signed};
}

void PreAllocations::tell_all(const std::string& node) {
  std::vector<core::PodHeld> promises;
  for (const auto& [uid, untold] : untold_) {
    if (!node.empty() && dialect::promised_node(untold.object) != node) continue;
    if (auto promise = read(untold)) promises.push_back(std::move(*promise));
  }
  // Of two without a signature that speak of one card the later one counts: the first was given up
  // when it was made.
  std::stable_sort(promises.begin(), promises.end(),
                   [](const core::PodHeld& a, const core::PodHeld& b) { return a.made > b.made; });
  for (core::PodHeld& promise : promises) tell(std::move(promise));
}

void PreAllocations::tell(core::PodHeld promise) {
  const dialect::PodObject object = untold_.extract(promise.pod.uid).mapped().object;
  PodCache::Entry& entry = *ends_.pods.find(promise.pod.uid);
  entry.promise.told = true;
  entry.nominated.clear();  // the promise says more
  ends_.decision_clock.saw(promise.made, promise.is_signed);
  if (on_promise_) {
    on_promise_({.uid = promise.pod.uid,
                 .ns = object.ns,
                 .name = object.name,
                 .made = promise.made,
                 .until = promise.until,
                 .node = promise.node});
  }
  promise.until = core::kUntilTold;
  ends_.mailbox.put_pod(std::move(promise));
}

void PreAllocations::ended(const std::string& uid) {
  if (PodCache::Entry* entry = ends_.pods.find(uid)) entry->promise.over = true;
}

void PreAllocations::asked_again(const std::string& uid) {
  if (PodCache::Entry* entry = ends_.pods.find(uid)) entry->promise.proved.reset();
}

void PreAllocations::forget(PodCache::Entry& entry) {
  untold_.erase(*entry.uid);
  entry.promise.proved.reset();
}

bool PreAllocations::outdated(const dialect::PodObject& unbound) const {
  const Signatures::Said said = ends_.signatures.whose_promise(unbound);
  const core::NodeSpec* there = ends_.nodes.find(said.node);
  if (said.whose != Signatures::Whose::ours || said.edited || there == nullptr) return false;
  core::NodeSpec on = *there;
  dialect::add_absent_cards(unbound, on);
  const auto spec = dialect::to_spec(
      unbound, ends_.nodes.reading({.floor_whole_cards = true, .placed_by_others = true}));
  return spec && dialect::promise_outdated(unbound, *spec, on);
}

dialect::Annotations PreAllocations::withdrawal(const dialect::PodObject& pod) {
  return ends_.signatures.withdrawal(
      {.uid = pod.uid, .unix_nanos = ends_.decision_clock.next(pod)});
}

void PreAllocations::node_changed(const std::string& node) {
  if (!leads_) return;
  tell_all(node);
  if (on_other_cards_) on_other_cards_(node);
}

void PreAllocations::lead() {
  leads_ = true;
  tell_all({});
}

}  // namespace stowage::scheduler
