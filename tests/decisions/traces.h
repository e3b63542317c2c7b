// Runs an engine over a trace and logs everything.
#pragma once

#include "base/result.h"
#include "core/policy/options.h"
#include "sim/trace.h"
#include "tests/decisions/log.h"

namespace stowage::decisions {

// Pods come in random order until 130 % of the cluster's GPUs were requested. A pod that does not
// fit is dropped; every bind succeeds.
[[nodiscard]] Status fill(const sim::Trace& trace, core::PolicyOptions options, Log& log);

// Pods come at random, wait until they fit, live for a while and go. Some binds fail; time passes.
[[nodiscard]] Status churn(const sim::Trace& trace, core::PolicyOptions options, Log& log);

}  // namespace stowage::decisions
