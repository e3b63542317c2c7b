// Leadership of this replica: the elector, what its word means to the scheduler, and to whom
// questions to our extenders go while another leads.
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

// How the election is set up; `identity` is this process and no other.
[[nodiscard]] kube::ElectorOptions elector_options(const Config::LeaderElection& config,
                                                   const std::string& identity,
                                                   const codec::LeaderNote& note);
// Where our objects are: as configured, else that of our pod if it is known, else kube-system.
[[nodiscard]] std::string own_namespace(const std::string& configured,
                                        const kube::Environment& environment);
// The host under which others reach a listener of ours: as configured; else the one that it listens
// on, if that is a certain one; else the address of our pod; else ours on the way to the API
// server.
struct HostAsk {
  std::string advertise;
  std::string listens_on;
  const net::Url& api_server;
  const kube::Environment& environment;
};
[[nodiscard]] std::string advertised_host(const HostAsk& ask);

// Where the extenders of the leader are. Empty with words if nobody else leads, or does not say.
struct LeaderPlace {
  codec::LeaderNote note;
  std::string why;
};
[[nodiscard]] LeaderPlace leader_place(const codec::Lease& lease, const std::string& own_identity);

class Leadership {
 public:
  struct Ends {
    kube::ApiClient& client;
    base::Log& log;
    std::shared_ptr<kube::Outages> outages;
    std::function<void()> lead;               // decide from now on
    std::function<void()> stand_down;         // decide nothing more
    std::function<bool()> deciding;           // all that is needed for that is known
    std::function<net::Moment()> open_until;  // a bind of ours may arrive until then
    std::function<void(const LeaderPlace&)> on_leader;
  };
  Leadership(kube::ElectorOptions options, Ends ends);

  void start();
  // Where our extenders are now.
  void set_note(const codec::LeaderNote& note);
  // Gives the lease back, unless a bind of ours may still arrive: then it has to run out. Requires:
  // nothing is decided any more.
  void stop(std::function<void()> done);
  // After that: goes on telling who leads.
  void follow() { elector_.follow(); }

  [[nodiscard]] bool leads() const { return elector_.leading(); }
  [[nodiscard]] net::Moment fence() const { return elector_.fence(); }
  // Why this replica neither decides nor could take over; empty if all is well.
  [[nodiscard]] std::string trouble() const;

  struct Picture {
    bool leads = false;
    kube::ElectorCounters counters;
    std::int32_t transitions = 0;  // of the lease, by all
  };
  [[nodiscard]] Picture picture() const;

 private:
  Ends ends_;
  kube::Elector elector_;
};

}  // namespace stowage::controller
