// Runs an engine over a trace and logs all of it.
#pragma once

#include "base/result.h"
#include "core/policy/options.h"
#include "sim/trace.h"
#include "tests/decisions/log.h"

namespace stowage::decisions {

// Pods come in random order until 130 % of the cluster's GPUs were asked for. One that does not fit
// is lost; every bind succeeds.
[[nodiscard]] Status fill(const sim::Trace& trace, core::PolicyOptions options, Log& log);

// Pods come at random, wait until they fit, live for a while and go. Some binds fail; time passes.
[[nodiscard]] Status churn(const sim::Trace& trace, core::PolicyOptions options, Log& log);

}  // namespace stowage::decisions
