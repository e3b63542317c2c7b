// Judges nodes that exist only in a request: a cluster autoscaler's templates for nodes that it
// could add.
#pragma once

#include <vector>

#include "codec/extender.h"
#include "core/engine/external_requests.h"

namespace stowage::extender {

// Judges each node that `answer` refuses as unknown by its JSON alone, as if it were empty, and
// moves it to those that fit, or gives it a reason. Nodes beyond the 256th and nodes that cannot be
// read stay unknown. Runs on the caller's thread; the search on each node is limited.
void judge_template_nodes(const core::PodSpec& pod, const std::vector<codec::RawNode>& nodes,
                          core::FilterAnswer& answer);

}  // namespace stowage::extender
