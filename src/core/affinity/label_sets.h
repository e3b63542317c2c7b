// Pods with equal labels in one namespace form one set, so that a selector is matched once per set
// instead of once per pod. A set without pods stays until free_empty(): the change log may name it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/strong_id.h"
#include "core/model/pod.h"

namespace stowage::core {

using LabelSetIndex = base::StrongId<struct LabelSetTag>;

struct LabelSet {
  std::string ns;
  Labels labels;
  std::string key;
  std::int64_t pods = 0;
};

class LabelSets {
 public:
  // Limits on sets without pods: their number, and the bytes of their keys.
  static constexpr std::size_t kMaxEmpty = 4096;
  static constexpr std::size_t kMaxEmptyBytes = std::size_t{1} << 20U;

  // The pod's set, added if it is new.
  [[nodiscard]] LabelSetIndex intern(const PodSpec& pod);
  // The pod's set, added if it is new and within the limits; else invalid.
  [[nodiscard]] LabelSetIndex intern_within_limits(const PodSpec& pod);
  void add_pods(LabelSetIndex index, std::int32_t delta) {
    LabelSet& set = sets_[index.at()];
    if (set.pods == 0) unmark_empty(index);
    set.pods += delta;
    if (set.pods == 0) mark_empty(index);
  }

  [[nodiscard]] bool over_limits() const {
    return empty_.size() > kMaxEmpty || empty_bytes_ > kMaxEmptyBytes;
  }
  // Frees the sets without pods and returns them. New sets will reuse their indexes.
  std::vector<LabelSetIndex> free_empty();

  [[nodiscard]] const LabelSet& operator[](LabelSetIndex set) const { return sets_[set.at()]; }
  // Every index is below this number.
  [[nodiscard]] std::size_t rows() const { return sets_.size(); }
  [[nodiscard]] std::size_t size() const { return by_key_.size(); }

 private:
  void make_key(const PodSpec& pod);
  [[nodiscard]] LabelSetIndex find_key() const;
  LabelSetIndex add_key(const PodSpec& pod);
  void mark_empty(LabelSetIndex index);
  void unmark_empty(LabelSetIndex index);

  std::vector<LabelSet> sets_;
  std::map<std::string, LabelSetIndex> by_key_;
  std::vector<LabelSetIndex> free_;
  std::set<LabelSetIndex> empty_;
  std::size_t empty_bytes_ = 0;
  std::string key_;  // scratch, written by make_key()
};

}  // namespace stowage::core
