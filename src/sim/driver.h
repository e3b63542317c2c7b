// Drives the engine as a cluster would: tells it what happens and answers its commands at once.
// Every bind succeeds. Pods are known by a number, the order in which they first arrived.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "core/engine/engine.h"
#include "sim/trace.h"

namespace stowage::sim {

class Driver {
 public:
  enum class Refused : std::uint8_t {
    leave,  // a pod that is refused goes away for good
    wait,   // it stays in the engine's queue, which tries it again by itself
  };

  Driver(core::PolicyOptions options, Refused refused);

  // Adds the nodes in their order. ranks[i] belongs to nodes[i].
  [[nodiscard]] Status add_nodes(const std::vector<TraceNode>& nodes,
                                 const std::vector<std::uint32_t>& ranks);

  // What followed from one event, in order. With Refused::wait a pod may be bound by any later
  // event, and refused more than once. Valid until the next event.
  struct Outcome {
    std::vector<std::uint32_t> bound;
    std::vector<std::uint32_t> refused;
  };
  [[nodiscard]] Result<const Outcome*> arrive(std::uint32_t id, const TracePod& pod,
                                              base::Instant now);
  // The decision that the engine would take about this pod now, recorded; nothing happens.
  [[nodiscard]] std::string record_arrival(std::uint32_t id, const TracePod& pod);
  [[nodiscard]] Result<const Outcome*> depart(std::uint32_t id, base::Instant now);

  [[nodiscard]] const core::Engine& engine() const { return engine_; }

 private:
  // Hands over the event and then the replies to the commands that come of it, until none is left.
  // The engine rejects only what makes no sense, so that is an error of the input.
  [[nodiscard]] Status settle(core::Event event, base::Instant now);

  core::Engine engine_;
  Refused refused_;
  Outcome outcome_;
  std::vector<core::Event> events_;  // of settle(); kept for its memory
};

}  // namespace stowage::sim
