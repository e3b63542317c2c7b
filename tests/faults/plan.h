// What happens in one run, drawn from its seed: a list of steps. Each step can be left out, and the
// rest still makes sense; that is how a failing run is made small.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "world.h"

namespace stowage::faults {

enum class StepKind : std::uint8_t {
  create_pod,      // subject: its number
  delete_pod,      // by a user; subject as above
  replace_pod,     // deleted without grace and made anew under its name
  finish_pod,      // its containers end
  delete_node,     // subject: the node's number
  restore_node,    // the node is there again, with all its cards
  lose_card,       // subject: the node; more: the card
  return_cards,    // all of the node
  break_card,      // the card is unhealthy
  cordon,          // and uncordoned after `lasts`
  bind_elsewhere,  // another scheduler binds the pod; more: the node
  edit_cards,      // a user edits what stands on a bound pod about its cards
  forge_cards,     // a user writes such a thing on a pod that waits
  set_quota,       // more: cards that the limited namespace may hold; large: no limit
  crash,           // subject: the replica; it starts again after `lasts`
  stop,            // the same in good order
  pause,           // it stands still for `lasts`
  jump_clock,      // its wall clock; more: seconds + kClockZero
  calls_fail,      // subject: the replica; fault; rate in percent: `more`; for `lasts`
  server_down,     // for `lasts`
  cut_watches,     // subject: the replica
  hang_watches,    // they go silent; subject: the replica
  expire_watches,  // the server says 410 to them
  delay_watches,   // by up to `lasts`, for 10 s
};

enum class Fault : std::uint8_t {
  none,
  refused,      // no connection: certainly not sent
  cut,          // sent, not acted on, no reply
  conflict,     // 409 without a cause
  throttled,    // 429 with Retry-After
  internal,     // 500, not acted on
  unavailable,  // 503, not acted on
  reply_lost,   // acted on, and nobody hears of it
  slow,         // the server takes its time
  late,         // the network does
  lease_only,   // calls about leases alone get no answer
};
inline constexpr std::uint32_t kFaults = 11;
inline constexpr std::uint32_t kClockZero = 10'000;

struct Step {
  Duration at{};
  StepKind kind = StepKind::create_pod;
  std::uint32_t subject = 0;
  std::uint32_t more = 0;
  Fault fault = Fault::none;
  Duration lasts{};
};

struct Plan {
  std::uint64_t seed = 0;
  std::uint32_t replicas = 2;
  std::uint32_t nodes = 3;
  std::uint32_t pods = 0;
  bool promises = false;       // guests whose cards are promised before they are bound by others
  std::size_t history = 1000;  // events that the server keeps, per kind
  std::vector<Step> steps;     // by time
  Duration active{};           // then faults stop
};

[[nodiscard]] Plan draw_plan(std::uint64_t seed);
[[nodiscard]] std::string to_text(const Step& step);
[[nodiscard]] std::string to_text(const Plan& plan);

// What a pod is like, from the seed and its number alone.
enum class Door : std::uint8_t { own, choose, bind, promise };
struct PodShape {
  Door door = Door::own;
  std::uint32_t cards = 1;
  std::uint32_t percent = 0;  // of each card; 0: whole ones
  std::uint32_t memory_mib = 0;
  std::uint32_t priority = 0;  // position in kPriorities
  bool limited = false;        // in the namespace that has a quota
  Duration life{};             // once it runs; zero: until it is deleted
};
[[nodiscard]] PodShape shape_of(const Plan& plan, std::uint32_t pod);

struct NodeShape {
  std::uint32_t cards = 2;
  std::uint32_t memory_mib = 0;
  std::uint32_t slots = 0;  // per card; 0: no limit
  bool inventory = true;    // else only numbers, by nvidia.com/gpu
};
[[nodiscard]] NodeShape node_shape(const Plan& plan, std::uint32_t node);

}  // namespace stowage::faults
