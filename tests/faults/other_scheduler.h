// A scheduler that does not know of us. It nominates its pods for nodes that are full, binds them
// when the devices that the node offers are free, and loses patience after a while.
#pragma once

#include <map>
#include <string>

#include "api_side.h"
#include "checks.h"
#include "objects.h"
#include "plan.h"
#include "witness.h"

namespace stowage::faults {

class OtherScheduler {
 public:
  struct Deps {
    const Plan& plan;
    ApiSide& side;
    Views& views;
    Checks& checks;
    Witness& witness;
  };
  explicit OtherScheduler(const Deps& deps);
  ~OtherScheduler();
  OtherScheduler(const OtherScheduler&) = delete;
  OtherScheduler& operator=(const OtherScheduler&) = delete;

  void nominate(const local::ObjectName& pod, const std::string& node);
  // Whether it fits or not.
  void bind(const local::ObjectName& pod, const std::string& node);

 private:
  void look();

  Deps deps_;
  World::Process process_;
  std::map<std::string, Moment> nominated_;  // by uid
};

}  // namespace stowage::faults
