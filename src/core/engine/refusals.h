// What is told with a refusal besides the counts: names of models and cards, and whether any node
// could help.
#pragma once

#include "core/engine/beyond.h"
#include "core/index/ranking.h"
#include "core/place/shape.h"

namespace stowage::core {

struct ClusterState;

// The names of models and cards, and whether the pod names its cards itself. From the ledger and
// the shape alone, so that a replay says the same. Requires: the ranking is that of the shape, and
// up to date.
void add_card_names(const Ledger& ledger, const Shape& shape, const Ranking& ranking,
                    Refusal& refusal);
// What the quota has to say, and claims: with its numbers, and whether any node could help. The pod
// is bounded by its quota.
void add_bounds(const ClusterState& cluster, const PodSpec& pod, const Beyond& more,
                Refusal& refusal);

}  // namespace stowage::core
