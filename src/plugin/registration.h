// How one resource is registered with the kubelet: a state machine without I/O. Events and times
// in, what to do out.
//
//   absent --the kubelet's socket appears--> registering --accepted--> awaiting_stream
//     ^                                        |    ^                    |          |
//     |                                   refused   '---pausing<--.      |     the kubelet lists
//     |                                        '--------^  |      |   too long      v
//     '------------------no socket-------------------------'    closing <-----  registered
//                                                             (the stream ended)
//
// Kubelets before 1.37 know a plugin by its resource: when an old stream ends, they disconnect
// whoever has the resource by then. Newer ones refuse a socket that is still connected. So the old
// connection is closed before we register again, and every attempt has a socket of its own name.
// A new kubelet (its socket was created again) knows nothing of old connections: we register at
// once, because until then it starts containers without asking us.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "net/event_loop.h"

namespace stowage::plugin {

class RegistrationState {
 public:
  enum class Phase : std::uint8_t {
    absent,
    registering,
    awaiting_stream,
    registered,
    closing,
    pausing,
  };
  enum class Action : std::uint8_t {
    none,
    attempt,      // serve on a new socket, and register it; everything older is closed
    end_streams,  // end our streams; the kubelet closes the connection then
  };
  struct Options {
    net::Duration stream_wait = std::chrono::seconds{5};
    net::Duration close_wait = std::chrono::seconds{2};
    // Between the end of a connection and the next attempt: the kubelet still removes the old one.
    net::Duration settle = std::chrono::milliseconds{100};
    net::Duration backoff_min = std::chrono::milliseconds{20};
    net::Duration backoff_max = std::chrono::seconds{5};
    net::Duration proven_after = std::chrono::seconds{30};  // registered: the back-off starts over
  };

  explicit RegistrationState(const Options& options)
      : options_(options), backoff_(options.backoff_min, options.backoff_max) {}

  // `created`: the socket is another one than before. Otherwise it is there, as before.
  enum class Socket : std::uint8_t { created, there, gone };
  Action on_socket(Socket socket, net::Moment now);
  Action on_accepted(net::Moment now);
  Action on_refused(const std::string& why, net::Moment now);
  Action on_stream(net::Moment now);         // the kubelet has opened one
  Action on_streams_ended(net::Moment now);  // the last one has ended
  Action on_connections_closed(net::Moment now);
  Action on_time(net::Moment now);  // when due() has come

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] bool registered() const { return phase_ == Phase::registered; }
  [[nodiscard]] std::optional<net::Moment> due() const { return due_; }
  // Why it is not registered; empty if it is.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  Action attempt();
  Action close(net::Moment now, std::string why);
  Action pause(net::Moment now, net::Duration least);
  void enter_registered(net::Moment now);

  Options options_;
  base::Backoff backoff_;
  Phase phase_ = Phase::absent;
  bool socket_ = false;  // the kubelet's is there
  bool stream_ = false;  // of this attempt, before the kubelet has accepted it
  std::optional<net::Moment> due_;
  net::Moment since_{};  // registered
  std::string why_ = "the kubelet's socket does not exist";
};

[[nodiscard]] const char* to_string(RegistrationState::Phase phase);

}  // namespace stowage::plugin
