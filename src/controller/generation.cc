#include "controller/generation.h"

#include <algorithm>
#include <array>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace stowage::controller {
namespace {

constexpr std::chrono::seconds kPreAllocationsKept{1};
constexpr std::chrono::milliseconds kLook{20};

scheduler::SchedulerOptions scheduler_options(const Config& config) {
  scheduler::SchedulerOptions options;
  options.profiles = config.profiles;
  options.quota = config.quota;
  options.engine = config.engine;
  options.claims.limit = config.volume_timeout;
  for (const auto& extender : config.extenders) {
    for (const auto& entry : extender.policies) options.external_policies.push_back(entry.policy);
  }
  options.binder.in_flight_max = config.api.binds_in_flight;
  options.binds_max = std::size_t{8} * config.api.binds_in_flight;
  options.events.controller = config.profiles.front().name;
  options.events.instance = host_name();
  options.events.per_second = config.events.per_second;
  options.events.burst = config.events.burst;
  return options;
}

// The listener of the previous generation that has the same address.
const extender::Server* same_place(const Generation* before, const std::string& listen) {
  if (before == nullptr) return nullptr;
  const auto& servers = before->extenders();
  const auto found = std::find_if(servers.begin(), servers.end(), [&](const auto& server) {
    return server->extender().options().listen == listen;
  });
  return found == servers.end() ? nullptr : found->get();
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

Generation::~Generation() = default;

Result<std::unique_ptr<Generation>> Generation::create(const Config& config, Deps deps,
                                                       const Generation* before) {
  std::unique_ptr<Generation> made(new Generation(std::move(deps)));
  scheduler::SchedulerOptions options = scheduler_options(config);
  options.outages = made->deps_.outages;
  options.keys = made->deps_.keys;
  if (made->deps_.fence) {
    options.elected = true;
    options.binder.fence = made->deps_.fence;
  }
  made->scheduler_ = std::make_unique<scheduler::Scheduler>(made->deps_.client, std::move(options),
                                                            made->deps_.log);
  STOWAGE_TRY_VOID(made->listen(config, before));
  return made;
}

Status Generation::listen(const Config& config, const Generation* before) {
  const auto shared = scheduler_->shared();
  std::uint32_t profile = shared.first_external_profile;
  // Regardless of the current extenders: pods may carry pre-allocations of earlier ones.
  const auto reaper = extender::pre_allocation_options(config.extenders);
  shared.cluster_cache.pre_allocations().enable_pre_allocations(
      reaper.position ? profile + *reaper.position : 0, reaper.bind_limit);
  for (const auto& options : config.extenders) {
    auto server = extender::Server::listen(
        options,
        {.shared = shared,
         .first_profile = profile,
         .not_ready = deps_.not_ready,
         .leads = deps_.leads,
         .log = deps_.log},
        {.beside = same_place(before, options.listen), .accepts = before == nullptr});
    if (!server) return fail(fmt::format("extender {}: {}", options.name, server.error().message));
    extenders_.push_back(std::move(*server));
    profile += static_cast<std::uint32_t>(options.policies.size());
  }
  return {};
}

void Generation::accept() {
  for (const auto& server : extenders_) server->accept();
}

void Generation::stop(net::Duration grace, std::function<void()> done) {
  if (extenders_.empty()) return scheduler_->stop(grace, std::move(done));
  for (const auto& server : extenders_) server->pause();
  pre_allocations_until_ = deps_.client.loop().now() + kPreAllocationsKept;
  timer_.start(kLook, [this, grace, done = std::move(done)] { stop_when_kept(grace, done); });
}

// kube-scheduler binds what was pre-allocated within milliseconds, unless it has decided otherwise.
// The next leader would not know of the pre-allocation.
void Generation::stop_when_kept(net::Duration grace, std::function<void()> done) {
  const bool kept = scheduler_->snapshot().engine.counters.held == 0;
  if (kept || deps_.client.loop().now() >= pre_allocations_until_) {
    return scheduler_->stop(grace, std::move(done));
  }
  timer_.start(kLook, [this, grace, done = std::move(done)] { stop_when_kept(grace, done); });
}

extender::Server* Generation::extender_named(const std::string& name) const {
  const auto found = std::find_if(extenders_.begin(), extenders_.end(), [&](const auto& server) {
    return server->extender().options().name == name;
  });
  return found == extenders_.end() ? nullptr : found->get();
}

void Generation::succeed(Generation& next) {
  for (const auto& server : extenders_) {
    server->succeed(next.extender_named(server->extender().options().name));
  }
}

bool Generation::questions_wait() const {
  return std::any_of(extenders_.begin(), extenders_.end(), [](const auto& server) {
    return server->pending_requests().waiting() > 0 ||
           server->forwarder().counters().under_way > 0 || !server->forwarder().has_way();
  });
}

void Generation::shutdown(net::Duration grace, std::function<void()> done) {
  if (extenders_.empty()) return done();
  const auto left = std::make_shared<std::size_t>(extenders_.size());
  for (const auto& server : extenders_) {
    server->shutdown(grace, [left, done] {
      if (--*left == 0) done();
    });
  }
}

net::Moment Generation::open_until() const { return scheduler_->open_until(); }

}  // namespace stowage::controller
