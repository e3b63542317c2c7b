#include "scheduler/promises.h"

#include <utility>

namespace stowage::scheduler {

Promises::Promises(const PromiseOptions& options, Ends ends)
    : options_(options), ends_(ends), timer_(ends.loop), alive_(std::make_shared<bool>(true)) {
  look();
}

Promises::~Promises() { *alive_ = false; }

void Promises::watch(const Promise& promise) { by_uid_.try_emplace(promise.uid, promise); }

void Promises::look() {
  timer_.start(options_.look_every, [this] { look(); });
  const auto now = ends_.loop.now();
  std::size_t looks = 0;
  for (auto at = by_uid_.begin(); at != by_uid_.end();) {
    Promise& promise = (at++)->second;
    if (promise.until > now) continue;
    if (ends_.roster.standing(promise.uid) != nullptr) {
      forget(std::string(promise.uid));  // a pod that is on a node has what it has
    } else if (++looks <= options_.looks_max) {
      look_up(promise);
    }
  }
}

void Promises::look_up(Promise& promise) {
  promise.until = ends_.loop.now() + options_.again;
  ends_.pods.read(promise.pod, [this, alive = alive_, asked = promise](Found pod) {
    if (*alive) looked_up(asked, std::move(pod));
  });
}

void Promises::looked_up(const Promise& asked, Found pod) {
  const auto known = by_uid_.find(asked.uid);
  // Meanwhile it may have been promised anew, or we led no longer, or it was seen on its node.
  if (known == by_uid_.end() || known->second.until != asked.until) return;
  if (ends_.roster.standing(asked.uid) != nullptr) return;
  if (!pod && !pod.error().absent) return;
  if (pod && pod->uid == asked.uid && !pod->ended()) {
    if (pod->node.empty()) {
      ends_.mailbox.put_reply(core::HoldEnded{asked.uid});
    } else if (ends_.roster.name_of(asked.uid).empty()) {
      return;  // not seen yet, or gone since
    } else {
      ends_.roster.see_pod(std::move(*pod));
    }
  } else {
    ends_.mailbox.put_reply(core::PodGone{asked.uid});
  }
  forget(asked.uid);
}

}  // namespace stowage::scheduler
