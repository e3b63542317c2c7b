// The quantities that Stowage publishes in the status of nodes whose cards its device plugin gives
// out: stowage.dev/gpu-core and those of the dialects. The kubelet keeps them, checks at admission
// that the pods of the node ask for no more in total, and calls no plugin for them.
//
// Which of them are ours is recorded on the node, in kNodeResourcesAnnotation, in the same write:
//
//   stowage.dev/node-resources: stowage.dev/gpu-core=800,stowage.dev/gpu-memory=655360
//
// A name that is on the node but not in the record belongs to another plugin and is left alone. So
// is a name in the record with another amount that is not zero: another plugin has taken it over.
// Zero, or an absent name, means that the kubelet has reset what we wrote.
//
// What is in the record is derived from the inventory, so it never counts as a source of cards.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/node.h"
#include "dialect/objects.h"
#include "dialect/own_annotations.h"

namespace stowage::dialect {

using NodeAmounts = std::map<std::string, std::int64_t>;  // by resource name

// The part of one card that a unit of a resource stands for.
struct CardAmount {
  enum class Of : std::uint8_t { requests, percent, memory };
  std::string_view resource;
  Of of = Of::percent;
  std::int32_t unit_mib = 1;  // of memory
};

// The dialects that have such quantities, by name.
[[nodiscard]] std::vector<std::string> published_dialects();
// True if the resource is one of these quantities in one of these dialects.
[[nodiscard]] bool is_published(std::string_view resource, std::span<const std::string> dialects);

struct NodeAmountsOptions {
  std::vector<std::string> dialects;  // by name
  // How many containers may ask for the same card with stowage.dev/gpu, if the inventory does not
  // limit them. The kubelet refuses pods that ask for more in total.
  std::int32_t requests_per_card = 100;
};
// The total of all cards, including unhealthy ones: pods that still run there count in the sum that
// the kubelet checks, and the scheduler uses no unhealthy card. Amounts of zero are left out.
[[nodiscard]] NodeAmounts node_amounts(std::span<const core::Card> cards,
                                       const NodeAmountsOptions& options);

// What a node has of these resources, in the record and in its status.
struct NodeOffer {
  std::string uid;
  std::string resource_version;
  NodeAmounts recorded;        // by the annotation
  NodeAmounts capacity;        // of names that any dialect publishes
  NodeAmounts allocatable;     // the same
  bool recorded_text = false;  // the annotation exists, even if it cannot be read
  friend bool operator==(const NodeOffer&, const NodeOffer&) = default;
};
[[nodiscard]] NodeOffer read_offer(const NodeObject& node);
// The names that the node's annotation records; empty if it cannot be read.
[[nodiscard]] NodeAmounts recorded_amounts(const NodeObject& node);

// The changes that make a node offer `wanted`.
struct NodeOfferPlan {
  NodeAmounts write;                 // to capacity and allocatable
  std::vector<std::string> remove;   // from both
  std::vector<std::string> foreign;  // wanted, but they belong to another plugin
  NodeAmounts record;                // what the annotation says from then on; empty: it is removed
  bool changes = false;
};
[[nodiscard]] NodeOfferPlan plan_offer(const NodeOffer& there, const NodeAmounts& wanted);
// The value of the annotation.
[[nodiscard]] std::string record_text(const NodeAmounts& amounts);

}  // namespace stowage::dialect
