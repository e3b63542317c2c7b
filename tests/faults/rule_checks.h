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
  // Nobody of its app has ended, and no node has come or gone, since this was decided: else only
  // anti-affinity is judged, which no end of a pod can break.
  bool steady = false;
};

// Whether this pod is one that whoever bound `pod` had to know of.
using MustKnow = std::function<bool(const PodView&)>;

// A rule that the place of the pod breaks; empty: none.
[[nodiscard]] std::string broken_rule(const RuleRequest& ask, const MustKnow& must_know);

}  // namespace stowage::faults
