// The results as one self-contained HTML page: no scripts, no other files. Written for readers who
// do not know the policies.
#pragma once

#include <string>

#include "base/result.h"
#include "sim/experiment.h"

namespace stowage::sim {

[[nodiscard]] std::string render_report(const Experiment& experiment);

// Creates the folder if it is missing, and fails at once if it is not writable, so that a long
// experiment does not fail at its end.
[[nodiscard]] Status prepare_report(const std::string& folder);

// Writes index.html into the folder. Returns its path.
[[nodiscard]] Result<std::string> write_report(const std::string& folder,
                                               const Experiment& experiment);

}  // namespace stowage::sim
