// One decision with all its inputs: the cluster, the policy's learned state, the pod, and the
// outcome. A running engine writes it; a replay gives the same bytes anywhere. Used to report a
// surprising placement and to test a fix.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/event.h"
#include "core/policy/options.h"
#include "core/price/blocks.h"
#include "core/price/model.h"

namespace stowage::core {

struct PlacedPod {
  PodSpec pod;
  std::string node;
  std::optional<Assignment> cards;
};

// The policy's learned state. The ledger numbers node classes and card sizes in the order in which
// they appear, so the record identifies them by a node of the class and by MiB.
struct LearnedState {
  PriceModel price;
  std::vector<std::string> class_node;   // by class number; empty: no node left
  std::vector<std::int32_t> memory_mib;  // by memory class
  Blocks::State blocks;
  std::int32_t group = -1;  // of the pod, in blocks
};

struct DecisionRecord {
  PolicyOptions options;
  std::vector<NodeSpec> nodes;                   // in row order, with their ranks
  std::vector<std::vector<std::uint16_t>> busy;  // by node, as in the ledger
  std::vector<PlacedPod> pods;
  LearnedState learned;
  std::uint64_t draw = 0;
  PodSpec pod;
  // Nodes that the pod's rules about other pods, ports and volumes exclude; the inputs of these
  // rules are not recorded. Preferences are not recorded either: the first of equal nodes is
  // chosen.
  std::vector<std::string> barred;
  std::string outcome;  // the commands, as text
};

[[nodiscard]] std::string to_text(const DecisionRecord& record);
// Fails with the byte position of the first invalid token.
[[nodiscard]] Result<DecisionRecord> parse_decision(std::string_view text);

// Commands as text; equal commands give equal text.
[[nodiscard]] std::string to_text(const Commands& commands);

// A placed pod with exactly the charges of the ledger's record. `node` is the pod's node.
[[nodiscard]] PlacedPod to_placed_pod(const PodRecord& record, const NodeSpec& node);

}  // namespace stowage::core
