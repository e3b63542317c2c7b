// How much of each card's memory the containers of the node really use: processes on the card, by
// the containers that they belong to.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/node_pods.h"
#include "gpu/source.h"

namespace stowage::agent {

struct Usage {
  ContainerName who;  // empty: processes of no container that is known
  std::string card;
  std::int64_t memory_mib = 0;  // of processes whose memory the driver tells
  std::int64_t processes = 0;
  friend bool operator==(const Usage&, const Usage&) = default;
};

// In the order of containers and cards. `owner` says whose a process is; null: nobody knows.
using ProcessOwner = std::function<const ContainerName*(std::uint32_t pid)>;
[[nodiscard]] std::vector<Usage> usage_of(const std::vector<gpu::CardSample>& samples,
                                          const ProcessOwner& owner);

}  // namespace stowage::agent
