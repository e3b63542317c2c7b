// Required rules between pods, judged from the objects of the API.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "objects.h"

namespace stowage::faults {

struct RuleRequest {
  const PodView& pod;  // bound, or with a node that it might go to
  const std::vector<const PodView*>& pods;
  const std::vector<const NodeView*>& nodes;
  // No pod of its app has ended, and no node has come or gone, since this was decided; otherwise
  // only anti-affinity is checked, which the end of a pod cannot break.
  bool steady = false;
};

// Whether the binder of `pod` had to know this pod.
using MustKnow = std::function<bool(const PodView&)>;

// A rule that the node of the pod violates; empty: none.
[[nodiscard]] std::string broken_rule(const RuleRequest& ask, const MustKnow& must_know);

}  // namespace stowage::faults
