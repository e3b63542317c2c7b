// Checks a JSON tree against the schema, as the API's decoder does: wrong types are an error; nulls
// and unknown members are removed, and unknown members are reported.
#pragma once

#include <string>
#include <vector>

#include "local/json.h"
#include "local/schema.h"

namespace stowage::local {

struct Findings {
  std::string error;                 // "json: cannot unmarshal ..."; then the tree is unusable
  std::vector<std::string> unknown;  // "spec.containers[0].imagee"
};

// Afterwards every member has the type that the schema gives it, quantities given as numbers are
// texts, and unknown members are gone.
[[nodiscard]] Findings conform(json::object& object, const Message& message);

}  // namespace stowage::local
