#include "doctor/finding.h"

#include <algorithm>

namespace stowage::doctor {

const char* to_string(State state) {
  switch (state) {
    case State::ok: return "ok";
    case State::warning: return "warning";
    case State::wrong: return "wrong";
  }
  return "";
}

bool sound(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.state == State::wrong; });
}

}  // namespace stowage::doctor
