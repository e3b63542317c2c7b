// What a topology counter counts: pods that all terms of a list select, on eligible nodes. Counters
// of one pod share these, so that neither memory nor keys grow with the square of its rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ledger/node_table.h"
#include "core/model/pod.h"
#include "core/model/pod_constraints.h"
#include "core/model/rules.h"

namespace stowage::core {

struct TermList {
  std::uint64_t number = 0;  // stands for the list in the keys of counters
  std::vector<PodTerm> all;
};

// Nodes that have all the labels, and pass the selector and the tolerations where these are set.
class EligibleNodes {
 public:
  struct Rules {
    std::vector<std::string> labels;
    std::optional<NodeRules> selected_by;
    std::optional<std::vector<Toleration>> tolerated_by;
  };
  EligibleNodes(std::uint64_t number, Rules rules);

  // Checks all nodes, unless that was done for this version of the nodes (never 0).
  void refresh(const NodeTable& nodes, std::uint64_t version);
  // As of the last refresh(). Requires: a node row of that time.
  [[nodiscard]] bool contains(std::size_t node) const { return eligible_[node] != 0; }
  [[nodiscard]] std::uint64_t number() const { return number_; }  // stands for it in keys

 private:
  std::uint64_t number_;
  Rules rules_;
  std::vector<std::uint8_t> eligible_;  // by node
  std::uint64_t version_ = 0;
};

// Gives equal criteria the same object.
class SharedCriteria {
 public:
  [[nodiscard]] std::shared_ptr<const TermList> terms(const std::vector<PodTerm>& all);
  // The nodes that count for one of the pod's spread constraints.
  [[nodiscard]] std::shared_ptr<EligibleNodes> nodes(const PodSpec& pod, const SpreadRule& rule);
  // Frees what no counter uses.
  void free_unused();
  [[nodiscard]] std::size_t size() const { return terms_.size() + nodes_.size(); }

 private:
  std::map<std::string, std::shared_ptr<const TermList>> terms_;
  std::map<std::string, std::shared_ptr<EligibleNodes>> nodes_;
  std::uint64_t last_number_ = 0;
};

}  // namespace stowage::core
