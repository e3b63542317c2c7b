// The keys of the configuration about what pods meet on their way to cards: the resources of nodes
// and the admission webhook.
#pragma once

#include "controller/config.h"
#include "yaml/strict_map.h"

namespace stowage::controller {

void read_node_resources(yaml::StrictMap& root, Config& config);
// Requires: metricsApi has been read.
void read_webhook(yaml::StrictMap& root, Config& config);

}  // namespace stowage::controller
