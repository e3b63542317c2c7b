#include "api_side.h"

#include <algorithm>
#include <utility>

#include "local/call.h"
#include "local/render.h"

namespace stowage::faults {
namespace {

constexpr std::chrono::seconds kTick{1};
constexpr local::WallTime kBegin{std::chrono::sys_days{std::chrono::year{2026} / 1 / 2}};

local::StoreOptions store_options(const ApiSide& side, const ApiSide::Options& options) {
  local::StoreOptions store;
  store.now = [&side] { return side.wall_time(); };
  store.seed = options.seed;
  store.history_events_max = options.history;
  return store;
}

bool is_pod_write(const net::HttpRequest& request) {
  return request.method == "PATCH" && request.target.find("/pods/") != std::string::npos &&
         request.target.find("/status") == std::string::npos;
}

}  // namespace

ApiSide::ApiSide(World& world, const Options& options)
    : world_(world), process_(world.start()), api_(store_options(*this, options)), rest_(api_, {}) {
  store().on_pending([this] {
    delivering_ = true;
    world_.at(process_, world_.now(), [this] {
      delivering_ = false;
      store().deliver();
    });
  });
  tick();
}

ApiSide::~ApiSide() {
  store().on_pending({});
  world_.kill(process_);
  watching_.clear();
}

local::WallTime ApiSide::wall_time() const {
  return kBegin + std::chrono::duration_cast<std::chrono::microseconds>(world_.elapsed());
}

net::HttpResponse ApiSide::act(const std::string& sender, const net::HttpRequest& request) {
  net::HttpResponse response = rest_.answer(request);
  if (on_acted) on_acted({.sender = sender, .request = request, .response = response});
  return response;
}

void ApiSide::fail_calls(std::uint32_t replica, Fault fault, double rate, Duration lasts) {
  windows_.push_back(
      {.replica = replica, .fault = fault, .rate = rate, .until = world_.now() + lasts});
}

void ApiSide::go_down(Duration lasts) { down_until_ = std::max(down_until_, world_.now() + lasts); }

Fault ApiSide::draw_fault(std::uint32_t replica, const net::HttpRequest& request,
                          base::Rng& rng) const {
  const bool lease = request.target.find("/leases") != std::string::npos;
  for (const Window& window : windows_) {
    if (window.replica != replica || window.until <= world_.now()) continue;
    if (window.fault == Fault::lease_only && !lease) continue;
    const bool binding = request.target.find("/binding") != std::string::npos;
    if (window.fault == Fault::not_found && !binding) continue;
    const bool write = window.fault == Fault::slow_write || window.fault == Fault::write_fails;
    if (write && !is_pod_write(request)) continue;
    if (rng.unit() < window.rate) return window.fault;
  }
  return Fault::none;
}

void ApiSide::delay_watches(std::uint32_t replica, Duration most, Duration lasts) {
  lags_.push_back({.replica = replica, .most = most, .until = world_.now() + lasts});
}

Duration ApiSide::watch_delay(std::uint32_t replica, base::Rng& rng) const {
  for (const Lag& lag : lags_) {
    if (lag.replica != replica || lag.until <= world_.now()) continue;
    return Duration{static_cast<Duration::rep>(rng.unit() * static_cast<double>(lag.most.count()))};
  }
  return Duration::zero();
}

void ApiSide::calm() {
  windows_.clear();
  lags_.clear();
  down_until_ = {};
}

void ApiSide::serve(const net::HttpRequest& request, std::shared_ptr<net::Responder> responder,
                    std::shared_ptr<bool> open) {
  const auto call = local::parse_call(request);
  if (!call) {
    return responder->send(
        {.status = call.error().code, .headers = {}, .body = local::render_error(call.error())});
  }
  auto wanted = local::watch_request(*call);
  if (!wanted) {
    return responder->send({.status = wanted.error().code,
                            .headers = {},
                            .body = local::render_error(wanted.error())});
  }
  Watching& made = watching_.emplace_back();
  made.open = std::move(open);
  made.stream = std::make_unique<local::WatchStream>(
      store(), std::move(*wanted), std::move(responder), local::WatchLimits{}, world_.now());
  made.stream->start();
}

void ApiSide::tick() {
  for (Watching& each : watching_) {
    if (*each.open) each.stream->tick(world_.now());
  }
  watching_.remove_if([](const Watching& each) { return !*each.open || each.stream->done(); });
  world_.after(process_, kTick, [this] { tick(); });
}

}  // namespace stowage::faults
