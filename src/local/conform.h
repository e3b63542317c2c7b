// Holds a JSON tree against the schema, as the API's decoder does: wrong types are an error, nulls
// and unknown members are taken out, and the latter are told.
#pragma once

#include <string>
#include <vector>

#include "local/json.h"
#include "local/schema.h"

namespace stowage::local {

struct Findings {
  std::string error;                 // "json: cannot unmarshal ..."; "" if none. Then the tree is
                                     // not to be used.
  std::vector<std::string> unknown;  // "spec.containers[0].imagee"
};

// Afterwards every member is of the type that the schema says, a number given as a quantity is its
// text, and nothing else is there.
[[nodiscard]] Findings conform(json::object& object, const Message& message);

}  // namespace stowage::local
