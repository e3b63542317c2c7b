// For tests: objects in one line each.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "dialect/objects.h"

namespace stowage::dialect::testing {

using Amounts = std::initializer_list<std::pair<const char*, const char*>>;

inline Quantities quantities(Amounts amounts) {
  Quantities out;
  for (const auto& [name, text] : amounts) out[name] = base::Quantity::parse(text).value();
  return out;
}

// Requests equal limits, as the API server sets extended resources.
inline ContainerObject container(const char* name, Amounts amounts) {
  return {.name = name, .requests = quantities(amounts), .limits = quantities(amounts)};
}

inline PodObject pod(std::vector<ContainerObject> containers) {
  return {.ns = "ml", .name = "train", .uid = "u-1", .containers = std::move(containers)};
}

inline NodeObject node(Amounts allocatable) {
  return {
      .name = "n1", .capacity = quantities(allocatable), .allocatable = quantities(allocatable)};
}

}  // namespace stowage::dialect::testing
