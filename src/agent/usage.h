// The memory of each card that the containers of the node really use: the processes on the card,
// grouped by container.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/node_pods.h"
#include "gpu/source.h"

namespace stowage::agent {

struct Usage {
  ContainerName who;  // empty: processes of no known container
  std::string card;
  std::int64_t memory_mib = 0;  // of processes whose memory the driver reports
  std::int64_t processes = 0;
  friend bool operator==(const Usage&, const Usage&) = default;
};

// Sorted by container and card. `owner` returns the container of a process; null: unknown.
using ProcessOwner = std::function<const ContainerName*(std::uint32_t pid)>;
[[nodiscard]] std::vector<Usage> usage_of(const std::vector<gpu::CardSample>& samples,
                                          const ProcessOwner& owner);

}  // namespace stowage::agent
