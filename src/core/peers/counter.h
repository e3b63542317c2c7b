// Matching pods by topology domain: one counter of src/core/peers, and what counters share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/around.h"
#include "core/model/rules.h"

namespace stowage::core {

// Terms that a pod must all be meant by. The counters of a pod's terms share one list.
struct PeerTerms {
  std::uint64_t number = 0;
  std::vector<PodTerm> all;
};

// Which nodes count: those that the rules select (if set), whose taints they tolerate, and that
// have all these labels. The counters of a pod's spread constraints share these.
struct PeerNodes {
  std::uint64_t number = 0;
  std::optional<NodeRules> selected_by;
  std::optional<std::vector<Toleration>> tolerated_by;
  std::vector<std::string> labels;

  mutable std::vector<std::uint8_t> counts;  // by node
  mutable std::uint64_t layout = 0;          // for which these were found
};

struct PeerCounter {
  std::shared_ptr<const PeerTerms> terms;
  std::shared_ptr<const PeerNodes> eligible;  // null: all nodes
  std::uint32_t domains = 0;
  bool skip_leaving = false;

  enum class Means : std::int8_t { unknown, no, yes };
  mutable std::vector<Means> memo;  // by set
  std::vector<std::int64_t> pods;   // by domain
  std::vector<std::int32_t> nodes;  // by domain: eligible ones
  std::int64_t total = 0;
  std::uint64_t at = 0;  // in the log
  std::uint64_t layout = 0;
  std::uint64_t world = 0;
  std::uint64_t asked_at = 0;
  std::size_t bytes = 0;  // as it was last counted
};

// Pods by domain, where most domains have none: as many numbers as there are domains only while a
// good part of them is used.
class DomainCounts {
 public:
  void reset(std::size_t domains);
  void add(std::uint32_t domain, std::int32_t pods);
  [[nodiscard]] std::int32_t count(std::uint32_t domain) const {
    return dense_.empty() ? in_few(domain) : dense_[domain];
  }

 private:
  [[nodiscard]] std::int32_t in_few(std::uint32_t domain) const;
  std::size_t domains_ = 0;
  std::vector<std::pair<std::uint32_t, std::int32_t>> few_;  // sorted
  std::vector<std::int32_t> dense_;                          // empty: few_ counts
};

}  // namespace stowage::core
