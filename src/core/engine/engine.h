// The engine: events in, commands out. A deterministic state machine on one thread, without clock
// or I/O: the same events give the same commands, byte for byte.
//
//   PodPending -> Queued --fits--> Reserved --Bind command--> Binding --BindDone--> Bound
//                   ^  |                                        |                     |
//                   |  +--no room: Refuse; parked with its twins|BindFailed           |PodGone
//                   +---------an event makes room               v                     v
//                   +---------a tick, when it has rested---- Resting                Ended
//
// One event does a bounded amount of work: when many parked pods can be tried at once, the rest is
// left for the next events, in the same order, and unfinished() says so.
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
#include "core/engine/asks.h"
#include "core/ledger/ledger.h"
#include "core/model/event.h"
#include "core/policy/options.h"

namespace stowage::core {

struct DecisionRecord;

// What to do with nodes whose agent is silent: nobody knows how their cards are.
enum class SilentNodes : std::uint8_t {
  use,     // as if it were not
  avoid,   // other nodes are preferred
  refuse,  // only pods that tolerate kSilentTaint
};
inline constexpr const char* kSilentTaint = "stowage.dev/agent-silent";

struct EngineOptions {
  bool preemption = true;
  // A pod that waits this long for several cards of one node has room kept for it; 0: never.
  std::int64_t patience_ns = 0;
  std::int32_t nodes_per_room = 100;         // one such room at a time for so many nodes
  std::int64_t room_ns = 3'600'000'000'000;  // how long room is kept before others have a turn
  std::int64_t preempt_room_ns = 600'000'000'000;  // the same while victims go
  SilentNodes silent_nodes = SilentNodes::use;
  // Policy `load`: how long a pod counts as load before it shows in what is measured.
  std::int64_t load_settles_ns = 60'000'000'000;
  // Of pods that were given the same share of a card the later ones are evicted; else only named.
  bool evict_conflicts = true;
  // How much one event does (agenda.h).
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
  // Parked pods are left that earlier events can help. Every event goes on with them before its own
  // work; give it Continue at once if there is no other. Pods that come meanwhile may be placed
  // before those.
  [[nodiscard]] bool unfinished() const;
  // handle(), and then Continue until nothing is left.
  [[nodiscard]] Commands handle_all(const Event& event, base::Instant now);

  // Questions of an outside scheduler about a pod of its own (asks.h). They may move holds, and so
  // make room for pods that wait here: the commands of that are appended to `out`. Requires of the
  // pod: validate(), a known profile.
  [[nodiscard]] FilterAnswer filter(const FilterAsk& ask, base::Instant now, Commands& out);
  [[nodiscard]] ScoreAnswer score(const FilterAsk& ask, base::Instant now, Commands& out);
  [[nodiscard]] ClaimAnswer claim(const ClaimAsk& ask, base::Instant now, Commands& out);
  // Is this place still held for the guest, as it was answered? A hold ends when its time is up,
  // when its pod or its cards go, and with StandDown.
  [[nodiscard]] bool holds(const std::string& uid, const Place& place) const;
  // Would any node that we know take such a guest now? Cheap; changes nothing but caches.
  [[nodiscard]] bool fits_somewhere(const PodSpec& pod);
  // Changes nothing.
  [[nodiscard]] PreemptAnswer preempt(const PreemptAsk& ask);

  [[nodiscard]] const Ledger& ledger() const;

  // Why each node would or would not take the pod, in node order. O(nodes); changes nothing.
  struct NodeVerdict {
    std::string node;
    Reason reason;  // code none: fits
  };
  [[nodiscard]] std::vector<NodeVerdict> explain(const PodSpec& pod);

  // What the engine would decide about this pod now, as a record (record/decision.h). Changes
  // nothing but caches. O(nodes).
  [[nodiscard]] std::string record_decision(const PodSpec& pod);

  struct Counters {
    std::uint64_t decisions = 0;  // times a pod was judged against the cluster
    std::uint64_t bound = 0;
    std::uint64_t refused = 0;
    std::uint64_t held_back = 0;       // refusals of pods that would fit (options.hold_back)
    std::uint64_t nodes_judged = 0;    // single node judgements, the unit of work
    std::uint64_t models_learned = 0;  // times the policy's model changed
    std::size_t waiting = 0;           // pods parked or resting now
    std::size_t resting = 0;           // those of them whose bind failed a moment ago
    std::size_t binding = 0;           // pods whose bind command was not answered yet
    std::size_t shapes = 0;            // shapes of pods in the cache now
    std::size_t held = 0;              // guests that hold cards and are not bound yet
    std::uint64_t holds_expired = 0;
    std::size_t rooms = 0;  // pods that have room kept for them now
    std::uint64_t rooms_opened = 0;
    std::uint64_t preemptions = 0;
    std::uint64_t evicted = 0;     // pods that were told to go
    std::size_t by_others = 0;     // groups of parked pods that other pods or volumes can help
    std::size_t loads = 0;         // nodes of which it is known how busy their cards are
    std::uint64_t picked = 0;      // places that the outside picker chose
    std::uint64_t not_picked = 0;  // and those that it left to the policy, or chose in vain
    std::uint64_t conflicts = 0;   // pods that were given a share that another had already
  };
  [[nodiscard]] Counters counters() const;

  // Recounts everything that is kept incrementally; one line per difference. For tests.
  [[nodiscard]] std::vector<std::string> audit();

  // Takes over a record's state and decides. Requires: a fresh engine with the record's options.
  [[nodiscard]] Result<Commands> replay(const DecisionRecord& record);

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

// Decides anew from a record. Equal to the record's outcome unless the code has changed.
struct Replay {
  std::string recorded;
  std::string replayed;
  Commands commands;
};
[[nodiscard]] Result<Replay> replay_decision(std::string_view record);

}  // namespace stowage::core
