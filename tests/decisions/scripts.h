// Runs an engine through a random script of events and of requests from another scheduler.
#pragma once

#include <cstdint>

#include "core/policy/options.h"
#include "tests/decisions/log.h"

namespace stowage::decisions {

// The script depends only on the seed; it includes replies to commands.
void run_script(std::uint32_t seed, const core::PolicyOptions& options, Log& log);

}  // namespace stowage::decisions
