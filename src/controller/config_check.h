// Checks across several keys of a configuration: two listeners on one address, two schedulers of
// one name. And across two configurations: what a change of a key needs.
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

// The keys whose change has no effect before a restart of the process.
[[nodiscard]] std::vector<std::string> keys_that_need_restart(const Config& old,
                                                              const Config& fresh);
// Gives `fresh` the values of `old` for the keys that need a restart.
void keep_until_restart(const Config& old, Config& fresh);

}  // namespace stowage::controller
