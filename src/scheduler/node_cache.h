// All nodes as the API tells of them: their cards, and what is wrong with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/node.h"
#include "dialect/dialect.h"

namespace stowage::scheduler {

class NodeCache {
 public:
  struct Update {
    std::string notice;                 // to tell people; empty: nothing new
    std::optional<core::NodeSpec> now;  // unset: it makes no sense, and what is known of it stays
    bool cards_changed = false;
  };
  [[nodiscard]] Update update(const dialect::NodeObject& object);
  // False: it was not known.
  bool erase(const std::string& name);
  // It is there, and cannot be read: what is known of it stays.
  void keep_unreadable(const std::string& name);

  // Its name, cards and links; null if unknown. The engine keeps labels and amounts.
  [[nodiscard]] const core::NodeSpec* find(const std::string& name) const;
  using Cards = std::vector<core::Card>;
  [[nodiscard]] std::map<std::string, Cards> all_cards() const;
  // How pods are read here: as asked, with the unit of memory that most vgpu nodes have.
  [[nodiscard]] dialect::ReadOptions reading(dialect::ReadOptions options) const;

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  // Nodes that cannot be read, known from before or not.
  [[nodiscard]] std::size_t unreadable() const { return unread_.size(); }

 private:
  struct Entry {
    core::NodeSpec spec;
    std::vector<std::string> notes;  // told already
    std::int32_t memory_unit = 0;    // of vgpu
  };
  void set_memory_unit(Entry& entry, std::int32_t unit);

  std::unordered_map<std::string, Entry> nodes_;
  std::unordered_map<std::string, std::string> unread_;  // and what was told of them
  std::map<std::int32_t, std::size_t> memory_units_;     // how many nodes have it
};

}  // namespace stowage::scheduler
