#include "controller/leadership.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "net/address.h"

namespace stowage::controller {
namespace {

using std::chrono::milliseconds;

kube::Elector::Deps elector_deps(const Leadership::Deps& deps, const std::string& identity) {
  return {
      .on_leading =
          [lead = deps.lead, &log = deps.log](const kube::Elector::Start& start) {
            log.info("leading: reading all pods once more",
                     {{"before", start.before.empty() ? "none" : start.before},
                      {"handover", start.clean     ? "clean"
                                   : start.created ? "the lease did not exist"
                                                   : "the lease expired"}});
            lead();
          },
      .on_lost =
          [stand_down = deps.stand_down, &log = deps.log](const std::string& why) {
            log.warn("no longer leading", {{"why", why}});
            stand_down();
          },
      .on_leader =
          [&log = deps.log, identity, on_leader = deps.on_leader](const codec::Lease& lease) {
            if (lease.holder != identity) {
              log.info("standing by", {{"leader", lease.holder.empty() ? "none" : lease.holder}});
            }
            on_leader(leader_address(lease, identity));
          },
      .on_note = [&log = deps.log](const std::string& text) { log.info(text); },
      .on_trouble = [outage = std::make_shared<kube::Outages::Source>(deps.outages, "the lease")](
                        const std::string& why,
                        int code) { why.empty() ? outage->works() : outage->failed(why, code); }};
}

}  // namespace

kube::ElectorOptions elector_options(const Config::LeaderElection& config,
                                     const std::string& identity, const codec::LeaderNote& note) {
  kube::ElectorOptions options;
  options.ns = config.ns;
  options.name = config.name;
  options.identity = identity;
  options.annotations = {{codec::kLeaderAnnotation, codec::leader_note(note)}};
  options.duration = config.lease_duration;
  options.renew_deadline = config.renew_deadline;
  options.retry = config.retry_period;
  // A released lease is found soon enough to take over within two seconds.
  options.look =
      std::clamp<net::Duration>(config.retry_period / 4, milliseconds{50}, milliseconds{500});
  // One of several renewals may go unanswered.
  options.call_deadline =
      std::min<net::Duration>(std::chrono::seconds{5}, config.renew_deadline / 2);
  options.margin = std::min<net::Duration>(milliseconds{500},
                                           (config.lease_duration - config.renew_deadline) / 2);
  options.seed = std::hash<std::string>()(identity);
  return options;
}

std::string own_namespace(const std::string& configured, const kube::Environment& environment) {
  if (!configured.empty()) return configured;
  const auto own = environment("POD_NAMESPACE");
  return own && !own->empty() ? *own : "kube-system";
}

std::string advertised_host(const HostRequest& ask) {
  if (!ask.advertise.empty()) return ask.advertise;
  if (!net::is_any_address(ask.listens_on)) return ask.listens_on;
  const auto pod = ask.environment("POD_IP");
  if (pod && !pod->empty()) return *pod;
  const std::string own = net::local_address_towards(ask.api_server.host, ask.api_server.port);
  return own.empty() ? "127.0.0.1" : own;
}

LeaderAddress leader_address(const codec::Lease& lease, const std::string& own_identity) {
  if (lease.holder.empty()) return {.note = {}, .why = "no replica leads at the moment"};
  if (lease.holder == own_identity) return {.note = {}, .why = "it is about to lead; try again"};
  const auto found = lease.annotations.find(codec::kLeaderAnnotation);
  if (found == lease.annotations.end()) {
    return {.note = {},
            .why = fmt::format("the leader {} does not publish its address", lease.holder)};
  }
  auto note = codec::read_leader_note(found->second);
  if (note) return {.note = std::move(*note), .why = ""};
  return {.note = {},
          .why = fmt::format("the leader {} publishes an address that cannot be read: {}",
                             lease.holder, note.error().message)};
}

Leadership::Leadership(const kube::ElectorOptions& options, Deps deps)
    : deps_(std::move(deps)),
      elector_(deps_.client, options, elector_deps(deps_, options.identity)) {}

void Leadership::start() {
  const kube::ElectorOptions& options = elector_.options();
  deps_.log.info("candidate", {{"lease", options.ns + "/" + options.name},
                               {"identity", options.identity},
                               {"seconds", fmt::format("{}", options.duration.count())}});
  elector_.start();
}

void Leadership::set_note(const codec::LeaderNote& note) {
  elector_.set_annotations({{codec::kLeaderAnnotation, codec::leader_note(note)}});
}

void Leadership::stop(std::function<void()> done) {
  if (deps_.client.loop().now() < deps_.open_until()) {
    deps_.log.warn("the lease is not released: a bind or a pre-allocation may still arrive");
    return done();
  }
  elector_.release(std::move(done));
}

std::string Leadership::trouble() const {
  const kube::ElectorOptions& options = elector_.options();
  if (elector_.leading()) {
    return deps_.deciding() ? "" : "leading, but not all pods have been read yet";
  }
  const bool fresh = elector_.seen_at() != net::Moment{} &&
                     deps_.client.loop().now() < elector_.seen_at() + options.duration;
  if (!fresh || elector_.seen().holder.empty()) {
    if (!elector_.trouble().empty()) return elector_.trouble();
    return fresh ? "no replica leads at the moment"
                 : fmt::format("the lease {}/{} has not been read yet", options.ns, options.name);
  }
  return {};
}

Leadership::Snapshot Leadership::snapshot() const {
  return {.leads = elector_.leading(),
          .counters = elector_.counters(),
          .transitions = elector_.seen().transitions};
}

}  // namespace stowage::controller
