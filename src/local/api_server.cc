#include "local/api_server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "local/render.h"

namespace stowage::local {
namespace {

constexpr std::chrono::milliseconds kSlowTick{500};
constexpr std::chrono::milliseconds kFastTick{10};
constexpr std::size_t kBodyMax = 3U << 20U;
constexpr std::size_t kEventsPerTurn = 10'000;  // then other work on the loop runs

// A page in a browser can let its own host name resolve to loopback and reach this server as if it
// were its origin (DNS rebinding). It cannot make the browser send another Host header.
bool is_local(std::string_view host) {
  if (host.starts_with('[')) return true;  // an IPv6 address
  host = host.substr(0, host.find(':'));
  return host.empty() || host == "localhost" ||
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

ApiServer::ApiServer(net::EventLoop& loop, Api& api, ApiServerOptions options)
    : loop_(loop),
      api_(api),
      options_(std::move(options)),
      rest_(api, options_.version),
      timer_(loop),
      alive_(std::make_shared<bool>(true)) {
  api_.store().on_pending([this, alive = std::weak_ptr<bool>(alive_)] {
    loop_.post([this, alive] {
      if (alive.expired()) return;
      api_.store().deliver(kEventsPerTurn);
      arm_tick();
    });
  });
}

ApiServer::~ApiServer() { api_.store().on_pending({}); }

Status ApiServer::listen() {
  net::HttpServerOptions http;
  http.address = options_.address;
  http.port = options_.port;
  http.body_bytes_max = kBodyMax;
  STOWAGE_TRY(server,
              net::HttpServer::listen(loop_, std::move(http),
                                      [this](const net::ServerRequest& request,
                                             const std::shared_ptr<net::Responder>& responder) {
                                        handle(request.http, responder);
                                      }));
  server_ = std::move(server);
  return {};
}

std::uint16_t ApiServer::port() const { return server_ == nullptr ? 0 : server_->port(); }

std::string ApiServer::url() const {
  const bool six = options_.address.find(':') != std::string::npos;
  return six ? fmt::format("http://[{}]:{}", options_.address, port())
             : fmt::format("http://{}:{}", options_.address, port());
}

void ApiServer::handle(const net::HttpRequest& request,
                       const std::shared_ptr<net::Responder>& responder) {
  const std::string_view host = net::find_header(request.headers, "Host");
  if (!is_local(host) && host != options_.address) {
    return responder->send(error_response(api_error(
        403, "Forbidden",
        "this server accepts only local requests: use its address, or localhost, as host")));
  }
  if (request.method == "GET" && request.target.find("watch=") != std::string::npos) {
    const auto call = parse_call(request);
    if (!call) return responder->send(error_response(call.error()));
    if (call->watches()) return start_watch(*call, responder);
  }
  responder->send(rest_.answer(request));
}

void ApiServer::start_watch(const Call& call, const std::shared_ptr<net::Responder>& responder) {
  auto request = watch_request(call);
  if (!request) return responder->send(error_response(request.error()));
  auto stream = std::make_shared<WatchStream>(api_.store(), std::move(*request), responder,
                                              options_.watches, std::chrono::steady_clock::now());
  responder->on_closed([weak = std::weak_ptr<WatchStream>(stream)] {
    if (const auto open = weak.lock()) open->close();
  });
  streams_.push_back(stream);
  stream->start();
  arm_tick();
}

void ApiServer::arm_tick() {
  const bool fast = std::any_of(streams_.begin(), streams_.end(),
                                [](const auto& stream) { return stream->behind(); });
  if (streams_.empty() || (armed_ && fast == fast_)) return;
  armed_ = true;
  fast_ = fast;
  timer_.start(fast ? kFastTick : kSlowTick, [this] { tick(); });
}

void ApiServer::tick() {
  armed_ = false;
  const auto now = std::chrono::steady_clock::now();
  for (auto at = streams_.begin(); at != streams_.end();) {
    (*at)->tick(now);
    at = (*at)->done() ? streams_.erase(at) : std::next(at);
  }
  arm_tick();
}

}  // namespace stowage::local
