#include "plugin/registration.h"

#include <algorithm>
#include <utility>

namespace stowage::plugin {

using Action = RegistrationState::Action;

const char* to_string(RegistrationState::Phase phase) {
  using Phase = RegistrationState::Phase;
  switch (phase) {
    case Phase::absent: return "absent";
    case Phase::registering: return "registering";
    case Phase::awaiting_stream: return "awaiting_stream";
    case Phase::registered: return "registered";
    case Phase::closing: return "closing";
    case Phase::pausing: return "pausing";
  }
  return "";
}

Action RegistrationState::attempt() {
  phase_ = Phase::registering;
  stream_ = false;
  due_.reset();  // the call has its own deadline
  return Action::attempt;
}

Action RegistrationState::close(net::Moment now, std::string why) {
  if (phase_ == Phase::registered && now - since_ >= options_.proven_after) backoff_.reset();
  phase_ = Phase::closing;
  due_ = now + options_.close_wait;
  why_ = std::move(why);
  return Action::end_streams;
}

Action RegistrationState::pause(net::Moment now, net::Duration least) {
  phase_ = Phase::pausing;
  due_ = now + std::max(least, backoff_.next());
  return Action::none;
}

void RegistrationState::enter_registered(net::Moment now) {
  phase_ = Phase::registered;
  due_.reset();
  since_ = now;
  why_.clear();
}

Action RegistrationState::on_socket(Socket socket, net::Moment now) {
  socket_ = socket != Socket::gone;
  if (socket == Socket::created) {
    // Whatever was under way was with a kubelet that has ended.
    if (phase_ == Phase::registered) why_ = "the kubelet has started again";
    backoff_.reset();
    return attempt();
  }
  if (socket == Socket::there) return phase_ == Phase::absent ? attempt() : Action::none;
  // A stream or a call may outlive the socket's file; they tell when they end.
  if (phase_ == Phase::pausing) return on_time(now);
  return Action::none;
}

Action RegistrationState::on_accepted(net::Moment now) {
  if (phase_ != Phase::registering) return Action::none;
  if (stream_) {
    enter_registered(now);
    return Action::none;
  }
  phase_ = Phase::awaiting_stream;
  due_ = now + options_.stream_wait;
  why_ = "the kubelet has not listed the devices yet";
  return Action::none;
}

Action RegistrationState::on_refused(const std::string& why, net::Moment now) {
  if (phase_ != Phase::registering) return Action::none;
  if (stream_) return close(now, why);
  why_ = why;
  return pause(now, {});
}

Action RegistrationState::on_stream(net::Moment now) {
  if (phase_ == Phase::registering) stream_ = true;
  if (phase_ == Phase::awaiting_stream) enter_registered(now);
  return Action::none;
}

Action RegistrationState::on_streams_ended(net::Moment now) {
  stream_ = false;
  if (phase_ != Phase::registered) return Action::none;
  return close(now, "the kubelet has ended the stream of devices");
}

Action RegistrationState::on_connections_closed(net::Moment now) {
  if (phase_ != Phase::closing) return Action::none;
  return pause(now, options_.settle);
}

Action RegistrationState::on_time(net::Moment now) {
  switch (phase_) {
    case Phase::awaiting_stream:
      return close(now, "the kubelet has accepted the plugin but does not list its devices");
    case Phase::closing: return pause(now, options_.settle);
    case Phase::pausing:
      if (socket_) return attempt();
      phase_ = Phase::absent;
      due_.reset();
      why_ = "the kubelet's socket does not exist";
      return Action::none;
    default: return Action::none;
  }
}

}  // namespace stowage::plugin
