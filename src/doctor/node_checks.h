// Can this node give cards to containers, and only to those that asked for them? Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "doctor/finding.h"
#include "doctor/node_facts.h"

namespace stowage::doctor {

// How the agent can give a card to a container (its flag --injection).
enum class Way : std::uint8_t {
  none,
  cdi,      // device nodes and libraries, copied from NVIDIA's CDI specification
  runtime,  // the variable that NVIDIA's runtime reads
};
[[nodiscard]] const char* to_string(Way way);

struct NodeReport {
  Way way = Way::none;
  std::vector<Finding> findings;  // in the order of the road of a card: driver first
};
[[nodiscard]] NodeReport examine(const NodeFacts& facts);

}  // namespace stowage::doctor
