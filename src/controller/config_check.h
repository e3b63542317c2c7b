// What no single key of a configuration shows: two that listen in one place, two that answer to one
// name.
#pragma once

#include <string>
#include <vector>

#include "controller/config.h"

namespace stowage::controller {

// Two listeners that cannot both have their address: a sentence; empty if there are none.
[[nodiscard]] std::string listeners_clash(const Config& config);

// Takes out the profiles whose name kube-scheduler has where it asks one of our extenders.
void leave_to_kube_scheduler(Config& config);

// What is read without an error and may still not work as meant, in sentences.
[[nodiscard]] std::vector<std::string> warnings_of(const Config& config);

}  // namespace stowage::controller
