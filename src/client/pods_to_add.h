// The pods that manifests ask for: pods themselves, and those that a Deployment, ReplicaSet,
// ReplicationController, StatefulSet or Job would create from its template, named name-0, name-1,
// ... Fields that the API server would fill in are filled in: the namespace, a name, a uid.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/manifests.h"
#include "dialect/objects.h"

namespace stowage::client {

inline constexpr std::size_t kMaxReplicas = 100'000;  // of one object

struct PodToAdd {
  std::string name;  // "namespace/name"
  dialect::PodObject object;
  std::string unread;  // why the object cannot be read; empty: it was
};

struct PodsToAdd {
  std::vector<PodToAdd> pods;
  std::vector<std::string> passed_over;  // kinds that create no pod, each once
};

// Never fails: an object that cannot be read becomes a pod with a reason. Adds to `out`.
void add_pods_of(const Manifest& manifest, PodsToAdd& out);

// The same uid for the same name, in the form of a UUID.
[[nodiscard]] std::string made_uid(std::string_view pod);

}  // namespace stowage::client
