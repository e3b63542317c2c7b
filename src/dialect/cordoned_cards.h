// Cards that an administrator has taken out of use, by an annotation of their node.
#pragma once

#include <string>
#include <vector>

#include "core/model/node.h"
#include "dialect/objects.h"

namespace stowage::dialect {

// Marks the cards that kCordonedCardsAnnotation names, by id or index, as unhealthy: they get no
// new pods, and the pods that are on them stay. Adds a note for each name that matches no card, and
// for counted cards: their device plugin decides which one a pod gets.
void cordon(const NodeObject& node, std::vector<core::Card>& cards,
            std::vector<std::string>& notes);

}  // namespace stowage::dialect
