// Keeps one MPS control daemon running for each card of this machine, and says in each card's
// folder whether it does.
//
// The process that runs this is apart from the agent, so that an upgrade of the agent ends no
// program on a card. Daemons of cards that are gone are stopped. A daemon that ends is started
// again, after a pause that doubles, and not before its server has ended too: the programs that are
// connected to that would be cut off. Until then the card takes no new shares. Cards that are
// divided (MIG) have a daemon for each instance.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "base/backoff.h"
#include "base/log.h"
#include "gpu/source.h"
#include "mps/card_state.h"
#include "mps/daemon_process.h"
#include "net/event_loop.h"

namespace stowage::mps {

struct SupervisorOptions {
  std::string root = kDefaultRoot;
  std::string program = "nvidia-cuda-mps-control";
  net::Duration look_every = std::chrono::seconds{1};
  net::Duration state_every = std::chrono::seconds{5};
  net::Duration pause_min = std::chrono::seconds{1};
  net::Duration pause_max = std::chrono::minutes{1};
  // A daemon that ran this long was started successfully: the next pause is short again.
  net::Duration steady_after = std::chrono::minutes{1};
};

class Supervisor {
 public:
  // `log` and `loop` outlive the supervisor.
  Supervisor(net::EventLoop& loop, SupervisorOptions options, std::unique_ptr<gpu::Source> source,
             base::Log& log);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  void start();

 private:
  struct Card {
    Card(DaemonProcess::Options options, base::Backoff between)
        : daemon(std::move(options)), pauses(between) {}
    DaemonProcess daemon;
    base::Backoff pauses;
    bool started = false;
    net::Moment started_at{};
    net::Moment due{};  // of the next start
    bool exclusive = false;
    CardState told;  // as in its file
    net::Moment told_at{};
  };
  void look();
  void read_cards();
  void look_after(const std::string& id, Card& card);
  void lost(const std::string& id, Card& card, const std::string& why);
  void tell(const std::string& id, Card& card, CardState state);

  net::EventLoop& loop_;
  const SupervisorOptions options_;
  std::unique_ptr<gpu::Source> source_;
  base::Log& log_;
  net::Timer timer_;
  std::map<std::string, Card> cards_;  // by id
  std::string cards_error_;            // as logged
};

}  // namespace stowage::mps
