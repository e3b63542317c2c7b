// Where pods would go, and on which cards, in a cluster that is known only from its manifests.
// Objects are read as in the scheduler (scheduler/cluster_cache.h), the engine decides, and nothing
// is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/manifests.h"
#include "dialect/objects.h"
#include "scheduler/profile.h"
#include "scheduler/quota_source.h"

namespace stowage::client {

struct WhatIfRequest {
  const std::vector<Manifests>& cluster;  // nodes, pods, ConfigMaps; other kinds are ignored
  const std::vector<Manifests>& add;      // pods, or objects that create pods, in the order of
                                          // placement
  std::vector<scheduler::Profile> profiles;
  scheduler::QuotaOptions quota;
  std::string scheduler_name;   // the profile for all pods; empty: each pod's own, or the first
                                // profile
  bool pending = false;         // place unbound pods of the cluster before those to add
  std::int64_t unix_nanos = 0;  // current time
};

struct CardUse {
  std::int32_t index = 0;
  std::string id;
  std::int32_t milli = 0;
  std::int32_t memory_mib = 0;
};
struct ContainerUse {
  std::string name;
  std::vector<CardUse> cards;
  std::int32_t unnamed = 0;  // cards that it gets without a choice of indexes
};

struct Placement {
  std::string pod;   // "namespace/name"
  std::string node;  // empty: no node takes it, or it cannot be read
  std::vector<ContainerUse> containers;
  dialect::Annotations annotations;  // the annotations that a bind would write
  dialect::Annotations labels;
  std::string reason;     // why it is not placed; empty: placed
  std::string condition;  // the reason in the condition PodScheduled=False
};

struct WhatIf {
  std::vector<Placement> placements;
  std::vector<std::string> notes;  // messages about objects of the cluster
  std::size_t nodes = 0;
  std::size_t bound_pods = 0;

  [[nodiscard]] std::size_t placed() const;
};

// Fails if the input as a whole is invalid: an unknown profile, a node that cannot be read. A
// single pod to add that cannot be read becomes a placement with a reason. One that is already on a
// node, or is named twice, is skipped with a note.
[[nodiscard]] Result<WhatIf> what_if(const WhatIfRequest& ask);

}  // namespace stowage::client
