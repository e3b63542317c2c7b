// Users, tenants and nodes. They write to the API directly, without faults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api_side.h"
#include "checks.h"
#include "kubelet.h"
#include "objects.h"
#include "other_scheduler.h"
#include "plan.h"
#include "volumes.h"
#include "witness.h"

namespace stowage::faults {

class Actors {
 public:
  explicit Actors(const Kubelets::Deps& deps);
  ~Actors();
  Actors(const Actors&) = delete;
  Actors& operator=(const Actors&) = delete;

  // A step that is not a fault of the network, the server or a replica.
  void apply(const Step& step);
  // Removes quotas and cordons.
  void calm();

 private:
  void create_pod(std::uint32_t pod);
  void apply_to_pod(const Step& step);
  void apply_to_node(const Step& step);
  void hide_inventory(const Step& step);
  void write_node(std::uint32_t node);
  void edit_cards(const Step& step);
  void set_quota(const Limits& limits);
  void set_limits(std::uint32_t how);
  void end_one_on(std::uint32_t node);
  void write_config(const std::string& name, const std::string& key, const std::string& text);

  const Plan& plan_;
  ApiSide& side_;
  Views& views_;
  Checks& checks_;
  Witness& witness_;
  World::Process process_;
  std::vector<NodeNow> nodes_;
  Kubelets kubelets_;
  Volumes volumes_;
  OtherScheduler other_;
};

}  // namespace stowage::faults
