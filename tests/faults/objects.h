// The objects of a run as JSON, and back: the plan's nodes and pods for the API, and the cards in
// the API's pods and nodes. Parsed without the controller's readers, because its ledger is compared
// with this.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "local/json.h"
#include "local/store.h"
#include "plan.h"

namespace stowage::faults {

namespace json = local::json;

[[nodiscard]] std::string node_name(std::uint32_t node);
[[nodiscard]] std::string card_id(const Plan& plan, std::uint32_t node, std::uint32_t card);
// If only the number of cards is known.
[[nodiscard]] std::string counted_id(std::uint32_t node, std::uint32_t card);

struct CardNow {
  std::string id;
  std::uint32_t index = 0;
  bool lost = false;
  bool broken = false;  // unhealthy
};
struct NodeNow {
  bool there = true;
  bool cordoned = false;
  bool plugin_away = false;    // a counted node offers no card
  bool unlisted = false;       // its inventory is missing
  bool renumbered = false;     // its cards had other indexes before
  std::uint32_t replaced = 0;  // number of replaced cards
  std::vector<CardNow> cards;  // in the order of its inventory

  [[nodiscard]] std::uint32_t left() const;  // cards that it offers
};
[[nodiscard]] NodeNow first_state(const Plan& plan, std::uint32_t node);
[[nodiscard]] json::object node_object(const Plan& plan, std::uint32_t node, const NodeNow& now);

[[nodiscard]] local::ObjectName pod_name(const Plan& plan, std::uint32_t pod);
// `unix_nanos`: when it is created.
[[nodiscard]] json::object pod_object(const Plan& plan, std::uint32_t pod, std::int64_t unix_nanos);
[[nodiscard]] std::string claim_name(std::uint32_t pod);
// The number in such a name.
[[nodiscard]] std::uint32_t pod_number(const std::string& name);

// ---- and back

struct Share {
  std::string card;
  std::int64_t milli = 0;
  std::int64_t memory_mib = 0;
  friend bool operator==(const Share&, const Share&) = default;
};

using Amounts = std::map<std::string, std::int64_t>;

struct PodView {
  local::ObjectName name;
  std::uint32_t number = 0;
  std::string uid;
  std::string node;
  std::string scheduler;
  std::string phase;
  bool deleting = false;
  std::int64_t priority = 0;
  std::string nominated;       // for this node
  std::string app;             // its label
  Rule rule = Rule::none;      // from its affinity and constraints
  Amounts asks;                // for devices of any kind, all containers together
  bool pre_allocated = false;  // by its annotation
  std::string indexes;         // of its cards, as gpu-manager reads them: "0,1"
  std::string cards_text;      // the annotation; empty: none
  std::string cards_node;      // the node in the annotation
  std::vector<Share> shares;   // its content, sorted by card; empty if invalid
  [[nodiscard]] bool ended() const { return phase == "Succeeded" || phase == "Failed"; }
  [[nodiscard]] std::int64_t devices() const;  // of nvidia.com/gpu
};
[[nodiscard]] PodView view_of(const local::StoredObject& pod);
struct CardView {
  std::string id;
  std::int64_t index = 0;
  std::int64_t memory_mib = 0;
  std::int64_t slots = 0;  // 0: no limit
  bool healthy = true;
};
struct NodeView {
  std::string name;
  bool cordoned = false;
  bool counted = false;     // it never has an inventory
  bool renumbered = false;  // its cards had other indexes before
  Amounts offers;           // allocatable, whole numbers of devices
  std::vector<CardView> cards;
};
[[nodiscard]] NodeView view_of(const Plan& plan, const local::StoredObject& node);
// In the order of its inventory; empty: it has none.
[[nodiscard]] std::vector<std::string> inventory_ids(const local::StoredObject& node);

// The current objects of the API. They are read often, so each object is parsed once.
class Views {
 public:
  Views(const Plan& plan, const local::Store& store) : plan_(plan), store_(store) {}

  // By name. Valid until the next call.
  [[nodiscard]] std::vector<const PodView*> pods();
  [[nodiscard]] std::vector<const NodeView*> nodes();

 private:
  template <typename View>
  struct Read {
    local::ObjectPtr object;
    View view;
  };
  template <typename View>
  struct Known {
    std::optional<std::uint64_t> version;  // of the store when it was read
    std::map<local::ObjectName, Read<View>> read;
    std::vector<const View*> views;
  };
  template <typename View, typename Reader>
  std::vector<const View*> all(local::Kind kind, Known<View>& known, Reader read);

  const Plan& plan_;
  const local::Store& store_;
  Known<PodView> pods_;
  Known<NodeView> nodes_;
};

// True if these shares are what such a pod requests, on cards of this memory.
[[nodiscard]] bool is_what_it_asks(const PodShape& shape, const std::vector<Share>& shares);

}  // namespace stowage::faults
