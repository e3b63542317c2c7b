// Which object a path of the Kubernetes API is about.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stowage::kube {

struct ObjectPath {
  std::string path;      // of the object itself, without a subresource
  std::string resource;  // "pods"
  std::string name;
};
// Of "/api/v1/namespaces/ns/pods/p/status?x=y" the pod p. Unset if no single object is named, as in
// the path of a list.
[[nodiscard]] std::optional<ObjectPath> object_path(std::string_view target);

}  // namespace stowage::kube
