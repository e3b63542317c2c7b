// Configuration, tokens and certificates: files that are small and read whole.
#pragma once

#include <string>

#include "base/result.h"

namespace stowage::kube {

// The file's bytes. Above 4 MiB it is refused: no such file is that large.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path);

}  // namespace stowage::kube
