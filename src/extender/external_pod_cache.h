// The pods that kube-scheduler has recently asked about, as it sent them: bind names a pod only by
// its uid. Bounded: the least recently asked-about pod is dropped, and is read from the API when
// needed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/backoff.h"
#include "base/lru_map.h"
#include "core/model/pod.h"
#include "dialect/objects.h"
#include "net/event_loop.h"

namespace stowage::extender {

struct ExternalPod {
  dialect::PodObject object;
  core::PodSpec spec;
  std::string dialect;       // empty: it asks for no card
  std::string held_on;       // the node written on the pod; empty: none
  std::int64_t decided = 0;  // when that was chosen; 0: never
  std::string told;          // the refusal that was reported last
  // Refused at its last filter: when to check whether there is capacity now, and how long to wait
  // after that. kube-scheduler itself tries all pods again after 5 minutes.
  bool waits = false;
  net::Moment look_at;
  base::Backoff backoff{std::chrono::seconds{1}, std::chrono::minutes{5}};
};

class ExternalPodCache {
 public:
  explicit ExternalPodCache(std::size_t size_max) : external_pods_(size_max) {}

  // The entry of this uid, created if none exists. It becomes the newest.
  [[nodiscard]] ExternalPod& find_or_add(const std::string& uid) {
    ExternalPod* const known = external_pods_.find(uid);
    return known != nullptr ? *known : external_pods_.put(uid, ExternalPod{});
  }
  // Null if none exists. Does not change the order.
  [[nodiscard]] ExternalPod* find(const std::string& uid) { return external_pods_.peek(uid); }
  void forget(const std::string& uid) { external_pods_.erase(uid); }
  [[nodiscard]] std::size_t size() const { return external_pods_.size(); }
  // Newest first.
  [[nodiscard]] const auto& entries() const { return external_pods_.entries(); }
  [[nodiscard]] auto& entries() { return external_pods_.entries(); }

 private:
  base::LruMap<ExternalPod> external_pods_;
};

}  // namespace stowage::extender
