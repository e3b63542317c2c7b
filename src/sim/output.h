// The results of an experiment as text: a table, JSON or CSV.
#pragma once

#include <cstdint>
#include <string>

#include "sim/experiment.h"

namespace stowage::sim {

enum class OutputFormat : std::uint8_t { table, json, csv };

// A table with one row per run and, for several seeds, the mean of each policy; a JSON object for
// one run, or a list for several; or CSV with a header and one line per run. Missing values are
// "-", null, or an empty field.
[[nodiscard]] std::string render(const Experiment& experiment, OutputFormat format);

// A description of the simulation, in one line.
[[nodiscard]] std::string headline(const Experiment& experiment);

}  // namespace stowage::sim
