// What `stowage local demo` submits: pods of every dialect and size, a Deployment, a Job, and one
// pod that no node can take. Sized to the cluster, so that it fills most of it. Pure.
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

// Some pods that are alike, in words.
struct DemoPart {
  std::string what;  // "share of a card: a quarter of compute, 16384 MiB"
  std::int64_t pods = 0;
};

struct DemoWorkload {
  std::vector<DemoPart> parts;
  std::vector<DemoObject> objects;  // the namespace first
  std::int64_t pods = 0;            // that can be placed
  std::string impossible;           // the name of the pod that can not
  std::string impossible_wish;      // what it asks for, in words
};

// Requires: count_nodes() has a value.
[[nodiscard]] DemoWorkload make_demo_workload(const std::vector<NodeGroup>& nodes);

}  // namespace stowage::local
