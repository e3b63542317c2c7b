// The findings as text.
#pragma once

#include <string>

#include "doctor/node_checks.h"

namespace stowage::doctor {

// A line for each check, and its remedy below it.
[[nodiscard]] std::string to_table(const NodeReport& report);
// {"sound": true, "injection": "cdi", "findings": [{"check", "state", "text", "remedy"}]}
[[nodiscard]] std::string to_json(const NodeReport& report);

}  // namespace stowage::doctor
