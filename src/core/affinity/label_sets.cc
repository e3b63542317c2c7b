#include "core/affinity/label_sets.h"

#include <string_view>

namespace stowage::core {

void LabelSets::make_key(const PodSpec& pod) {
  key_.clear();
  const auto put = [this](std::string_view text) {
    key_ += std::to_string(text.size());
    key_ += ':';
    key_ += text;
  };
  put(namespace_of(pod.name));
  for (const auto& [name, value] : pod.constraints.labels) {
    put(name);
    put(value);
  }
}

LabelSetIndex LabelSets::find_key() const {
  const auto known = by_key_.find(key_);
  return known == by_key_.end() ? LabelSetIndex{} : known->second;
}

LabelSetIndex LabelSets::add_key(const PodSpec& pod) {
  LabelSetIndex index(sets_.size());
  if (free_.empty()) {
    sets_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  LabelSet& set = sets_[index.at()];
  set.ns = std::string(namespace_of(pod.name));
  set.labels = pod.constraints.labels;
  set.key = key_;
  by_key_.emplace(key_, index);
  mark_empty(index);
  return index;
}

LabelSetIndex LabelSets::intern(const PodSpec& pod) {
  make_key(pod);
  const LabelSetIndex known = find_key();
  return known.valid() ? known : add_key(pod);
}

LabelSetIndex LabelSets::intern_within_limits(const PodSpec& pod) {
  make_key(pod);
  const LabelSetIndex known = find_key();
  const bool room = empty_.size() < kMaxEmpty && empty_bytes_ + key_.size() < kMaxEmptyBytes;
  return known.valid() || !room ? known : add_key(pod);
}

void LabelSets::mark_empty(LabelSetIndex index) {
  empty_.insert(index);
  empty_bytes_ += sets_[index.at()].key.size();
}

void LabelSets::unmark_empty(LabelSetIndex index) {
  if (empty_.erase(index) > 0) empty_bytes_ -= sets_[index.at()].key.size();
}

std::vector<LabelSetIndex> LabelSets::free_empty() {
  const std::vector<LabelSetIndex> freed(empty_.begin(), empty_.end());
  for (const LabelSetIndex index : freed) {
    LabelSet& set = sets_[index.at()];
    by_key_.erase(set.key);
    set = LabelSet{};
    free_.push_back(index);
  }
  empty_.clear();
  empty_bytes_ = 0;
  return freed;
}

}  // namespace stowage::core
