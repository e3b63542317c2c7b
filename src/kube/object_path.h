// Paths of the Kubernetes API: builds them, and finds the object that a path is about.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stowage::kube {

// "/api/v1/namespaces/<ns>/<resource>", the list, and with a name one object of it.
[[nodiscard]] std::string core_path(std::string_view ns, std::string_view resource);
[[nodiscard]] std::string core_path(std::string_view ns, std::string_view resource,
                                    std::string_view name);

struct ObjectPath {
  std::string path;      // of the object itself, without a subresource
  std::string resource;  // "pods"
  std::string name;
};
// For "/api/v1/namespaces/ns/pods/p/status?x=y": the pod p. Unset if the path names no single
// object, e.g. the path of a list.
[[nodiscard]] std::optional<ObjectPath> object_path(std::string_view target);

}  // namespace stowage::kube
