#include "agent/podresources.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "kube/pacing.h"

namespace stowage::agent {
namespace {

enum class Version : std::uint8_t { v1, v1alpha1 };

const char* to_string(Version version) { return version == Version::v1 ? "v1" : "v1alpha1"; }

Version other(Version version) { return version == Version::v1 ? Version::v1alpha1 : Version::v1; }

}  // namespace

struct PodResources::Impl : std::enable_shared_from_this<PodResources::Impl> {
  struct Ask {
    Ask(net::EventLoop& loop, const PodResourcesOptions& options, Reply given, std::uint64_t seed)
        : reply(std::move(given)),
          due(after(loop, options.deadline)),
          timer(loop),
          backoff(options.backoff_min, options.backoff_max, seed) {}

    Reply reply;
    net::Moment due;
    net::Timer timer;
    kube::JitteredBackoff backoff;
    bool tried_other = false;  // the other version was tried, in this list
    std::unique_ptr<grpc::Caller::Call> call;
  };
  using Asks = std::map<std::uint64_t, Ask>;

  Impl(net::EventLoop& on, grpc::Caller& by, const PodResourcesOptions& given)
      : loop(on), caller(by), options(given) {}

  // The old version is used only for the kubelet on this connection.
  [[nodiscard]] Version version() const {
    return alpha_on && *alpha_on == caller.connections() ? Version::v1alpha1 : Version::v1;
  }

  void list(Reply reply) {
    const std::uint64_t number = ++counters.lists;
    asks.emplace(number, Ask(loop, options, std::move(reply), options.seed + number));
    ask(number, version());
  }

  void ask(std::uint64_t number, Version version) {
    const auto found = asks.find(number);
    const net::Duration left = found->second.due - loop.now();
    found->second.call =
        caller.call(fmt::format("/{}.PodResourcesLister/List", to_string(version)), {},
                    {.deadline = std::max(left, net::Duration{1}),
                     .response_bytes_max = options.response_bytes_max},
                    [weak = weak_from_this(), number, version](const auto& reply) {
                      if (const auto self = weak.lock()) self->take(number, version, reply);
                    });
  }

  void take(std::uint64_t number, Version version,
            const tl::expected<std::string, grpc::CallStatus>& reply) {
    const auto found = asks.find(number);
    if (found == asks.end()) return;
    if (reply) {
      auto pods = decode_pod_devices(*reply);
      if (!pods) return finish(found, fail(broken(pods.error().message)));
      return finish(found, std::move(*pods));
    }
    const grpc::CallStatus& status = reply.error();
    Ask& asking = found->second;
    if (status.code == grpc::Code::unimplemented) {
      alpha_on.reset();
      if (!std::exchange(asking.tried_other, true)) {
        if (version == Version::v1) {
          alpha_on = caller.connections();
          ++counters.fell_back;
        }
        return ask(number, other(version));
      }
    }
    const bool throttled = status.code == grpc::Code::resource_exhausted && status.by_peer;
    if (throttled) {
      ++counters.throttled;
      const net::Duration pause = asking.backoff.next();
      if (loop.now() + pause < asking.due) {
        asking.timer.start(pause, [this, number] { ask(number, this->version()); });
        return;
      }
    }
    finish(found, fail(explain(status)));
  }

  [[nodiscard]] static std::string broken(const std::string& why) {
    return fmt::format("the kubelet's list of pods and devices is invalid: {}", why);
  }

  [[nodiscard]] static std::string explain(const grpc::CallStatus& status) {
    const std::string text = grpc::to_text(status);
    switch (status.code) {
      case grpc::Code::unimplemented:
        return fmt::format("the kubelet serves neither v1 nor v1alpha1 of podresources: {}", text);
      case grpc::Code::unavailable: return fmt::format("the kubelet cannot be reached: {}", text);
      default: return fmt::format("the kubelet does not list pods and devices: {}", text);
    }
  }

  void finish(Asks::iterator found, Result<std::vector<PodDevices>> result) {
    if (!result) ++counters.failed;
    const auto ended = asks.extract(found);
    ended.mapped().reply(std::move(result));
  }

  net::EventLoop& loop;
  grpc::Caller& caller;
  PodResourcesOptions options;
  Asks asks;
  std::optional<std::uint64_t> alpha_on;  // the connection whose kubelet does not support v1
  PodResourcesCounters counters;
};

PodResources::PodResources(net::EventLoop& loop, grpc::Caller& caller,
                           const PodResourcesOptions& options)
    : impl_(std::make_shared<Impl>(loop, caller, options)) {}
PodResources::~PodResources() { const auto ended = std::exchange(impl_->asks, {}); }

void PodResources::list(Reply reply) { impl_->list(std::move(reply)); }
const char* PodResources::version() const { return to_string(impl_->version()); }
const PodResourcesCounters& PodResources::counters() const { return impl_->counters; }

}  // namespace stowage::agent
