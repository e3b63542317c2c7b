// What a node's kubelet says about who has which device, read as cards. Device plugins name devices
// as they like: those of NVIDIA by the card's UUID, or by the UUID and a number where several
// containers share a card. Names that speak of no card of the node say nothing.
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

// Device ids by the name of the container. The kubelet does not list plain init containers.
using KubeletWord = std::map<std::string, std::vector<std::string>>;

// The position of the card that a device's id speaks of: "GPU-8f6c", "GPU-8f6c::2". Unset: of none.
[[nodiscard]] std::optional<std::uint32_t> card_of_device(std::string_view device,
                                                          const core::NodeSpec& node);

// The ids of the cards that the word speaks of, each once, sorted.
[[nodiscard]] std::vector<std::string> cards_in(const KubeletWord& word,
                                                const core::NodeSpec& node);

// The cards of the pod. Unset: the word speaks of no card that the node has. An error if it speaks
// of others than the pod can have: another number of them.
[[nodiscard]] Result<std::optional<core::Assignment>> cards_by_kubelet(const core::PodSpec& pod,
                                                                       const core::NodeSpec& node,
                                                                       const KubeletWord& word);

}  // namespace stowage::dialect
