// The resources that the device plugin of the agent registers. They say that a container uses
// cards, but neither which nor how much: that is in the pod's other resources and in the decision.
//
//   stowage.dev/attachment       1 in each app container and sidecar that uses cards
//   stowage.dev/init-attachment  k in the k-th init container that uses cards, counted from 1:
//                                the kubelet gives the same devices to init containers that ask
//                                for the same number, so different numbers tell them apart
#pragma once

#include <array>
#include <string_view>

namespace stowage::dialect {

inline constexpr std::string_view kAttachment = "stowage.dev/attachment";
inline constexpr std::string_view kInitAttachment = "stowage.dev/init-attachment";
inline constexpr std::array kCarriers{kAttachment, kInitAttachment};

}  // namespace stowage::dialect
