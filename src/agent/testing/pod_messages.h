// Answers of a kubelet, made by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/testing/protobuf_out.h"

namespace stowage::agent::testing {

using codec::testing::bytes;
using codec::testing::integer;

[[nodiscard]] inline std::string numa_node(std::int64_t node) {
  return bytes(1, node == 0 ? "" : integer(1, static_cast<std::uint64_t>(node)));
}

// An entry of a container: a resource, ids, and NUMA nodes.
[[nodiscard]] inline std::string devices(std::string_view resource,
                                         const std::vector<std::string>& ids,
                                         const std::vector<std::int64_t>& nodes = {}) {
  std::string out = bytes(1, resource);
  for (const std::string& id : ids) out += bytes(2, id);
  std::string topology;
  for (const std::int64_t node : nodes) topology += numa_node(node);
  if (!nodes.empty()) out += bytes(3, topology);
  return bytes(2, out);
}

[[nodiscard]] inline std::string container(std::string_view name, std::string_view entries) {
  return bytes(3, bytes(1, name) + std::string(entries));
}

[[nodiscard]] inline std::string pod(std::string_view ns, std::string_view name,
                                     std::string_view containers) {
  return bytes(1, bytes(1, name) + bytes(2, ns) + std::string(containers));
}

// A pod with one container and one card.
[[nodiscard]] inline std::string small_pod(std::string_view name, const std::string& card) {
  return pod("ns", name, container("main", devices("nvidia.com/gpu", {card}, {0})));
}

}  // namespace stowage::agent::testing
