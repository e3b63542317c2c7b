// Drives the engine like a cluster: sends events and answers its commands at once. Every bind
// succeeds. Pods are identified by a number, the order of their first arrival.
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
    leave,  // a refused pod is removed
    wait,   // it stays in the engine's queue, which tries it again
  };

  Driver(core::PolicyOptions options, Refused refused);

  // Adds the nodes in order. ranks[i] belongs to nodes[i].
  [[nodiscard]] Status add_nodes(const std::vector<TraceNode>& nodes,
                                 const std::vector<std::uint32_t>& ranks);

  // The effects of one event, in order. With Refused::wait a pod may be bound by any later event,
  // and refused more than once. Valid until the next event.
  struct Outcome {
    std::vector<std::uint32_t> bound;
    std::vector<std::uint32_t> refused;
  };
  [[nodiscard]] Result<const Outcome*> arrive(std::uint32_t id, const TracePod& pod,
                                              base::Instant now);
  // The decision that the engine would make about this pod now, as a record; changes nothing.
  [[nodiscard]] std::string record_arrival(std::uint32_t id, const TracePod& pod);
  [[nodiscard]] Result<const Outcome*> depart(std::uint32_t id, base::Instant now);

  [[nodiscard]] const core::Engine& engine() const { return engine_; }

 private:
  // Sends the event, then the replies to the resulting commands, until there are none. The engine
  // rejects only invalid input, so a rejection is an input error.
  [[nodiscard]] Status settle(core::Event event, base::Instant now);

  core::Engine engine_;
  Refused refused_;
  Outcome outcome_;
  std::vector<core::Event> events_;  // scratch of settle()
};

}  // namespace stowage::sim
