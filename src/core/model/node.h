// A node and its cards, as the ledger receives them. The cards of one node may differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/resources.h"
#include "core/model/rules.h"

namespace stowage::core {

inline constexpr std::int32_t kMilliPerCard = 1000;
inline constexpr std::size_t kMaxCardsPerNode = 64;  // one bit each in a card mask
inline constexpr std::int32_t kUnknownNuma = -1;
// More than any card has (4 TiB), and small enough that sums over all containers of a pod fit.
inline constexpr std::int32_t kMaxCardMemoryMib = 1 << 22U;

struct Card {
  std::string id;          // UUID, or "node/index" if only a number of cards is known
  std::int32_t index = 0;  // the wire contract of some dialects; unique inside the node
  std::string model;       // as reported, e.g. "NVIDIA A100-SXM4-80GB"; may be empty
  std::int32_t memory_mib = 0;
  std::int32_t slots = 0;  // how many containers may share the card; 0: no limit
  bool healthy = true;
  std::int32_t numa = kUnknownNuma;

  friend bool operator==(const Card&, const Card&) = default;
};

// How well two cards of a node are connected. Several links between one pair add up, so a matrix
// holds sums of these values; a sum of at least kNvlink means that there is an NVLink.
namespace link {
inline constexpr std::int32_t kNone = 0;
inline constexpr std::int32_t kCrossCpu = 10;
inline constexpr std::int32_t kSameCpu = 20;
inline constexpr std::int32_t kHostBridge = 30;
inline constexpr std::int32_t kMultiSwitch = 40;
inline constexpr std::int32_t kSingleSwitch = 50;
inline constexpr std::int32_t kSameBoard = 60;
inline constexpr std::int32_t kNvlink = 100;  // each
}  // namespace link

// Symmetric matrix of link sums between the cards of one node, by position in NodeSpec::cards.
// Empty: links are unknown.
struct LinkMatrix {
  std::int32_t cards = 0;
  std::vector<std::int32_t> score;  // cards * cards, row by row

  [[nodiscard]] bool known() const { return !score.empty(); }
  [[nodiscard]] std::int32_t between(std::size_t a, std::size_t b) const {
    return score[a * static_cast<std::size_t>(cards) + b];
  }
  friend bool operator==(const LinkMatrix&, const LinkMatrix&) = default;
};

struct NodeSpec {
  std::string name;
  Resources allocatable;  // allocatable.pods is the maximum number of pods
  std::vector<Card> cards;
  LinkMatrix links;
  bool schedulable = true;  // false: cordoned; only pods that tolerate this are placed here
  // The device plugin of the node's agent is not registered with the kubelet: a pod with cards that
  // is bound now fails there, so none is placed.
  bool plugin_missing = false;
  Labels labels;
  std::vector<Taint> taints;
  std::vector<std::string> offers;  // ways to allocate cards on this node; see PodSpec::needs
  // Order of nodes that a policy rates equally. Unset: by name.
  std::optional<std::uint32_t> rank;

  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

}  // namespace stowage::core
