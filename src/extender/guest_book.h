// The pods that kube-scheduler has asked about lately, as it told them: bind names a pod by its uid
// alone. Bounded: the one asked about longest ago gives way; it is then read from the API.
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

struct Guest {
  dialect::PodObject object;
  core::PodSpec spec;
  std::string dialect;       // empty: it asks for no card
  std::string held_on;       // the node that is written on the pod; empty: none
  std::int64_t decided = 0;  // and when it was chosen; 0: nothing was
  std::string told;          // the refusal that was told last
  // Refused at its last filter: when to look whether there is room by now, and how long to wait
  // after that: kube-scheduler tries all pods again after 5 minutes by itself.
  bool waits = false;
  net::Moment look_at;
  base::Backoff backoff{std::chrono::seconds{1}, std::chrono::minutes{5}};
};

class GuestBook {
 public:
  explicit GuestBook(std::size_t size_max) : guests_(size_max) {}

  // The entry of this uid, made if there is none; the newest now.
  [[nodiscard]] Guest& visit(const std::string& uid) {
    Guest* const known = guests_.find(uid);
    return known != nullptr ? *known : guests_.put(uid, Guest{});
  }
  // Null if there is none. It is no newer for that.
  [[nodiscard]] Guest* find(const std::string& uid) { return guests_.peek(uid); }
  void forget(const std::string& uid) { guests_.erase(uid); }
  [[nodiscard]] std::size_t size() const { return guests_.size(); }
  // The newest first.
  [[nodiscard]] const auto& entries() const { return guests_.entries(); }
  [[nodiscard]] auto& entries() { return guests_.entries(); }

 private:
  base::LruMap<Guest> guests_;
};

}  // namespace stowage::extender
