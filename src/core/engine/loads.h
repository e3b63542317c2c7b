// Loads of cards: measured load plus the expected load of recently placed pods.
//
// A measurement is valid until it expires; then the load is unknown. A recently placed pod does not
// show in measurements yet, so its share is added for a while. Otherwise pods that arrive together
// would all go to the card that was idle when the first of them arrived.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/ledger/state.h"
#include "core/model/event.h"
#include "core/model/node.h"

namespace stowage::core {

class Loads {
 public:
  void measured(const CardsMeasured& event);
  // A pod was placed that is expected to use this many thousandths of the card.
  void placed(const std::string& node, const std::string& card, std::int32_t milli,
              base::Instant until);
  void forget(const std::string& node);
  // Drops expired data and returns the nodes that had any.
  [[nodiscard]] std::vector<std::string> expire(base::Instant now);

  // By card of the node: thousandths, or kNoLoad if unknown. Empty if all are unknown.
  [[nodiscard]] std::vector<std::uint16_t> busy(const NodeSpec& node) const;
  [[nodiscard]] std::vector<std::string> nodes() const;
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

 private:
  struct Expected {
    std::string card;
    std::int32_t milli = 0;
    base::Instant until;
  };
  struct Node {
    std::map<std::string, std::int32_t> measured;  // by card
    base::Instant until;                           // when the measurements expire
    std::vector<Expected> expected;
  };
  std::map<std::string, Node> nodes_;
  std::set<std::pair<base::Instant, std::string>> due_;  // when data of the node expires
};

}  // namespace stowage::core
