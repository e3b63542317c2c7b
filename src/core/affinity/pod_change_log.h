// Pods that came to nodes or left them, oldest first. Readers keep a position and read on from it.
// A full log drops its older half: a reader whose position is below start() must count again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/affinity/label_sets.h"
#include "core/model/ids.h"

namespace stowage::core {

struct PodChange {
  NodeIndex node;
  LabelSetIndex set;
  std::int8_t pods = 0;     // 1: a pod came; -1: a pod left
  std::int8_t leaving = 0;  // the same, if that pod was leaving
  // The pod left, and had anti-affinity terms or host ports: any other pod may fit now.
  bool lifts_constraints = false;
};

class PodChangeLog {
 public:
  static constexpr std::size_t kMaxChanges = 1U << 16U;

  void append(const PodChange& change) {
    if (changes_.size() >= kMaxChanges) drop_older_half();
    changes_.push_back(change);
  }
  // Drops all changes. Positions do not start again.
  void clear();

  [[nodiscard]] std::uint64_t start() const { return start_; }
  [[nodiscard]] std::uint64_t end() const { return start_ + changes_.size(); }
  // Requires: start() <= position < end().
  [[nodiscard]] const PodChange& at(std::uint64_t position) const {
    return changes_[position - start_];
  }

 private:
  void drop_older_half();

  std::vector<PodChange> changes_;
  std::uint64_t start_ = 0;  // position of the first change
};

}  // namespace stowage::core
