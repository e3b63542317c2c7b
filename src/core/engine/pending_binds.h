// Pods whose place is reserved and whose bind is not answered yet, and how often binds of a pod
// have failed in a row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>  // lookup only
#include <vector>

#include "base/instant.h"
#include "core/model/pod.h"

namespace stowage::core {

// A bind command whose reply has not come yet, or a place that is picked outside.
struct PendingBind {
  PodSpec pod;
  std::uint64_t arrival = 0;
  std::uint64_t generation = 0;         // set: the picker was asked
  std::vector<std::string> picks = {};  // among which it may choose
};

class PendingBinds {
 public:
  void start(const std::string& uid, PendingBind bind);
  // Takes out the bind of a pod; unset: none is under way.
  [[nodiscard]] std::optional<PendingBind> take(const std::string& uid);
  // Takes it out if the picker was asked about it with this generation.
  [[nodiscard]] std::optional<PendingBind> take(const std::string& uid, std::uint64_t generation);
  // The bind failed once more: until when the pod rests before it is tried again.
  [[nodiscard]] base::Instant failed(const std::string& uid, base::Instant now);
  // It is bound, or gone.
  void forget(const std::string& uid);
  void clear();

  [[nodiscard]] std::vector<std::string> uids() const;  // sorted
  [[nodiscard]] std::size_t size() const { return binds_.size(); }

 private:
  std::unordered_map<std::string, PendingBind> binds_;       // lookup only
  std::unordered_map<std::string, std::uint32_t> failures_;  // lookup only
};

}  // namespace stowage::core
