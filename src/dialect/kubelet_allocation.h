// The device assignments of a node's kubelet, converted to cards. Device plugins choose their own
// device ids. NVIDIA's uses the card's UUID, or the UUID and a number if several containers share a
// card. Ids that match no card of the node are ignored.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"
#include "core/model/pod.h"

namespace stowage::dialect {

// Device ids by container name. The kubelet does not list plain init containers.
using KubeletAllocation = std::map<std::string, std::vector<std::string>>;

// The position of the card of a device id: "GPU-8f6c", "GPU-8f6c::2". Unset: no card matches.
[[nodiscard]] std::optional<std::uint32_t> card_of_device(std::string_view device,
                                                          const core::NodeSpec& node);

// The ids of the allocated cards, each once, sorted.
[[nodiscard]] std::vector<std::string> cards_in(const KubeletAllocation& allocation,
                                                const core::NodeSpec& node);

// The cards of the pod. Unset: no device matches a card of the node. An error if the number of
// cards differs from the pod's request.
[[nodiscard]] Result<std::optional<core::Assignment>> cards_by_kubelet(
    const core::PodSpec& pod, const core::NodeSpec& node, const KubeletAllocation& allocation);

}  // namespace stowage::dialect
