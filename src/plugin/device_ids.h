// The device ids that the plugin offers: names of places, not of cards. attachment-0001 may mean
// any card; which one it is, is decided per pod.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "dialect/carriers.h"
#include "plugin/messages.h"

namespace stowage::plugin {

using dialect::kAttachment;
using dialect::kInitAttachment;
inline constexpr std::array kResources = dialect::kCarriers;

// The kubelet writes all ids to its checkpoint with every container: a thousand cost milliseconds.
inline constexpr std::size_t kDevicesMax = 4096;

// "attachment-0001", "init-attachment-0001": unique over both resources. Sorted.
[[nodiscard]] Ids device_ids(std::string_view resource, std::size_t count);
[[nodiscard]] bool is_device_id(std::string_view resource, std::size_t count, std::string_view id);

}  // namespace stowage::plugin
