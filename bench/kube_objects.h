// Nodes, pods, bindings and events as the race creates them: text, made from numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stowage::bench {

inline constexpr const char* kPodsPath = "/api/v1/namespaces/default/pods";
inline constexpr const char* kEventsPath = "/apis/events.k8s.io/v1/namespaces/default/events";

[[nodiscard]] std::string node_name(int number);
[[nodiscard]] std::string pod_name(const std::string& prefix, int number);

// A ready node with 8 cards, 128 CPUs, 1 TiB and a limit of 110 pods.
[[nodiscard]] std::string node_json(int number);
// A training pod with one card: requests, environment, a volume, a toleration.
[[nodiscard]] std::string pod_json(const std::string& prefix, int number,
                                   const std::string& scheduler);
[[nodiscard]] std::string binding_json(const std::string& pod, const std::string& node);
// The same in the API server's binary form, with its envelope.
[[nodiscard]] std::string binding_protobuf(const std::string& pod, const std::string& node);
[[nodiscard]] std::string event_json(const std::string& pod, const std::string& node);

// From one event of a watch: the pod, and the version to continue from. Empty if it has none.
struct PodSeen {
  std::string_view name;
  std::string_view version;
};
[[nodiscard]] PodSeen seen_json(std::string_view line);
// The size of an event with its length prefix; 0: the prefix is incomplete.
[[nodiscard]] std::size_t frame_size(std::string_view bytes);
[[nodiscard]] PodSeen seen_protobuf(std::string_view frame);

}  // namespace stowage::bench
