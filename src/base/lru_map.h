// A map with text keys and a maximum size: a new entry replaces the least recently used one. All
// operations take constant time; values keep their addresses.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace stowage::base {

template <typename Value>
class LruMap {
 public:
  explicit LruMap(std::size_t size_max) : size_max_(size_max == 0 ? 1 : size_max) {}

  // Null if absent. Counts as a use. Valid until the entry is removed.
  Value* find(std::string_view key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }

  // The same, but does not count as a use.
  Value* peek(std::string_view key) {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &found->second->second;
  }

  // Replaces an existing entry.
  Value& put(std::string key, Value value) {
    erase(key);
    if (entries_.size() >= size_max_) {
      by_key_.erase(entries_.back().first);
      entries_.pop_back();
    }
    entries_.emplace_front(std::move(key), std::move(value));
    by_key_.emplace(entries_.front().first, entries_.begin());
    return entries_.front().second;
  }

  void erase(std::string_view key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    const auto entry = found->second;  // owns the key that the index refers to
    by_key_.erase(found);
    entries_.erase(entry);
  }

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  // The most recently used first.
  using Entries = std::list<std::pair<const std::string, Value>>;
  [[nodiscard]] Entries& entries() { return entries_; }
  [[nodiscard]] const Entries& entries() const { return entries_; }

 private:
  std::size_t size_max_;
  Entries entries_;
  std::unordered_map<std::string_view, typename Entries::iterator> by_key_;
};

}  // namespace stowage::base
