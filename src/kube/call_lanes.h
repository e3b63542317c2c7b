// The waiting calls of an ApiClient, by lane. Handles order, numbers and deadlines; sends nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "kube/api_client.h"
#include "kube/clock.h"

namespace stowage::kube {

struct WaitingCall {
  ApiCall call;
  SteadyTime deadline;
  ApiClient::Done done;
  std::uint64_t generation = 0;  // of the credential that it was last sent with
  bool refreshed = false;        // it was already repeated after a 401
};
using CallPtr = std::shared_ptr<WaitingCall>;

class CallLanes {
 public:
  void push_back(CallPtr call) { lane(call->call.lane).push_back(std::move(call)); }
  void push_front(CallPtr call) { lane(call->call.lane).push_front(std::move(call)); }
  // Requires a call in that lane.
  CallPtr pop(Lane from);

  [[nodiscard]] bool empty(Lane of) const { return lanes_[static_cast<std::size_t>(of)].empty(); }
  [[nodiscard]] bool empty() const;
  [[nodiscard]] std::size_t size(Lane of) const {
    return lanes_[static_cast<std::size_t>(of)].size();
  }

  // Removes and returns the calls whose deadline has passed. Linear.
  std::vector<CallPtr> take_expired(SteadyTime now);
  std::vector<CallPtr> take_all();
  // The earliest deadline; unset if nothing waits. Linear.
  [[nodiscard]] std::optional<SteadyTime> earliest() const;

 private:
  std::deque<CallPtr>& lane(Lane which) { return lanes_[static_cast<std::size_t>(which)]; }

  std::array<std::deque<CallPtr>, kLaneCount> lanes_;
};

}  // namespace stowage::kube
