// The kinds of objects that the local API server knows, as one constant table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace stowage::local {

enum class Kind : std::uint8_t {
  config_map,
  endpoints,
  event,
  ns,
  node,
  persistent_volume_claim,
  persistent_volume,
  pod,
  replication_controller,
  secret,
  service_account,
  service,
  daemon_set,
  deployment,
  replica_set,
  stateful_set,
  job,
  lease,
  pod_disruption_budget,
  cluster_role_binding,
  cluster_role,
  role_binding,
  role,
  priority_class,
  csi_driver,
  csi_node,
  csi_storage_capacity,
  storage_class,
  volume_attachment,
};
constexpr std::string_view kEventsGroup = "events.k8s.io";  // a second form of core events

constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::volume_attachment) + 1;

struct Resource {
  Kind kind_id = Kind::pod;
  std::string_view group;  // "" is the core group
  std::string_view version;
  std::string_view plural;  // "pods"
  std::string_view singular;
  std::string_view kind;  // "Pod"
  bool namespaced = false;
  bool counts_generation = false;  // metadata.generation counts the changes of spec
  std::span<const std::string_view> short_names;
  std::span<const std::string_view> categories;
  std::span<const std::string_view> subresources;
  // Paths for field selectors, besides metadata.name and metadata.namespace.
  std::span<const std::string_view> fields;

  [[nodiscard]] bool has_subresource(std::string_view name) const;
  // The index of `path` in `fields`.
  [[nodiscard]] std::optional<std::size_t> field_index(std::string_view path) const;
};

[[nodiscard]] std::span<const Resource> all_resources();  // in the order of Kind
[[nodiscard]] const Resource& resource_of(Kind kind);
// "pods" in group "" and version "v1"; null if there is no such resource. Events of events.k8s.io
// are found as events of the core group.
[[nodiscard]] const Resource* find_resource(std::string_view group, std::string_view version,
                                            std::string_view plural);
// "v1" or "apps/v1".
[[nodiscard]] std::string_view api_version_of(Kind kind);

}  // namespace stowage::local
