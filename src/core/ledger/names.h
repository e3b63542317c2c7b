// Numbers for names that nodes bring along: of card models, resources, ways to hand out cards.
// Small and dense, since rows and rankings hold them. Only what a node has is numbered, and a name
// that no node has any more gives its number back: pods can not make these tables grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace stowage::core {

// Names of card models. Number 0 is the empty name. A number is given to another name only if
// nobody uses it and there are more than kRoomy names: so few that hostile nodes do no harm, so
// many that no cluster comes near.
class ModelNames {
 public:
  static constexpr std::size_t kRoomy = 1024;

  ModelNames();
  // Its number, with one more card that uses it. 0 beyond 65,535 models that are in use.
  std::uint16_t take(const std::string& name);
  void give_back(std::uint16_t number);
  // Its number, if it has one; else 0.
  [[nodiscard]] std::uint16_t find(const std::string& name) const;

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  // By number: how many cards are of the model.
  [[nodiscard]] const std::vector<std::uint64_t>& cards() const { return cards_; }
  // Changes when a number gets another name.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::uint64_t> cards_;  // by number: cards of the model
  std::map<std::string, std::uint16_t, std::less<>> numbers_;
  std::uint16_t oldest_ = 1;  // where the search for an unused number goes on
  std::uint64_t version_ = 0;
};

// Sizes of card memory, as ModelNames.
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

  // One more node offers it. True: nobody did before, so no pod is charged by this number yet.
  bool offer(const std::string& name);
  // One node less. The number that is free now, kNone if others offer it still.
  std::uint32_t withdraw(const std::string& name);

  [[nodiscard]] std::uint32_t find(std::string_view name) const;  // kNone: no node offers it
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  // Changes whenever a number comes or goes.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  std::vector<std::uint64_t> nodes_;  // by number: that offer it
  std::vector<std::uint32_t> free_;
  std::uint64_t version_ = 1;
};

}  // namespace stowage::core
