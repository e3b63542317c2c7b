// Gives the ledger at work what the agents tell: who has which card, how busy cards are, and which
// agents are silent. Lives on the controller's loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "net/event_loop.h"
#include "reports/digest.h"
#include "scheduler/scheduler.h"

namespace stowage::controller {

struct WitnessOptions {
  net::Duration load_counts = std::chrono::seconds{30};  // since it was measured
};

class Witness {
 public:
  Witness(net::EventLoop& loop, WitnessOptions options,
          std::function<scheduler::Scheduler&()> scheduler);

  void take(const std::vector<reports::NodeNews>& parcel);

  struct Counters {
    std::uint64_t nodes = 0;  // told about
    std::uint64_t pods = 0;
    std::uint64_t loads = 0;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  net::EventLoop& loop_;
  const WitnessOptions options_;
  std::function<scheduler::Scheduler&()> scheduler_;
  Counters counters_;
};

}  // namespace stowage::controller
