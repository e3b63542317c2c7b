// The engine: events in, commands out. A deterministic state machine on one thread, without clock
// or I/O: the same events give the same commands, byte for byte.
//
//   PodPending -> Queued --fits--> Reserved --Bind command--> Binding --BindDone--> Bound
//                   ^  |                                        |                     |
//                   |  +--no node: Refuse; parked with its twins|BindFailed           |PodGone
//                   +---------capacity is freed                 v                     v
//                   +---------a tick, when it has rested---- Resting                Ended
//
// One event does a bounded amount of work. If many parked pods can be tried at once, the rest is
// left for the next events, in the same order, and unfinished() returns true.
//
// Several profiles share one engine: each has a policy of its own, all share the ledger.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "core/engine/external_requests.h"
#include "core/ledger/ledger.h"
#include "core/model/event.h"
#include "core/policy/options.h"

namespace stowage::core {

struct DecisionRecord;

// How to treat nodes with a silent agent; the state of their cards is unknown.
enum class SilentNodes : std::uint8_t {
  use,     // like other nodes
  avoid,   // prefer other nodes
  refuse,  // only for pods that tolerate kSilentTaint
};
inline constexpr const char* kSilentTaint = "stowage.dev/agent-silent";

struct EngineOptions {
  bool preemption = true;
  // A pod that waits this long for several cards of one node gets a nomination; 0: never.
  std::int64_t patience_ns = 0;
  std::int32_t nodes_per_nomination =
      100;  // at most one such nomination at a time per this many nodes
  std::int64_t nomination_ns =
      3'600'000'000'000;  // how long a nomination lasts before other pods get a turn
  std::int64_t preemption_nomination_ns = 600'000'000'000;  // the same while victims terminate
  SilentNodes silent_nodes = SilentNodes::use;
  // Policy `load`: how long a new pod counts as expected load before measurements include it.
  std::int64_t load_delay_ns = 60'000'000'000;
  // If pods were given the same share of a card, evict the later ones; otherwise only report them.
  bool evict_conflicts = true;
  // Limits of the work of one event (deferred_steps.h).
  std::uint64_t judgements_per_event = 4096;
  int search_per_event = 8192;  // steps of the search for cards
};

class Engine {
 public:
  explicit Engine(PolicyOptions options);
  // PodSpec::profile is a position in `profiles`.
  explicit Engine(std::vector<PolicyOptions> profiles, EngineOptions options = {});
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Cost of a decision: O(shapes seen lately) amortised, whatever the number of nodes.
  [[nodiscard]] Commands handle(const Event& event, base::Instant now);
  // True if earlier events left parked pods to be tried. Every event continues with them before its
  // own work; if no other event comes, send Continue at once. Pods that arrive meanwhile may be
  // placed before them.
  [[nodiscard]] bool unfinished() const;
  // handle(), followed by Continue until nothing is left.
  [[nodiscard]] Commands handle_all(const Event& event, base::Instant now);

  // Requests of an outside scheduler about its own pods (external_requests.h). They may move holds
  // and so free capacity for pods that wait here; the resulting commands are appended to `out`.
  // Requires of the pod: validate(), a known profile.
  [[nodiscard]] FilterAnswer filter(const FilterRequest& ask, base::Instant now, Commands& out);
  [[nodiscard]] ScoreAnswer score(const FilterRequest& ask, base::Instant now, Commands& out);
  [[nodiscard]] ReserveAnswer reserve(const ReserveRequest& ask, base::Instant now, Commands& out);
  // True if this placement is still held for the external pod as it was answered. A hold ends when
  // it expires, when its pod or its cards are removed, and with StandDown.
  [[nodiscard]] bool holds(const std::string& uid, const CardPlacement& place) const;
  // True if a known node would take such an external pod now. Cheap; changes only caches.
  [[nodiscard]] bool fits_somewhere(const PodSpec& pod);
  // Changes nothing.
  [[nodiscard]] PreemptAnswer preempt(const PreemptRequest& ask);

  [[nodiscard]] const Ledger& ledger() const;

  // The verdict of each node on the pod, in node order. O(nodes); changes nothing.
  struct NodeVerdict {
    std::string node;
    Reason reason;  // code none: fits
  };
  [[nodiscard]] std::vector<NodeVerdict> explain(const PodSpec& pod);

  // The decision that the engine would make about this pod now, as a record (record/decision.h).
  // Changes only caches. O(nodes).
  [[nodiscard]] std::string record_decision(const PodSpec& pod);

  // One field for each metric of the engine.
  struct Counters {
    std::uint64_t decisions = 0;  // times a pod was judged against the cluster
    std::uint64_t bound = 0;
    std::uint64_t refused = 0;
    std::uint64_t held_back = 0;       // refusals of pods that would fit (option hold_back)
    std::uint64_t nodes_judged = 0;    // judgements of a node, the unit of work
    std::uint64_t models_learned = 0;  // changes of the policy's model
    std::size_t waiting = 0;           // pods parked or resting now
    std::size_t resting = 0;           // those of them whose bind failed recently
    std::size_t binding = 0;           // pods whose bind command has no reply yet
    std::size_t shapes = 0;            // shapes of pods in the cache now
    std::size_t held = 0;              // external pods that hold cards and are not bound yet
    std::uint64_t holds_expired = 0;
    std::size_t nominations = 0;  // pods that have a nomination now
    std::uint64_t nominations_opened = 0;
    std::uint64_t preemptions = 0;
    std::uint64_t evicted = 0;  // eviction commands
    std::size_t by_others =
        0;                  // groups of parked pods that changes of other pods or volumes can help
    std::size_t loads = 0;  // nodes with known card loads
    std::uint64_t picked = 0;  // placements that the outside picker chose
    std::uint64_t not_picked =
        0;  // placements that it left to the policy, or whose node could not be used
    std::uint64_t conflicts = 0;  // pods that were given a share that another pod already had
  };
  [[nodiscard]] Counters counters() const;

  // Recounts everything that is kept incrementally; one line per difference. For tests.
  [[nodiscard]] std::vector<std::string> audit();

  // Restores a record's state and decides. Requires: a fresh engine with the record's options.
  [[nodiscard]] Result<Commands> replay(const DecisionRecord& record);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Decides again from a record. The result equals the recorded one unless the code has changed.
struct Replay {
  std::string recorded;
  std::string replayed;
  Commands commands;
};
[[nodiscard]] Result<Replay> replay_decision(std::string_view record);

}  // namespace stowage::core
