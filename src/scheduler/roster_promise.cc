// Promises: cards that were written on pods before their scheduler binds them.
#include <algorithm>
#include <utility>

#include "dialect/absent_cards.h"
#include "dialect/times.h"
#include "scheduler/roster.h"

namespace stowage::scheduler {
namespace {

// Wall clocks of machines of one cluster, at most.
constexpr std::int64_t kClocksDiffer = 60 * dialect::kNanosPerSecond;

}  // namespace

void Roster::see_promise(PodEntry& entry, const dialect::PodObject& object) {
  if (leads_ && entry.promise == object.resource_version) return;
  entry.promise = object.resource_version;
  entry.promised = false;
  untold_.erase(object.uid);
  unknown_key_.erase(object.uid);
  if (entry.proved && keys_ &&
      kube::withdrawn_at(*keys_, object).value_or(0) > entry.promise_made) {
    entry.proved.reset();
    entry.promise_over = true;
  }
  const Said said = whose_promise(object);
  tell_unproved(entry, object, said);
  // Whoever may edit the pod can put back what stood there before, signature and all.
  const bool put_back =
      said.made < entry.promise_made || (said.made == entry.promise_made && entry.promise_over);
  const bool keeps = entry.proved && !entry.promise_over;
  const bool counts = said.whose == Whose::ours ? !put_back : said.counts() && !keeps;
  Untold untold{.object = object,
                .is_signed = said.whose == Whose::ours,
                .whole = said.whose == Whose::ours && !said.edited};
  if (counts) {
    if (entry.promise_made != said.made || said.made == 0) {
      entry.promise_made = said.made;
      entry.promise_seen = clock_.now();
      entry.promise_over = false;
    }
    entry.proved.reset();
    if (untold.is_signed) {
      dialect::Annotations& texts = untold.object.annotations;
      texts[std::string(dialect::kPreAllocatedNodeAnnotation)] = said.node;
      entry.proved_whole = untold.whole;
      entry.proved = std::make_unique<dialect::Annotations>();
      for (const std::string& key : dialect::promise_annotations(untold.object)) {
        entry.proved->emplace(key, texts.at(key));
      }
    }
  } else if (keeps) {
    // Removed or edited, and not by us: the pod may be bound by it all the same.
    untold.object.annotations = *entry.proved;
    untold.is_signed = true;
    untold.whole = entry.proved_whole;
  } else {
    return;
  }
  untold.seen = entry.promise_seen;
  untold.object.rules = {};
  const Untold& kept = untold_[object.uid] = std::move(untold);
  if (!leads_) return;
  if (auto promise = promise_of(kept)) tell_promise(std::move(*promise));
}

void Roster::tell_unproved(PodEntry& entry, const dialect::PodObject& object, const Said& said) {
  if (said.node.empty() || (said.counts() && !said.edited)) return;
  if (said.whose == Whose::nobodys && !dialect::promised_node(object)) return;
  if (std::exchange(entry.promise_forged, true)) return;
  ++forged_;
  std::string text =
      "what the pod says about a node and cards that were promised to it has no "
      "signature of the scheduler; it is ignored";
  if (said.edited) {
    text =
        "what the pod's annotations say about a node and cards that were promised to it was "
        "changed since they were signed; what was signed counts";
  } else if (said.whose == Whose::unknown) {
    text =
        "what the pod says about a node and cards that were promised to it is signed by a key that "
        "is not known here; it is ignored until the key is";
  }
  notify(Notice::Kind::forged, object, std::move(text));
}

// Unset: it does not count, or has no signature and its node lacks the cards.
std::optional<core::PodHeld> Roster::promise_of(const Untold& untold) const {
  const dialect::PodObject& object = untold.object;
  const auto node_name = dialect::promised_node(object);
  const core::NodeSpec* there = node_name ? node(*node_name) : nullptr;
  if (!node_name || (there == nullptr && !untold.is_signed)) return std::nullopt;
  core::NodeSpec on = there != nullptr ? *there : core::NodeSpec{.name = *node_name};
  // Some of its cards may be away, and the pod may be bound by it all the same.
  if (untold.is_signed) dialect::add_absent_cards(object, on);
  auto spec =
      dialect::to_spec(object, reading({.floor_whole_cards = true, .placed_by_others = true}));
  if (!spec) return std::nullopt;
  const std::int64_t now = clock_.unix_nanos();
  auto promise = dialect::read_promise({.object = object,
                                        .pod = *spec,
                                        .node = on,
                                        .unix_nanos = now,
                                        .is_signed = untold.is_signed});
  if (!promise) return std::nullopt;
  spec->profile = *promise_profile_;
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

void Roster::tell_promises(const std::string& node) {
  std::vector<core::PodHeld> promises;
  for (const auto& [uid, untold] : untold_) {
    if (!node.empty() && dialect::promised_node(untold.object) != node) continue;
    if (auto promise = promise_of(untold)) promises.push_back(std::move(*promise));
  }
  // Of two without a signature that speak of one card the later one counts: the first was given up
  // when it was made.
  std::stable_sort(promises.begin(), promises.end(),
                   [](const core::PodHeld& a, const core::PodHeld& b) { return a.made > b.made; });
  for (core::PodHeld& promise : promises) tell_promise(std::move(promise));
}

void Roster::tell_promise(core::PodHeld promise) {
  const dialect::PodObject object = untold_.extract(promise.pod.uid).mapped().object;
  PodEntry& entry = pods_.at(promise.pod.uid);
  entry.promised = true;
  entry.nominated.clear();  // the promise says more
  heed_time(promise.made, promise.is_signed);
  if (on_promise_) {
    on_promise_({.uid = promise.pod.uid,
                 .ns = object.ns,
                 .name = object.name,
                 .made = promise.made,
                 .until = promise.until,
                 .node = promise.node});
  }
  promise.until = core::kUntilTold;
  mailbox_.put_pod(std::move(promise));
}

void Roster::promise_over(const std::string& uid) {
  if (const auto found = pods_.find(uid); found != pods_.end()) found->second.promise_over = true;
}

bool Roster::promise_outdated(const dialect::PodObject& unbound) {
  const Said said = whose_promise(unbound);
  const core::NodeSpec* there = node(said.node);
  if (said.whose != Whose::ours || said.edited || there == nullptr) return false;
  core::NodeSpec on = *there;
  dialect::add_absent_cards(unbound, on);
  const auto spec =
      dialect::to_spec(unbound, reading({.floor_whole_cards = true, .placed_by_others = true}));
  return spec && dialect::promise_outdated(unbound, *spec, on);
}

void Roster::promise_asked_again(const std::string& uid) {
  if (const auto found = pods_.find(uid); found != pods_.end()) found->second.proved.reset();
}

dialect::Annotations Roster::withdrawal(const dialect::PodObject& pod) {
  if (!keys_ || !keys_->signs) return {};
  return {{std::string(dialect::kSignatureAnnotation),
           kube::withdrawal(*keys_, {.uid = pod.uid, .unix_nanos = decision_time(pod)})}};
}

std::int64_t Roster::decision_time(const dialect::PodObject& object) {
  std::int64_t time = std::max(clock_.unix_nanos(), last_decision_ + 1);
  if (!object.unscheduled_reason.empty()) {
    const auto since = dialect::parse_moment(object.unscheduled_since);
    if (since && *since <= time + kClocksDiffer) {
      time = std::max(time, *since + dialect::kNanosPerSecond);
    }
  }
  last_decision_ = time;
  return time;
}

// What lies far ahead and is not signed was not written by one of us.
void Roster::heed_time(std::int64_t decided, bool is_ours) {
  if (is_ours || decided <= clock_.unix_nanos() + kClocksDiffer) {
    last_decision_ = std::max(last_decision_, decided);
  }
}

void Roster::stand_down() {
  leads_ = false;
  for (auto& [uid, entry] : pods_) {
    entry.testimony.forget_wrote();
    entry.promised = false;
  }
}

void Roster::lead() {
  leads_ = true;
  tell_promises({});
}

}  // namespace stowage::scheduler
