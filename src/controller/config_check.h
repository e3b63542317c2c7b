// Checks across several keys of a configuration: two listeners on one address, two schedulers of
// one name.
#pragma once

#include <string>
#include <vector>

#include "controller/config.h"

namespace stowage::controller {

// An error message if two listeners cannot both have their address; otherwise empty.
[[nodiscard]] std::string listeners_clash(const Config& config);

// Removes the profiles whose name belongs to a kube-scheduler that uses one of our extenders.
void leave_to_kube_scheduler(Config& config);

// Warnings about settings that are valid but may not work as intended.
[[nodiscard]] std::vector<std::string> warnings_of(const Config& config);

}  // namespace stowage::controller
