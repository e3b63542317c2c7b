// Runs an engine through a random script of events and of an outside scheduler's questions.
#pragma once

#include <cstdint>

#include "core/policy/options.h"
#include "tests/decisions/log.h"

namespace stowage::decisions {

// The script depends on the seed alone; replies to commands are part of it.
void run_script(std::uint32_t seed, const core::PolicyOptions& options, Log& log);

}  // namespace stowage::decisions
