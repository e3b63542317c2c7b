// Where pods would go, and on which cards, in a cluster that is known from its manifests alone. The
// objects mean what they mean to the scheduler (scheduler/roster.h), the engine decides, nothing is
// written anywhere.
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

struct WhatIfAsk {
  const std::vector<Manifests>& cluster;  // nodes, pods, ConfigMaps; other kinds are passed over
  const std::vector<Manifests>& add;      // pods, or what makes pods, in the order of placing
  std::vector<scheduler::Profile> profiles;
  scheduler::QuotaOptions quota;
  std::string scheduler_name;   // the profile for all pods; empty: each pod's own, or the first one
  bool pending = false;         // unbound pods of the cluster are placed before those to add
  std::int64_t unix_nanos = 0;  // now
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
  std::int32_t unnamed = 0;  // cards that it gets, but nobody here chooses which
};

struct Placement {
  std::string pod;   // "namespace/name"
  std::string node;  // empty: no node takes it, or it can not be read
  std::vector<ContainerUse> containers;
  dialect::Annotations annotations;  // what would be written on the pod
  dialect::Annotations labels;
  std::string reason;     // why not; empty: placed
  std::string condition;  // the reason that the condition PodScheduled=False would have
};

struct WhatIf {
  std::vector<Placement> placements;
  std::vector<std::string> notes;  // about objects of the cluster, in sentences
  std::size_t nodes = 0;
  std::size_t bound_pods = 0;

  [[nodiscard]] std::size_t placed() const;
};

// An error if the input as a whole makes no sense: an unknown profile, a node that can not be read.
// A single pod to add that can not be read is a placement with a reason; one that is on a node
// already, or is named twice, is passed over with a note.
[[nodiscard]] Result<WhatIf> what_if(const WhatIfAsk& ask);

}  // namespace stowage::client
