// Decides when a call of the lane `events` may be sent: few beside binds, and none while the API
// server wants a pause.
#pragma once

#include <cstddef>
#include <optional>

#include "kube/api_client.h"

namespace stowage::kube {

class EventGate {
 public:
  explicit EventGate(const ApiClientOptions& options) : options_(options) {}

  struct Answer {
    bool may_go = false;
    std::optional<net::Duration> again;  // ask again after this time; unset: after the next reply
  };
  [[nodiscard]] Answer ask(SteadyTime now) const;

  // Calls of all lanes.
  void sent(Lane lane, SteadyTime now);
  void replied(Lane lane, SteadyTime now);
  void pause_until(SteadyTime until);

 private:
  [[nodiscard]] Answer ask_beside_binds(SteadyTime now) const;

  const ApiClientOptions& options_;
  SteadyTime paused_until_{};
  std::size_t events_in_flight_ = 0;
  SteadyTime last_event_{};
  std::size_t binds_in_flight_ = 0;
  SteadyTime last_bind_{};   // time of the last reply to a bind
  SteadyTime busy_since_{};  // binds without a quiet period since then
};

}  // namespace stowage::kube
