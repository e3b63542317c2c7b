// Pods that are reserved and whose bind has no reply yet, and how often binds of each pod have
// failed in a row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>  // lookup only
#include <vector>

#include "base/instant.h"
#include "core/model/pod.h"

namespace stowage::core {

// A bind command without a reply, or a placement that the outside picker is choosing.
struct PendingBind {
  PodSpec pod;
  std::uint64_t arrival = 0;
  std::uint64_t generation = 0;         // not 0: the picker was asked
  std::vector<std::string> picks = {};  // the offered nodes
};

class PendingBinds {
 public:
  void start(const std::string& uid, PendingBind&& bind);
  // Removes and returns the bind of a pod; unset if none is in progress.
  [[nodiscard]] std::optional<PendingBind> take(const std::string& uid);
  // The same, if the picker was asked with this generation.
  [[nodiscard]] std::optional<PendingBind> take(const std::string& uid, std::uint64_t generation);
  // Counts a failed bind. Returns when the pod's back-off ends.
  [[nodiscard]] base::Instant failed(const std::string& uid, base::Instant now);
  // The pod is bound or deleted.
  void forget(const std::string& uid);
  void clear();

  [[nodiscard]] std::vector<std::string> uids() const;  // sorted
  [[nodiscard]] std::size_t size() const { return binds_.size(); }

 private:
  std::unordered_map<std::string, PendingBind> binds_;       // lookup only
  std::unordered_map<std::string, std::uint32_t> failures_;  // lookup only
};

}  // namespace stowage::core
