// Small text files of others: what the kernel says about a device, what a test says about cards.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace stowage::gpu {

// The bytes of a regular file of at most so many. Never waits: a pipe or a device is refused.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max);

}  // namespace stowage::gpu
