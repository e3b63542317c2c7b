// The results as one HTML page that needs nothing else: no scripts, no other files. Written for
// people who have never heard of any of the policies.
#pragma once

#include <string>

#include "base/result.h"
#include "sim/experiment.h"

namespace stowage::sim {

[[nodiscard]] std::string render_report(const Experiment& experiment);

// Creates the folder where it is missing and says at once if it cannot be written to, so that a
// long experiment does not end in a surprise.
[[nodiscard]] Status prepare_report(const std::string& folder);

// Writes index.html into the folder. Returns its path.
[[nodiscard]] Result<std::string> write_report(const std::string& folder,
                                               const Experiment& experiment);

}  // namespace stowage::sim
