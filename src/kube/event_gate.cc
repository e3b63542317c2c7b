#include "kube/event_gate.h"

#include <algorithm>

namespace stowage::kube {

EventGate::Answer EventGate::ask(SteadyTime now) const {
  const Answer answer = ask_beside_binds(now);
  if (answer.may_go && now < paused_until_) return {.again = paused_until_ - now};
  return answer;
}

EventGate::Answer EventGate::ask_beside_binds(SteadyTime now) const {
  if (events_in_flight_ >= options_.events_in_flight_max) return {};
  const SteadyTime quiet = last_bind_ + options_.events_quiet;
  if (binds_in_flight_ == 0 && (last_bind_ == SteadyTime{} || now >= quiet)) {
    return {.may_go = true};
  }
  if (now >= busy_since_ + options_.events_patience) {
    return {.may_go = events_in_flight_ < options_.events_beside_steady_binds_max};
  }
  const SteadyTime next = last_event_ + options_.events_beside_binds_pause;
  const bool beside = events_in_flight_ < options_.events_beside_binds_max;
  if (beside && (last_event_ == SteadyTime{} || now >= next)) return {.may_go = true};
  // Asked again after a quiet period, or when the next event may be sent beside the binds.
  if (binds_in_flight_ == 0) return {.again = (beside ? std::min(next, quiet) : quiet) - now};
  if (beside) return {.again = next - now};
  return {};
}

void EventGate::sent(Lane lane, SteadyTime now) {
  if (lane == Lane::events) {
    ++events_in_flight_;
    last_event_ = now;
  }
  if (lane == Lane::bind) {
    if (binds_in_flight_ == 0 && now >= last_bind_ + options_.events_quiet) busy_since_ = now;
    ++binds_in_flight_;
  }
}

void EventGate::replied(Lane lane, SteadyTime now) {
  if (lane == Lane::events) --events_in_flight_;
  if (lane == Lane::bind) {
    --binds_in_flight_;
    last_bind_ = now;
  }
}

void EventGate::pause_until(SteadyTime until) { paused_until_ = std::max(paused_until_, until); }

}  // namespace stowage::kube
