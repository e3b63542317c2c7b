// All nodes of the API: their cards, and their errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/node.h"
#include "dialect/dialect.h"
#include "dialect/node_resources.h"

namespace stowage::scheduler {

class NodeCache {
 public:
  struct Update {
    std::string notice;                 // for users; empty: nothing new
    std::optional<core::NodeSpec> now;  // unset: it is invalid, and the known state stays
    bool cards_changed = false;
  };
  [[nodiscard]] Update update(const dialect::NodeObject& object);
  // Returns false if it was not known.
  bool erase(const std::string& name);
  // The node exists but cannot be read: its known state stays.
  void mark_unreadable(const std::string& name);

  // Its name, cards and links; null if unknown. The engine keeps labels and amounts.
  [[nodiscard]] const core::NodeSpec* find(const std::string& name) const;
  // The quantities that it offers for cards; null if it is unknown.
  [[nodiscard]] const dialect::NodeOffer* offer(const std::string& name) const;
  // Nodes with a record of what Stowage has published there.
  [[nodiscard]] const std::set<std::string>& with_recorded_resources() const { return recorded_; }
  using Cards = std::vector<core::Card>;
  [[nodiscard]] std::map<std::string, Cards> all_cards() const;
  // How pods are read here: `options`, with the memory unit that most vgpu nodes have.
  [[nodiscard]] dialect::ReadOptions reading(dialect::ReadOptions options) const;

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  // Nodes that cannot be read, whether known before or not.
  [[nodiscard]] std::size_t unreadable() const { return unread_.size(); }

 private:
  struct Entry {
    core::NodeSpec spec;
    dialect::NodeOffer offer;
    std::vector<std::string> notes;  // already reported
    std::int32_t memory_unit = 0;    // of vgpu nodes
  };
  void set_memory_unit(Entry& entry, std::int32_t unit);

  std::unordered_map<std::string, Entry> nodes_;
  std::set<std::string> recorded_;
  std::unordered_map<std::string, std::string> unread_;  // unreadable nodes, with the error that
                                                         // was reported
  std::map<std::int32_t, std::size_t> memory_units_;     // number of nodes by unit
};

}  // namespace stowage::scheduler
