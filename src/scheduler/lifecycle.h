// When a scheduler reads the cluster, takes over and decides. Pure: events and conditions in,
// actions out; the caller carries the actions out in their order.
//
//   awaiting_nodes -> awaiting_keys -> listing_pods -> awaiting_others     (once, in this order)
//                                                            |
//          .------------------ synced -----------------------'
//          v
//       standby --lead--> settling -> awaiting_signing -> relisting -> awaiting_key_look
//          ^                                                                   |
//          '--stand_down-- (any phase after it)    deciding <- preparing <-----'
//
// The phase after awaiting_others is that of the first condition that does not hold (see next()).
// It is found anew after the events that are marked below. So the machine may pass
// several phases at once, or return to an earlier one, until it prepares. From there it goes on to
// deciding, and only stand_down leads back.
//
//   event            from             effect                                       then advances
//   nodes_listed     awaiting_nodes   awaiting_keys; start_pods with keys          no
//   keys_changed     any              start_pods with keys                         yes
//   pods_need_relist listing or later as keys_changed; relist_pods; unless         yes
//                                     deciding, pods are fresh after it only
//   pods_list_began  any              the list counts if we lead, and no bind of   no
//                                     an earlier term may still arrive
//   pods_listed      listing_pods     awaiting_others                              yes
//                    any              if the list counts: pods are fresh           yes
//   others_synced    any                                                           yes
//   lead             standing down    leads; pods are not fresh                    yes
//   stand_down       leading          hold_back; standby if synced                 no
//   engine_settled   any              commands of the earlier term have come back  yes
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
    awaiting_keys,      // by which pods are judged
    listing_pods,       // for the first time
    awaiting_others,    // quotas, and the objects that rules speak of
    standby,            // synced; another replica leads
    settling,           // binds or commands of our earlier term may still arrive
    awaiting_signing,   // a key of ours, and the moment since which everything is signed
    relisting,          // what was bound before we led is in a list that began since
    awaiting_key_look,  // another replica may have signed by a key that was not read yet
    preparing,          // the engine is told of all pods and of what was promised to them
    deciding,
  };
  enum class Event : std::uint8_t {
    nodes_listed,
    keys_changed,
    pods_need_relist,  // keys changed, and pods signed by unknown keys have to be seen once more
    pods_list_began,
    pods_listed,
    others_synced,
    lead,
    stand_down,
    engine_settled,
    prepared,
    tick,
    stop,
  };
  enum class Action : std::uint8_t {
    start_pods,     // begin to list and watch pods
    relist_pods,    // list them again
    report_synced,  // the first lists are in; once
    begin_signing,  // ask for a key of ours; may come again at every advance
    prepare,        // tell the engine all; then `prepared`
    open,           // let pods be placed
    hold_back,      // place no pod, and have the engine forget; then `engine_settled`
  };
  using Actions = std::vector<Action>;

  // The world at the time of an event.
  struct Conditions {
    bool keys_known = false;        // those by which pods are judged
    bool others_synced = false;     // once true, it stays so
    bool binds_may_arrive = false;  // of an earlier term of our own
    bool signs = false;             // there is a key of ours, and it is known since when
    bool keys_current = false;      // pods are judged by the newest keys
    std::uint64_t key_looks = 0;    // number of the last look for keys that ended
  };

  // Who is not elected leads from the beginning.
  enum class Leads : std::uint8_t { from_start, when_elected };
  explicit Lifecycle(Leads leads);

  [[nodiscard]] Actions handle(Event event, const Conditions& now);
  // A pod is signed by an unknown key; this look for keys began after it was met.
  void unknown_key(std::uint64_t look) { key_look_ = look; }

  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] bool pods_listed() const { return phase_ > Phase::listing_pods; }
  [[nodiscard]] bool synced() const { return phase_ >= Phase::standby; }
  [[nodiscard]] bool deciding() const { return phase_ == Phase::deciding; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  // Leads, and decides only after a look for keys that has not ended.
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
  bool engine_settled_ = true;      // has forgotten what an earlier term left
  Pods pods_ = Pods::fresh;         // listed since we lead, and judged by the keys that there are
  bool list_counts_ = false;        // the list that is under way makes them fresh
  std::uint64_t key_look_ = 0;      // the look after the latest unknown key was met
  std::uint64_t awaited_look_ = 0;  // nothing is decided before this one
};

}  // namespace stowage::scheduler
