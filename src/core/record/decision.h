// One decision with everything it depended on: the cluster, what the policy had learned, the pod,
// and the outcome. Written by a running engine, replayed anywhere to the same bytes. This is how a
// surprising placement is reported, and how a fix is tested on it.
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

// What the policy had learned. Node classes and card sizes are numbered by the ledger in the order
// in which it met them, so the record names them: by a node of the class, and by MiB.
struct LearnedState {
  PriceModel price;
  std::vector<std::string> class_node;   // by class number; empty: no node left
  std::vector<std::int32_t> memory_mib;  // by memory class
  Blocks::State blocks;
  std::int32_t group = -1;  // of the pod, in blocks
};

struct DecisionRecord {
  PolicyOptions options;
  std::vector<NodeSpec> nodes;                   // in slot order, with their ranks
  std::vector<std::vector<std::uint16_t>> busy;  // by node, as in the ledger
  std::vector<PlacedPod> pods;
  LearnedState learned;
  std::uint64_t draw = 0;
  PodSpec pod;
  // Nodes that the pod's rules about other pods, ports and volumes rule out: what these depend on
  // is not part of the record. Preferences are not either: of equal nodes the first is taken.
  std::vector<std::string> barred;
  std::string outcome;  // the commands, as text
};

[[nodiscard]] std::string to_text(const DecisionRecord& record);
// Fails with the byte position of the first thing that cannot be read.
[[nodiscard]] Result<DecisionRecord> parse_decision(std::string_view text);

// Commands as text, the same for equal commands.
[[nodiscard]] std::string to_text(const Commands& commands);

// A placed pod that charges exactly what the ledger's record does. The node is the one it is on.
[[nodiscard]] PlacedPod to_placed_pod(const PodRecord& record, const NodeSpec& node);

}  // namespace stowage::core
