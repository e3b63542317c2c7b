// A scheduler that does not know Stowage. It nominates its pods for full nodes, binds them when the
// node has enough free devices, and gives up after a while.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  // Even if it does not fit.
  void bind(const local::ObjectName& pod, const std::string& node);
  // To a card that no pod on the node names. As gpu-admission does it, with the index alone.
  void bind_by_index(const local::ObjectName& pod, const std::string& node);

 private:
  void look();
  // Of a card that no pod names.
  [[nodiscard]] std::optional<std::int64_t> free_index(const NodeView& node);

  Deps deps_;
  World::Process process_;
  std::map<std::string, Moment> nominated_;  // by uid
};

}  // namespace stowage::faults
