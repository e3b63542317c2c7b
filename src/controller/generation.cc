#include "controller/generation.h"

#include <algorithm>
#include <array>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace stowage::controller {
namespace {

constexpr std::chrono::seconds kPromisesKept{1};
constexpr std::chrono::milliseconds kLook{20};

scheduler::SchedulerOptions scheduler_options(const Config& config) {
  scheduler::SchedulerOptions options;
  options.profiles = config.profiles;
  options.quota = config.quota;
  options.engine = config.engine;
  options.claims.limit = config.volume_timeout;
  for (const auto& extender : config.extenders) {
    for (const auto& entry : extender.policies) options.guest_policies.push_back(entry.policy);
  }
  options.binder.in_flight_max = config.api.binds_in_flight;
  options.binds_max = std::size_t{8} * config.api.binds_in_flight;
  options.events.controller = config.profiles.front().name;
  options.events.instance = host_name();
  options.events.per_second = config.events.per_second;
  options.events.burst = config.events.burst;
  return options;
}

// The listener of the generation before that has the very same address.
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

Result<std::unique_ptr<Generation>> Generation::create(const Config& config, Ends ends,
                                                       const Generation* before) {
  std::unique_ptr<Generation> made(new Generation(std::move(ends)));
  scheduler::SchedulerOptions options = scheduler_options(config);
  options.outages = made->ends_.outages;
  options.keys = made->ends_.keys;
  if (made->ends_.fence) {
    options.elected = true;
    options.binder.fence = made->ends_.fence;
  }
  made->scheduler_ = std::make_unique<scheduler::Scheduler>(made->ends_.client, std::move(options),
                                                            made->ends_.log);
  STOWAGE_TRY_VOID(made->listen(config, before));
  return made;
}

Status Generation::listen(const Config& config, const Generation* before) {
  const auto shared = scheduler_->shared();
  std::uint32_t profile = shared.first_guest_profile;
  // Whatever extenders there are now: promises of others before them may stand on pods.
  const auto promises = extender::promise_options(config.extenders);
  shared.roster.pre_allocations().heed(promises.position ? profile + *promises.position : 0,
                                       promises.bind_limit);
  for (const auto& options : config.extenders) {
    auto server = extender::Server::listen(
        options,
        {.shared = shared,
         .first_profile = profile,
         .not_ready = ends_.not_ready,
         .leads = ends_.leads,
         .log = ends_.log},
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
  for (const auto& server : extenders_) server->hold_back();
  promises_until_ = ends_.client.loop().now() + kPromisesKept;
  timer_.start(kLook, [this, grace, done = std::move(done)] { stop_when_kept(grace, done); });
}

// kube-scheduler comes back for what it was promised within milliseconds, unless it has changed its
// mind. The next leader would know nothing of the promise.
void Generation::stop_when_kept(net::Duration grace, std::function<void()> done) {
  const bool kept = scheduler_->picture().engine.counters.held == 0;
  if (kept || ends_.client.loop().now() >= promises_until_) {
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
    return server->lobby().waiting() > 0 || server->forwarder().counters().under_way > 0 ||
           !server->forwarder().has_way();
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

net::Moment Generation::open_until() const { return scheduler_->picture().binder.open_until; }

}  // namespace stowage::controller
