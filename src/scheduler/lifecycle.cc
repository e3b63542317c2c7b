#include "scheduler/lifecycle.h"

#include <utility>

namespace stowage::scheduler {

Lifecycle::Lifecycle(Leads leads) : leads_(leads == Leads::from_start) {}

Lifecycle::Actions Lifecycle::handle(Event event, const Conditions& now) {
  Actions actions;
  if (stopped_ && event != Event::stand_down) return actions;
  switch (event) {
    case Event::nodes_listed:
      if (phase_ == Phase::awaiting_nodes) phase_ = Phase::awaiting_keys;
      start_pods(now, actions);
      return actions;
    case Event::pods_list_began: list_counts_ = leads_ && !now.writes_may_arrive; return actions;
    case Event::stand_down: stand_down(actions); return actions;
    case Event::stop: stopped_ = true; return actions;
    case Event::prepared:
      if (phase_ != Phase::preparing) return actions;
      phase_ = Phase::deciding;
      return {Action::open};
    case Event::keys_changed: start_pods(now, actions); break;
    case Event::pods_need_relist:
      pods_need_relist(actions);
      start_pods(now, actions);
      break;
    case Event::pods_listed: pods_arrived(); break;
    case Event::lead:
      if (std::exchange(leads_, true)) return actions;
      pods_ = Pods::stale;
      list_counts_ = false;
      break;
    case Event::engine_drained: engine_drained_ = true; break;
    case Event::others_synced:
    case Event::tick: break;
  }
  advance(now, actions);
  return actions;
}

// After the nodes, because pods name cards, which are looked up on nodes. The cards that pods name
// can only be checked with keys.
void Lifecycle::start_pods(const Conditions& now, Actions& actions) {
  if (phase_ != Phase::awaiting_keys || !now.keys_known) return;
  phase_ = Phase::listing_pods;
  actions.push_back(Action::start_pods);
}

void Lifecycle::pods_need_relist(Actions& actions) {
  if (phase_ < Phase::listing_pods) return;
  if (!deciding()) {  // the next list contains the pre-allocations
    pods_ = Pods::relist_asked;
    list_counts_ = false;
  }
  actions.push_back(Action::relist_pods);
}

void Lifecycle::pods_arrived() {
  if (phase_ == Phase::listing_pods) phase_ = Phase::awaiting_others;
  if (list_counts_) {
    pods_ = Pods::fresh;
    awaited_look_ = key_look_;  // pods that come later do not delay it
  } else if (pods_ == Pods::relist_asked) {
    pods_ = Pods::stale;
  }
}

void Lifecycle::stand_down(Actions& actions) {
  if (!std::exchange(leads_, false)) return;
  engine_drained_ = false;
  if (synced()) phase_ = Phase::standby;
  actions.push_back(Action::pause);
}

void Lifecycle::advance(const Conditions& now, Actions& actions) {
  if (phase_ >= Phase::preparing) return;
  const bool was_synced = synced();
  phase_ = next(now);
  if (synced() && !was_synced) actions.push_back(Action::report_synced);
  if (phase_ == Phase::awaiting_signing) actions.push_back(Action::begin_signing);
  if (phase_ == Phase::preparing) actions.push_back(Action::prepare);
  if (phase_ == Phase::relisting && pods_ == Pods::stale) {
    pods_ = Pods::relist_asked;
    actions.push_back(Action::relist_pods);
  }
}

Lifecycle::Phase Lifecycle::next(const Conditions& now) const {
  if (!pods_listed()) return phase_;
  if (!now.others_synced) return Phase::awaiting_others;
  if (!leads_) return Phase::standby;
  if (!engine_drained_ || now.writes_may_arrive) return Phase::draining;
  // The previous leader has ended: it wrote its unsigned annotations before this moment.
  if (!now.signs) return Phase::awaiting_signing;
  // Pods that were bound before we led are in a new list, but perhaps not yet in the watch.
  if (pods_ != Pods::fresh) return Phase::relisting;
  return has_keys(now) ? Phase::preparing : Phase::awaiting_key_look;
}

}  // namespace stowage::scheduler
