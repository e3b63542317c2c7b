// Small text files: of the kernel about devices, or of tests about cards.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace stowage::gpu {

// The content of a regular file of at most this size. Never waits: pipes and devices are refused.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max);

}  // namespace stowage::gpu
