// The kubelets of all nodes, and the pod garbage collector. They use only the API. A new pod on a
// node is admitted if the node offers enough devices of each kind for the admitted pods and this
// one, and refused otherwise, as a real kubelet does. Admitted pods stay when the node offers less.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "api_side.h"
#include "checks.h"
#include "objects.h"
#include "plan.h"
#include "witness.h"

namespace stowage::faults {

class Kubelets {
 public:
  struct Deps {
    const Plan& plan;
    ApiSide& side;
    Views& views;
    Checks& checks;
    Witness& witness;
  };
  explicit Kubelets(const Deps& deps);
  ~Kubelets();
  Kubelets(const Kubelets&) = delete;
  Kubelets& operator=(const Kubelets&) = delete;

  // Its containers end.
  void finish(const local::ObjectName& pod);

 private:
  struct Known {  // a pod on a node
    Moment since{};
    Moment leaving{};       // set: since when it is terminating
    Moment lost{};          // set: since when its node has been gone
    bool admitted = false;  // otherwise it was refused, or not looked at yet
  };

  void look();
  void look_after(const PodView& pod, Known& known);
  void remove(const PodView& pod);
  [[nodiscard]] std::string short_of(const PodView& pod, const NodeView& node);
  void refuse(const PodView& pod, const std::string& resource);
  void replace(std::uint32_t pod);
  void set_phase(const local::ObjectName& pod, std::string_view phase, const std::string& reason);

  Deps deps_;
  World::Process process_;
  base::Rng rng_;
  std::map<std::string, Known> known_;           // by uid
  std::map<std::uint32_t, std::uint32_t> made_;  // replacements, by the number of the pod
};

}  // namespace stowage::faults
