// A scheduler name that pods may ask for (spec.schedulerName), and how its pods are placed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/policy/options.h"
#include "dialect/dialect.h"

namespace stowage::scheduler {

struct Profile {
  std::string name;
  core::PolicyOptions policy;
  dialect::ReadOptions reading;
};

// What Stowage answers for unless the configuration says otherwise: `stowage`, and the names of the
// schedulers that it replaces.
[[nodiscard]] std::vector<Profile> built_in_profiles();

}  // namespace stowage::scheduler
