// Decides when a scheduler reads the cluster, takes over and decides. Pure: events and conditions
// in, actions out; the caller executes the actions in their order.
//
//   awaiting_nodes -> awaiting_keys -> listing_pods -> awaiting_others     (once, in this order)
//                                                            |
//          .------------------ synced -----------------------'
//          v
//       standby --lead--> draining -> awaiting_signing -> relisting -> awaiting_key_look
//          ^                                                                   |
//          '--stand_down-- (any phase after it)    deciding <- preparing <-----'
//
// After awaiting_others, the first condition that does not hold determines the phase (see next()).
// It is determined again after the events that are marked below. So the machine may pass several
// phases at once, or return to an earlier one, until it reaches preparing. From there it continues
// to deciding, and only stand_down leads back.
//
//   event            from             effect                                       then advances
//   nodes_listed     awaiting_nodes   awaiting_keys; start_pods with keys          no
//   keys_changed     any              start_pods with keys                         yes
//   pods_need_relist listing or later as keys_changed; relist_pods; unless         yes
//                                     deciding, pods are fresh after it only
//   pods_list_began  any              the list counts if we lead, and no write of  no
//                                     an earlier term may still arrive
//   pods_listed      listing_pods     awaiting_others                              yes
//                    any              if the list counts: pods are fresh           yes
//   others_synced    any                                                           yes
//   lead             standing down    leads; pods are not fresh                    yes
//   stand_down       leading          pause; standby if synced                     no
//   engine_drained   any              commands of the earlier term have come back  yes
//   prepared         preparing        deciding; open                               no
//   tick             any                                                           yes
//   stop             any              no event but stand_down has an effect after  no
#pragma once

#include <cstdint>
#include <vector>

namespace stowage::scheduler {

class Lifecycle {
 public:
  enum class Phase : std::uint8_t {
    awaiting_nodes,     // the first list of nodes
    awaiting_keys,      // with which pods are checked
    listing_pods,       // for the first time
    awaiting_others,    // quotas and auxiliary objects
    standby,            // synced; another replica leads
    draining,           // writes or commands of our earlier term may still arrive
    awaiting_signing,   // we have a key, and the time since which everything is signed
    relisting,          // pods that were bound before we led are in a list that began since
    awaiting_key_look,  // another replica may have signed with a key that was not read yet
    preparing,          // the engine gets all pods and their pre-allocations
    deciding,
  };
  enum class Event : std::uint8_t {
    nodes_listed,
    keys_changed,
    pods_need_relist,  // keys changed, and pods signed by unknown keys must be listed again
    pods_list_began,
    pods_listed,
    others_synced,
    lead,
    stand_down,
    engine_drained,
    prepared,
    tick,
    stop,
  };
  enum class Action : std::uint8_t {
    start_pods,     // begin to list and watch pods
    relist_pods,    // list pods again
    report_synced,  // the first lists have arrived; once
    begin_signing,  // request a key of our own; may come again at every advance
    prepare,        // send everything to the engine; then `prepared`
    open,           // let pods be placed
    pause,          // place no pod, and let the engine forget; then `engine_drained`
  };
  using Actions = std::vector<Action>;

  // The state outside at the time of an event.
  struct Conditions {
    bool keys_known = false;         // the keys with which pods are checked
    bool others_synced = false;      // once true, it stays so
    bool writes_may_arrive = false;  // binds and pre-allocations of an earlier term of our own
    bool signs = false;              // we have a key, and the time since which everything is signed
    bool keys_current = false;       // pods are checked with the newest keys
    std::uint64_t key_looks = 0;     // number of the last key lookup that ended
  };

  // A replica without election leads from the start.
  enum class Leads : std::uint8_t { from_start, when_elected };
  explicit Lifecycle(Leads leads);

  [[nodiscard]] Actions handle(Event event, const Conditions& now);
  // A pod is signed by an unknown key; `look` is the key lookup that began after the pod was seen.
  void unknown_key(std::uint64_t look) { key_look_ = look; }

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] bool pods_listed() const { return phase_ > Phase::listing_pods; }
  [[nodiscard]] bool synced() const { return phase_ >= Phase::standby; }
  [[nodiscard]] bool deciding() const { return phase_ == Phase::deciding; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  // Whether it leads and waits for a key lookup that has not ended.
  [[nodiscard]] bool misses_keys(const Conditions& now) const {
    return leads_ && !deciding() && !has_keys(now);
  }

 private:
  enum class Pods : std::uint8_t { stale, relist_asked, fresh };

  void start_pods(const Conditions& now, Actions& actions);
  void pods_need_relist(Actions& actions);
  void pods_arrived();
  void stand_down(Actions& actions);
  void advance(const Conditions& now, Actions& actions);
  [[nodiscard]] Phase next(const Conditions& now) const;
  [[nodiscard]] bool has_keys(const Conditions& now) const {
    return now.key_looks >= awaited_look_ && now.keys_current;
  }

  Phase phase_ = Phase::awaiting_nodes;
  bool leads_;
  bool stopped_ = false;
  bool engine_drained_ = true;      // has forgotten the state of an earlier term
  Pods pods_ = Pods::fresh;         // listed since we lead, and checked with the current keys
  bool list_counts_ = false;        // the list that is under way makes them fresh
  std::uint64_t key_look_ = 0;      // the lookup after the latest unknown key was seen
  std::uint64_t awaited_look_ = 0;  // nothing is decided before this lookup ends
};

}  // namespace stowage::scheduler
