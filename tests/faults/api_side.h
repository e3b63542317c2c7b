// The API server as the replicas reach it: the local API behind a network that delays, cuts, loses
// and falsifies as configured.
//
// It makes two assumptions, as Stowage does: a request travels to the server for less than
// kTravelMax, which is less than the elector's margin; and the server does not act on a request
// later than the timeout that the request names (60 s if it names none).
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "local/api.h"
#include "local/rest.h"
#include "local/watch_stream.h"
#include "net/http_client.h"
#include "plan.h"
#include "world.h"

namespace stowage::faults {

inline constexpr Duration kTravelMax = std::chrono::milliseconds{400};

class ApiSide {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::size_t history = 1000;
  };
  ApiSide(World& world, const Options& options);
  ~ApiSide();
  ApiSide(const ApiSide&) = delete;
  ApiSide& operator=(const ApiSide&) = delete;

  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] local::Api& api() { return api_; }
  [[nodiscard]] local::Store& store() { return api_.store(); }
  [[nodiscard]] World::Process process() const { return process_; }
  // The server's wall clock.
  [[nodiscard]] local::WallTime wall_time() const;
  [[nodiscard]] std::int64_t unix_nanos() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(wall_time().time_since_epoch())
        .count();
  }

  // The server acts on a request, now.
  struct Acted {
    const std::string& sender;
    const net::HttpRequest& request;
    const net::HttpResponse& response;
  };
  net::HttpResponse act(const std::string& sender, const net::HttpRequest& request);
  std::function<void(const Acted&)> on_acted;

  // ---- faults
  void fail_calls(std::uint32_t replica, Fault fault, double rate, Duration lasts);
  void go_down(Duration lasts);  // open watches must be cut separately
  [[nodiscard]] bool down() const { return world_.now() < down_until_; }
  [[nodiscard]] Fault draw_fault(std::uint32_t replica, const net::HttpRequest& request,
                                 base::Rng& rng) const;
  void delay_watches(std::uint32_t replica, Duration most, Duration lasts);
  [[nodiscard]] Duration watch_delay(std::uint32_t replica, base::Rng& rng) const;
  void calm();  // no more faults

  // ---- watches
  // Serves a watch until its responder is closed or the watch ends.
  void serve(const net::HttpRequest& request, std::shared_ptr<net::Responder> responder,
             std::shared_ptr<bool> open);
  // All writes have been passed to the watches.
  [[nodiscard]] bool delivered() const { return !delivering_; }

 private:
  struct Window {
    std::uint32_t replica = 0;
    Fault fault = Fault::none;
    double rate = 0;
    Moment until;
  };
  struct Lag {
    std::uint32_t replica = 0;
    Duration most{};
    Moment until;
  };
  struct Watching {
    std::unique_ptr<local::WatchStream> stream;
    std::shared_ptr<bool> open;  // false: the client has gone
  };
  void tick();

  World& world_;
  World::Process process_;
  local::Api api_;
  local::Rest rest_;
  std::vector<Window> windows_;
  std::vector<Lag> lags_;
  Moment down_until_{};
  bool delivering_ = false;
  std::list<Watching> watching_;
};

}  // namespace stowage::faults
