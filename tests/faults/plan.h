// What happens in one run, drawn from its seed: a list of steps. Each step can be left out and the
// rest is still valid, so a failing run can be reduced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "features.h"
#include "world.h"

namespace stowage::faults {

enum class StepKind : std::uint8_t {
  create_pod,      // subject: its number
  delete_pod,      // by a user; subject as above
  replace_pod,     // deleted without grace and created again under its name
  finish_pod,      // its containers end
  delete_node,     // subject: the node's number
  restore_node,    // the node is back, with all its cards
  lose_card,       // subject: the node; more: the card
  return_cards,    // all of the node
  break_card,      // the card is unhealthy
  cordon,          // and uncordoned after `lasts`
  bind_elsewhere,  // another scheduler binds the pod; more: the node
  edit_cards,      // a user edits the cards in the annotations of a bound pod
  forge_cards,     // a user writes such annotations on a waiting pod
  set_quota,       // more: cards that the limited namespace may hold; large: no limit
  crash,           // subject: the replica; it starts again after `lasts`
  stop,            // the same, but a graceful end
  pause,           // it is suspended for `lasts`
  jump_clock,      // its wall clock; more: seconds + kClockZero
  calls_fail,      // subject: the replica; fault; rate in percent: `more`; for `lasts`
  server_down,     // for `lasts`
  cut_watches,     // subject: the replica
  hang_watches,    // they become silent; subject: the replica
  expire_watches,  // the server answers them with 410
  delay_watches,   // by up to `lasts`, for 10 s
  // ---- of features (chapters.cc)
  resize_node,     // a counted node; more: how many cards it has now
  restart_plugin,  // a counted node offers no card for `lasts`
  reorder_cards,   // the inventory of a node; more: how
  replace_card,    // one card of a node by another; more: which
  reload,          // subject: the replica
  delete_lease,    // by a user
  nominate,        // another scheduler names a node for a pod; subject: the pod; more: the node
  set_limits,      // quotas of other kinds; more: which and how much
  end_one_on,      // a pod of nvidia.com/gpu on this node ends; subject: the node
  hide_inventory,  // a node only counts its cards for `lasts`; more: how the cards change
  bind_by_index,   // another scheduler binds the pod and writes indexes of cards; more: the node
  restart_kube_scheduler,
};

enum class Fault : std::uint8_t {
  none,
  refused,      // no connection: certainly not sent
  cut,          // sent, not acted on, no reply
  conflict,     // 409 without a cause
  throttled,    // 429 with Retry-After
  internal,     // 500, not acted on
  unavailable,  // 503, not acted on
  reply_lost,   // acted on, but the reply is lost
  slow,         // the server is slow
  late,         // the network is slow
  lease_only,   // only calls about leases get no answer
  not_found,    // 404 from a proxy, only to binds
  slow_write,   // the server is slow, only with PATCH of a pod
  write_fails,  // 503, only to PATCH of a pod
};
inline constexpr std::uint32_t kFaults = 11;  // that any step may draw: all but the last three
inline constexpr std::uint32_t kClockZero = 10'000;
inline constexpr std::uint32_t kLeader = 1'000;  // the subject: the replica that decides then

struct Step {
  Duration at{};
  StepKind kind = StepKind::create_pod;
  std::uint32_t subject = 0;
  std::uint32_t more = 0;
  Fault fault = Fault::none;
  Duration lasts{};
};

enum class Listener : std::uint8_t {
  own,     // Stowage's own scheduler
  choose,  // kube-scheduler with an extender, in three modes
  bind,
  pre_allocation,  // it binds without us, to cards that we pre-allocated
  count,           // it binds without us, and cards are only counted
  other,           // a scheduler that does not know Stowage
  nobody,          // no scheduler handles it
};

// How a pod asks for its cards.
enum class Asks : std::uint8_t {
  native,   // stowage.dev/gpu and its shares
  vcuda,    // tencent.com/vcuda-core and -memory
  devices,  // nvidia.com/gpu
  mixed,    // nvidia.com/gpu and stowage.dev/gpu-core at once, which we cannot read
};

enum class Rule : std::uint8_t { none, apart, together, spread };
enum class Excess : std::uint8_t { none, affinity_terms, spread_constraints, resources };

struct PodShape {
  Listener listener = Listener::own;
  Asks asks = Asks::native;
  std::uint32_t cards = 1;
  std::uint32_t percent = 0;     // of each card
  std::uint32_t memory_mib = 0;  // of each card; both zero: whole ones
  std::uint32_t priority = 0;    // position in kPriorities
  bool limited = false;          // in the namespace that has a quota
  Duration life{};               // once it runs; zero: until it is deleted
  Rule rule = Rule::none;        // about pods of the same app
  std::uint32_t app = 0;         // 0: none
  bool claim = false;            // of a volume that waits for its first consumer
  bool replaced = false;         // when it fails, as a Deployment does it
  Excess excess = Excess::none;
  std::uint32_t pre_allocated_node =
      0;                      // + 1: the node whose cards it says were pre-allocated to it
  std::uint32_t born_on = 0;  // + 1: the node that its author puts it on, with cards of his choice

  [[nodiscard]] bool whole() const { return percent == 0 && memory_mib == 0; }
};

// Pods of features have numbers from here on; lower numbers do not depend on features.
inline constexpr std::uint32_t kExtraPods = 1000;

struct Plan {
  std::uint64_t seed = 0;
  Features features;
  std::uint32_t replicas = 2;
  std::uint32_t nodes = 3;
  std::uint32_t counted = 0;  // further nodes, which have numbers of cards only
  std::uint32_t pods = 0;
  std::vector<PodShape> extra;  // pods from kExtraPods on
  bool pre_allocations =
      false;  // external pods whose cards are pre-allocated before they are bound by others
  std::size_t history = 1000;  // events that the server keeps, per kind
  std::vector<Step> steps;     // by time
  Duration active{};           // then faults stop

  [[nodiscard]] std::uint32_t all_nodes() const { return nodes + counted; }
};

[[nodiscard]] Plan draw_plan(std::uint64_t seed, const FeatureChoice& choice);
// A pseudo-random number from two others.
[[nodiscard]] std::uint64_t mixed(std::uint64_t a, std::uint64_t b);
[[nodiscard]] std::string to_text(const Step& step);
[[nodiscard]] std::string to_text(const Plan& plan);

// The shape of a pod, from the plan and its number alone.
[[nodiscard]] PodShape shape_of(const Plan& plan, std::uint32_t pod);

struct NodeShape {
  std::uint32_t cards = 2;
  std::uint32_t memory_mib = 0;
  std::uint32_t slots = 0;  // per card; 0: no limit
  bool inventory = true;    // false: only numbers, by nvidia.com/gpu
};
[[nodiscard]] NodeShape node_shape(const Plan& plan, std::uint32_t node);

}  // namespace stowage::faults
