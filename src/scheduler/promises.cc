#include "scheduler/promises.h"

#include <algorithm>
#include <utility>

namespace stowage::scheduler {

Promises::Promises(const PromiseOptions& options, Ends ends)
    : options_(options), ends_(ends), timer_(ends.loop), alive_(std::make_shared<bool>(true)) {
  look();
}

Promises::~Promises() { *alive_ = false; }

void Promises::watch(const Promise& promise) {
  const auto [at, fresh] = by_uid_.try_emplace(
      promise.uid, Kept{.promise = promise, .look_at = promise.until, .number = ++numbers_});
  if (!fresh) at->second.look_at = std::min(at->second.look_at, promise.until);
}

void Promises::made(const Promise& promise) {
  by_uid_.insert_or_assign(
      promise.uid, Kept{.promise = promise, .look_at = promise.until, .number = ++numbers_});
}

bool Promises::refused(const dialect::PodObject& pod, const Promise& promise) {
  return pod.unscheduled_since != promise.refused_before &&
         dialect::refused_since(pod, promise.made);
}

void Promises::saw(const dialect::PodObject& pod) {
  const auto found = by_uid_.find(pod.uid);
  if (found == by_uid_.end()) return;
  Kept& kept = found->second;
  if (refused(pod, kept.promise)) {
    kept.look_at = std::min(kept.look_at, ends_.loop.now());
  }
}

void Promises::cards_changed(const std::string& node) {
  for (auto& [uid, kept] : by_uid_) {
    if (kept.promise.node == node) kept.look_at = std::min(kept.look_at, ends_.loop.now());
  }
}

void Promises::listed() {
  for (auto& [uid, kept] : by_uid_) {
    if (ends_.roster.pods().name_of(uid).empty())
      kept.look_at = std::min(kept.look_at, ends_.loop.now());
  }
}

void Promises::look() {
  timer_.start(options_.look_every, [this] { look(); });
  const auto now = ends_.loop.now();
  std::size_t looks = 0;
  for (auto at = by_uid_.begin(); at != by_uid_.end();) {
    const auto here = at++;
    Kept& kept = here->second;
    if (kept.look_at > now) continue;
    if (ends_.roster.pods().standing(here->first) != nullptr) {
      by_uid_.erase(here);  // a pod that is on a node has what it has
    } else if (++looks <= options_.looks_max) {
      look_up(kept);
    }
  }
}

void Promises::look_up(Kept& kept) {
  kept.look_at = ends_.loop.now() + options_.again;
  kept.number = ++numbers_;
  ends_.pods.read(kept.promise.pod, [this, alive = alive_, asked = kept](Found pod) {
    if (*alive) looked_up(asked, std::move(pod));
  });
}

// Meanwhile it may have been promised anew, or we led no longer, or it was seen on its node.
Promises::Kept* Promises::same(const Kept& asked) {
  const auto known = by_uid_.find(asked.promise.uid);
  if (known == by_uid_.end() || known->second.number != asked.number) return nullptr;
  return ends_.roster.pods().standing(asked.promise.uid) == nullptr ? &known->second : nullptr;
}

void Promises::looked_up(const Kept& asked, Found pod) {
  const std::string& uid = asked.promise.uid;
  if (same(asked) == nullptr) return;
  if (!pod && !pod.error().absent) return;
  if (!pod || pod->uid != uid || pod->ended()) {
    ends_.mailbox.put_reply(core::PodGone{uid});
    return forget(std::string(uid));
  }
  if (pod->node.empty()) return unbound(asked, *pod);
  if (ends_.roster.pods().name_of(uid).empty()) return;  // not seen yet, or gone since
  ends_.roster.see_pod(std::move(*pod));
  forget(std::string(uid));
}

void Promises::unbound(const Kept& asked, const dialect::PodObject& pod) {
  const Promise& promise = asked.promise;
  const bool over = promise.until <= ends_.loop.now() || pod.deleting || refused(pod, promise) ||
                    ends_.roster.pre_allocations().outdated(pod);
  if (!over) {  // what was seen of it was not so
    same(asked)->look_at = promise.until;
    return;
  }
  if (!dialect::promised_node(pod) && !dialect::signed_node(pod)) return ended(promise.uid);
  take_off(asked, pod);
}

void Promises::take_off(const Kept& asked, const dialect::PodObject& pod) {
  codec::MetadataAsk patch{.uid = pod.uid,
                           .annotations = ends_.roster.pre_allocations().withdrawal(pod),
                           .labels = {},
                           .resource_version = pod.resource_version,
                           .remove = dialect::promise_annotations(pod)};
  std::erase_if(patch.remove,
                [&](const std::string& key) { return patch.annotations.contains(key); });
  ends_.pods.write_fenced(asked.promise.pod, patch,
                          [this, alive = alive_, asked](const std::string& error) {
                            // If it failed nobody knows what the pod says: the next look tells.
                            if (!*alive || !error.empty() || same(asked) == nullptr) return;
                            ++taken_off_;
                            ends_.roster.wrote(asked.promise.uid, {});
                            ended(asked.promise.uid);
                          });
}

void Promises::ended(const std::string& uid) {
  ends_.roster.pre_allocations().ended(uid);
  ends_.mailbox.put_reply(core::HoldEnded{uid});
  forget(std::string(uid));
}

}  // namespace stowage::scheduler
