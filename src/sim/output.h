// The results of an experiment as text: for people, for programs, for spreadsheets.
#pragma once

#include <cstdint>
#include <string>

#include "sim/experiment.h"

namespace stowage::sim {

enum class OutputFormat : std::uint8_t { table, json, csv };

// A table with one row per run and, where there are several seeds, the mean of each policy; a JSON
// object for one run, or a list of them for several; or CSV with a header and one line per run.
// What was never reached or measured is "-", null, or an empty field.
[[nodiscard]] std::string render(const Experiment& experiment, OutputFormat format);

// What was simulated, in one line.
[[nodiscard]] std::string headline(const Experiment& experiment);

}  // namespace stowage::sim
