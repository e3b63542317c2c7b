// Numbers for names that nodes use: card models, resources, and ways to allocate cards. Numbers are
// small and dense, because rows and rankings store them. Only names of nodes are numbered, and a
// name that no node has any more gives its number back, so pods cannot make these tables grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stowage::core {

// Names of card models. Number 0 is the empty name. An unused number is given to another name only
// if there are more than kRoomy names. That limit is too small for hostile nodes to do harm and too
// large for any real cluster to reach.
class ModelNames {
 public:
  static constexpr std::size_t kRoomy = 1024;

  ModelNames();
  // Returns the number, and counts one more card that uses it. 0 beyond 65,535 models in use.
  std::uint16_t take(const std::string& name);
  void give_back(std::uint16_t number);
  // The number of the name; 0 if it has none.
  [[nodiscard]] std::uint16_t find(const std::string& name) const;

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // By number: cards of the model.
  [[nodiscard]] const std::vector<std::uint64_t>& cards() const { return cards_; }
  // Changes when a number gets another name.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::uint64_t> cards_;  // by number: cards of the model
  std::map<std::string, std::uint16_t, std::less<>> numbers_;
  std::uint16_t oldest_ = 1;  // where the search for an unused number continues
  std::uint64_t version_ = 0;
};

// Sizes of card memory; works like ModelNames.
class MemorySizes {
 public:
  static constexpr std::size_t kMost = 1024;

  std::uint16_t take(std::int32_t mib);
  void give_back(std::uint16_t number);
  [[nodiscard]] const std::vector<std::int32_t>& sizes() const { return sizes_; }

 private:
  std::vector<std::int32_t> sizes_;
  std::vector<std::uint64_t> cards_;
};

// Names of resources that nodes offer, besides CPU, memory and cards.
class ResourceNames {
 public:
  static constexpr std::uint32_t kNone = ~0U;

  // One more node offers the resource. True: it is the first, so no pod is charged by this number
  // yet.
  bool offer(const std::string& name);
  // One node fewer. Returns the freed number, or kNone if other nodes still offer the resource.
  std::uint32_t withdraw(const std::string& name);

  [[nodiscard]] std::uint32_t find(std::string_view name) const;  // kNone: no node offers it
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  // Changes whenever a number is assigned or freed.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<std::uint64_t> nodes_;  // by number: nodes that offer it
  std::vector<std::uint32_t> free_;
  std::uint64_t version_ = 1;
};

// Names of ways to allocate cards, one bit each (NodeState::offers). The last bit stands for all
// names without a bit of their own.
class OfferBits {
 public:
  // The bit of the name; the name keeps it.
  std::uint32_t take(const std::string& name);
  // The bit of the name, if it has one; else the last bit.
  [[nodiscard]] std::uint32_t find(const std::string& name) const;

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
};

}  // namespace stowage::core
