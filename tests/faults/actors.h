// Everybody else in the cluster: users, nodes, kubelets, the pod garbage collector, other
// schedulers. They write to the API directly; what they do is not disturbed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api_side.h"
#include "checks.h"
#include "objects.h"
#include "plan.h"

namespace stowage::faults {

class Actors {
 public:
  Actors(const Plan& plan, ApiSide& side, Views& views, Checks& checks);
  ~Actors();
  Actors(const Actors&) = delete;
  Actors& operator=(const Actors&) = delete;

  // A step that is no fault of the network, the server or a replica.
  void apply(const Step& step);
  // Quotas and cordons are lifted.
  void calm();

 private:
  struct Known {  // a pod on a node, as its kubelet sees it
    Moment since{};
    Moment leaving{};  // set: since when it has been told to go
    Moment lost{};     // set: since when its node has been gone
  };

  void create_pod(std::uint32_t pod);
  void finish(const local::ObjectName& pod);
  void write_node(std::uint32_t node);
  void edit_cards(const Step& step);
  void set_quota(std::uint32_t cards);
  void kubelets();
  void look_after(const PodView& pod, bool node_there);

  const Plan& plan_;
  ApiSide& side_;
  Views& views_;
  Checks& checks_;
  World::Process process_;
  base::Rng rng_;
  std::vector<NodeNow> nodes_;
  std::map<std::string, Known> known_;  // by uid
};

}  // namespace stowage::faults
