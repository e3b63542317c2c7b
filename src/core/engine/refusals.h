// What a refusal says about cards besides the counts: the names of models and cards, and whether
// the pod names its cards itself. From the ledger and the shape alone, so that a replay says the
// same.
#pragma once

#include "core/index/ranking.h"
#include "core/place/shape.h"

namespace stowage::core {

// Requires: the ranking is that of the shape, and up to date.
void add_card_names(const Ledger& ledger, const Shape& shape, const Ranking& ranking,
                    Refusal& refusal);

}  // namespace stowage::core
