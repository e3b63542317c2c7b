// Matching pods by topology domain: one counter of src/core/peers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/around.h"
#include "core/model/rules.h"

namespace stowage::core {

struct PeerCounter {
  std::string key;
  std::vector<PodTerm> all;  // a pod counts if every one means it
  std::uint32_t domains = 0;
  bool skip_leaving = false;
  // Which nodes count: those that the rules select (if set), whose taints they tolerate, and that
  // have all these labels. Unset: all.
  struct Eligible {
    std::optional<NodeRules> selected_by;
    std::optional<std::vector<Toleration>> tolerated_by;
    std::vector<std::string> labels;
  };
  std::optional<Eligible> eligible;

  enum class Means : std::int8_t { unknown, no, yes };
  mutable std::vector<Means> memo;        // by set
  std::vector<std::uint8_t> node_counts;  // by node; empty: all
  std::vector<std::int64_t> pods;         // by domain
  std::vector<std::int32_t> nodes;        // by domain: eligible ones
  std::int64_t total = 0;
  std::uint64_t at = 0;  // in the log
  std::uint64_t layout = 0;
  std::uint64_t world = 0;
  std::uint64_t asked_at = 0;
};

}  // namespace stowage::core
