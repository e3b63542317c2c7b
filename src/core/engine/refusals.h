// The details of a refusal besides the counts: names of models and cards, and whether a new node
// could help.
#pragma once

#include "core/engine/constraint_filter.h"
#include "core/index/ranking.h"
#include "core/place/shape.h"

namespace stowage::core {

struct ClusterState;

// Adds the names of models and cards, and whether the pod asks for cards by id. Uses only the
// ledger and the shape, so that a replay gives the same result. Requires: the ranking belongs to
// the shape and is up to date.
void add_card_names(const Ledger& ledger, const Shape& shape, const Ranking& ranking,
                    Refusal& refusal);
// Adds the limits by quota and claims, with their numbers, and whether a new node could help. `pod`
// is bounded by its quota.
void add_bounds(const ClusterState& cluster, const PodSpec& pod, const ConstraintFilter& more,
                Refusal& refusal);

}  // namespace stowage::core
