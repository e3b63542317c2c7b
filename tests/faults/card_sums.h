// The smallest number of cards that pods can have, from their annotations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "objects.h"

namespace stowage::faults {

// The pods of a node that counts its cards.
class CardSums {
 public:
  explicit CardSums(const NodeView& node) : node_(node) {}

  void add_devices(std::int64_t count) { devices_ += count; }
  void add_unnamed(std::int64_t cards) { unnamed_ = std::max(unnamed_, cards); }  // two may share
  void add_named(const PodView& pod);

  [[nodiscard]] std::int64_t devices() const { return devices_; }
  // A card that is no longer listed may be the same as a listed one, or as another that is no
  // longer listed. Then everything that is written on both must fit on one card.
  [[nodiscard]] std::int64_t cards() const;

 private:
  struct Load {
    std::int64_t milli = 0;
    std::int64_t memory_mib = 0;
    std::set<std::string> pods;  // by uid: the cards of one pod are distinct
  };
  [[nodiscard]] bool fit_on_one(const Load& a, const Load& b) const;
  [[nodiscard]] std::size_t least(std::vector<Load>& cards, const std::vector<Load>& vanished,
                                  std::size_t next) const;

  const NodeView& node_;
  std::int64_t devices_ = 0;
  std::int64_t unnamed_ = 0;  // the most of a single pod
  std::map<std::string, Load> named_;
};

}  // namespace stowage::faults
