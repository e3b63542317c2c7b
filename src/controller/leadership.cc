#include "controller/leadership.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "net/address.h"

namespace stowage::controller {
namespace {

using std::chrono::milliseconds;

kube::Elector::Ends elector_ends(const Leadership::Ends& ends, const std::string& identity) {
  return {
      .on_leading =
          [lead = ends.lead, &log = ends.log](const kube::Elector::Start& start) {
            log.info("leading: reading all pods once more",
                     {{"before", start.before.empty() ? "nobody" : start.before},
                      {"handover", start.clean     ? "clean"
                                   : start.created ? "there was no lease"
                                                   : "the lease ran out"}});
            lead();
          },
      .on_lost =
          [stand_down = ends.stand_down, &log = ends.log](const std::string& why) {
            log.warn("not leading any more", {{"why", why}});
            stand_down();
          },
      .on_leader =
          [&log = ends.log, identity, on_leader = ends.on_leader](const codec::Lease& lease) {
            if (lease.holder != identity) {
              log.info("standing by", {{"leader", lease.holder.empty() ? "nobody" : lease.holder}});
            }
            on_leader(leader_place(lease, identity));
          },
      .on_note = [&log = ends.log](const std::string& text) { log.info(text); },
      .on_trouble = [outage = std::make_shared<kube::Outages::Source>(ends.outages, "the lease")](
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
  // A lease that is given back is found free soon enough to take over within two seconds.
  options.look =
      std::clamp<net::Duration>(config.retry_period / 4, milliseconds{50}, milliseconds{500});
  // Of several renewals one may go unanswered.
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

std::string advertised_host(const HostAsk& ask) {
  if (!ask.advertise.empty()) return ask.advertise;
  if (!net::is_any_address(ask.listens_on)) return ask.listens_on;
  const auto pod = ask.environment("POD_IP");
  if (pod && !pod->empty()) return *pod;
  const std::string own = net::local_address_towards(ask.api_server.host, ask.api_server.port);
  return own.empty() ? "127.0.0.1" : own;
}

LeaderPlace leader_place(const codec::Lease& lease, const std::string& own_identity) {
  if (lease.holder.empty()) return {.note = {}, .why = "nobody leads at the moment"};
  if (lease.holder == own_identity) return {.note = {}, .why = "it is about to lead; ask again"};
  const auto found = lease.annotations.find(codec::kLeaderAnnotation);
  if (found == lease.annotations.end()) {
    return {.note = {}, .why = fmt::format("the leader {} does not say where it is", lease.holder)};
  }
  auto note = codec::read_leader_note(found->second);
  if (note) return {.note = std::move(*note), .why = ""};
  return {.note = {},
          .why = fmt::format("the leader {} says where it is in a way that cannot be read: {}",
                             lease.holder, note.error().message)};
}

Leadership::Leadership(kube::ElectorOptions options, Ends ends)
    : ends_(std::move(ends)),
      elector_(ends_.client, options, elector_ends(ends_, options.identity)) {}

void Leadership::start() {
  const kube::ElectorOptions& options = elector_.options();
  ends_.log.info("candidate", {{"lease", options.ns + "/" + options.name},
                               {"identity", options.identity},
                               {"seconds", fmt::format("{}", options.duration.count())}});
  elector_.start();
}

void Leadership::set_note(const codec::LeaderNote& note) {
  elector_.set_annotations({{codec::kLeaderAnnotation, codec::leader_note(note)}});
}

void Leadership::stop(std::function<void()> done) {
  if (ends_.client.loop().now() < ends_.open_until()) {
    ends_.log.warn("the lease is not given back: a bind may still arrive");
    return done();
  }
  elector_.release(std::move(done));
}

std::string Leadership::trouble() const {
  const kube::ElectorOptions& options = elector_.options();
  if (elector_.leading()) {
    return ends_.deciding() ? "" : "leading, but not all pods have been read yet";
  }
  const bool fresh = elector_.seen_at() != net::Moment{} &&
                     ends_.client.loop().now() < elector_.seen_at() + options.duration;
  if (!fresh || elector_.seen().holder.empty()) {
    if (!elector_.trouble().empty()) return elector_.trouble();
    return fresh ? "nobody leads at the moment"
                 : fmt::format("the lease {}/{} has not been read yet", options.ns, options.name);
  }
  return {};
}

Leadership::Picture Leadership::picture() const {
  return {.leads = elector_.leading(),
          .counters = elector_.counters(),
          .transitions = elector_.seen().transitions};
}

}  // namespace stowage::controller
