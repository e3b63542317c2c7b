// The pods that kube-scheduler has asked about lately, as it told them: bind names a pod by its uid
// alone. Bounded: the one asked about longest ago gives way; it is then read from the API.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

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
  // after that.
  bool waits = false;
  net::Moment look_at;
  std::chrono::seconds pause{1};
};

class GuestBook {
 public:
  explicit GuestBook(std::size_t size_max) : size_max_(size_max) {}

  // The entry of this uid, made if there is none; the newest now.
  [[nodiscard]] Guest& visit(const std::string& uid);
  [[nodiscard]] Guest* find(const std::string& uid);  // null if there is none
  void forget(const std::string& uid);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // The newest first.
  [[nodiscard]] const std::list<std::pair<std::string, Guest>>& entries() const { return entries_; }
  [[nodiscard]] std::list<std::pair<std::string, Guest>>& entries() { return entries_; }

 private:
  using Entries = std::list<std::pair<std::string, Guest>>;
  std::size_t size_max_;
  Entries entries_;
  std::unordered_map<std::string, Entries::iterator> by_uid_;
};

}  // namespace stowage::extender
