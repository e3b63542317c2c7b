// Volumes that are provisioned on demand: claims of the plan's pods wait for their first consumer,
// and a provisioner creates the volume some time after a scheduler has selected a node. It may give
// up: then it removes the node from the claim, and the scheduler has to decide again.
#pragma once

#include <map>
#include <string>

#include "api_side.h"
#include "objects.h"
#include "plan.h"

namespace stowage::faults {

class Volumes {
 public:
  Volumes(const Plan& plan, ApiSide& side);
  ~Volumes();
  Volumes(const Volumes&) = delete;
  Volumes& operator=(const Volumes&) = delete;

  // Call it before the pod is created.
  void create_claim(std::uint32_t pod);
  // It is quick from now on.
  void calm() { calm_ = true; }

 private:
  void look();
  void look_at(const local::ObjectPtr& claim);
  void provision(const local::ObjectPtr& claim, const std::string& node);
  void give_up(const local::ObjectName& claim);

  const Plan& plan_;
  ApiSide& side_;
  World::Process process_;
  base::Rng rng_;
  std::map<std::string, Moment> due_;  // by uid of the claim and node: when it is provisioned
  bool calm_ = false;
};

}  // namespace stowage::faults
