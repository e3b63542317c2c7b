// Leadership of this replica: the elector, its effect on the scheduler, and where requests to our
// extenders are forwarded while another replica leads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "codec/leader_note.h"
#include "controller/config.h"
#include "kube/api_client.h"
#include "kube/elector.h"
#include "kube/outages.h"

namespace stowage::controller {

// Settings of the election; `identity` is unique to this process.
[[nodiscard]] kube::ElectorOptions elector_options(const Config::LeaderElection& config,
                                                   const std::string& identity,
                                                   const codec::LeaderNote& note);
// The namespace of our objects: as configured, else that of our pod if known, else kube-system.
[[nodiscard]] std::string own_namespace(const std::string& configured,
                                        const kube::Environment& environment);
// The host under which others reach a listener of ours: as configured; else the one that it listens
// on, if that is a specific one; else the address of our pod; else our address on the route to the
// API server.
struct HostRequest {
  std::string advertise;
  std::string listens_on;
  const net::Url& api_server;
  const kube::Environment& environment;
};
[[nodiscard]] std::string advertised_host(const HostRequest& ask);

// The addresses of the leader's extenders. Empty, with a reason, if no other replica leads or it
// does not publish them.
struct LeaderAddress {
  codec::LeaderNote note;
  std::string why;
};
[[nodiscard]] LeaderAddress leader_address(const codec::Lease& lease,
                                           const std::string& own_identity);

class Leadership {
 public:
  struct Deps {
    kube::ApiClient& client;
    base::Log& log;
    std::shared_ptr<kube::Outages> outages;
    std::function<void()> lead;               // start to decide
    std::function<void()> stand_down;         // stop deciding
    std::function<bool()> deciding;           // whether it decides
    std::function<net::Moment()> open_until;  // until then, a write of ours may arrive
    std::function<void(const LeaderAddress&)> on_leader;
  };
  Leadership(const kube::ElectorOptions& options, Deps deps);

  void start();
  // Sets the current addresses of our extenders.
  void set_note(const codec::LeaderNote& note);
  // Releases the lease, unless a bind or a pre-allocation of ours may still arrive: then it has to
  // expire. Requires: nothing is decided any more.
  void stop(std::function<void()> done);
  // After that: continues to report which replica leads.
  void follow() { elector_.follow(); }

  [[nodiscard]] bool leads() const { return elector_.leading(); }
  [[nodiscard]] net::Moment fence() const { return elector_.fence(); }
  // Why this replica neither decides nor could take over; empty if it does or could.
  [[nodiscard]] std::string trouble() const;

  struct Snapshot {
    bool leads = false;
    kube::ElectorCounters counters;
    std::int32_t transitions = 0;  // of the lease, by all replicas
  };
  [[nodiscard]] Snapshot snapshot() const;

 private:
  Deps deps_;
  kube::Elector elector_;
};

}  // namespace stowage::controller
