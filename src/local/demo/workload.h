// What `stowage local demo` submits: pods of every dialect and size, a Deployment, a Job, and one
// pod that fits on no node. Scaled to fill most of the cluster. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "local/fleet/fleet.h"
#include "local/json.h"

namespace stowage::local {

inline constexpr std::string_view kDemoNamespace = "demo";

// A request that creates an object.
struct DemoObject {
  std::string path;  // "/api/v1/namespaces/demo/pods"
  json::object body;
};

// A group of similar pods, in words.
struct DemoPart {
  std::string what;  // "share of a card: a quarter of compute, 16384 MiB"
  std::int64_t pods = 0;
};

struct DemoWorkload {
  std::vector<DemoPart> parts;
  std::vector<DemoObject> objects;  // the namespace first
  std::int64_t pods = 0;            // that fit
  std::string impossible;           // the name of the pod that does not fit
  std::string impossible_wish;      // its request, in words
};

// Requires: count_nodes() has a value.
[[nodiscard]] DemoWorkload make_demo_workload(const std::vector<NodeGroup>& nodes);

}  // namespace stowage::local
