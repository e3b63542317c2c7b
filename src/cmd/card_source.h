// The flag --cards: where to read the cards of this machine.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "gpu/source.h"

namespace stowage::cmd {

// "nvml", "nvml:LIBRARY" or "fake:FILE". `node`: its name, for ids that a file leaves out.
[[nodiscard]] Result<std::unique_ptr<gpu::Source>> card_source(const std::string& cards,
                                                               const std::string& node);

}  // namespace stowage::cmd
