// How busy cards are: what was measured, and what pods that came lately will add to that.
//
// A measurement counts until its time is up; then nobody knows. A pod that was placed a moment ago
// does not show in measurements yet: its share is added for a while, so that pods which come
// together do not all go to the card that was idle when the first of them came.
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
  // A pod was placed that will keep the card busy by so many thousandths.
  void placed(const std::string& node, const std::string& card, std::int32_t milli,
              base::Instant until);
  void forget(const std::string& node);
  // Nodes about which something has run out by now; what has is forgotten.
  [[nodiscard]] std::vector<std::string> expire(base::Instant now);

  // By the node's cards: thousandths, kNoLoad where nobody knows. Empty: nobody knows of any.
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
    base::Instant until;                           // of the measurements
    std::vector<Expected> expected;
  };
  std::map<std::string, Node> nodes_;
  std::set<std::pair<base::Instant, std::string>> due_;  // something of the node runs out then
};

}  // namespace stowage::core
