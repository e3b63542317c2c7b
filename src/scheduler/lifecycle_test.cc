#include "scheduler/lifecycle.h"

#include <gtest/gtest.h>

namespace stowage::scheduler {
namespace {

using Phase = Lifecycle::Phase;
using Event = Lifecycle::Event;
using Action = Lifecycle::Action;
using Actions = Lifecycle::Actions;

constexpr Phase kPhases[] = {
    Phase::awaiting_nodes,    Phase::awaiting_keys, Phase::listing_pods,     Phase::awaiting_others,
    Phase::standby,           Phase::draining,      Phase::awaiting_signing, Phase::relisting,
    Phase::awaiting_key_look, Phase::preparing,     Phase::deciding};

// A lifecycle and its conditions, which all hold at the start except those of the lists.
struct Machine {
  explicit Machine(Lifecycle::Leads leads = Lifecycle::Leads::when_elected) : life(leads) {}

  Actions operator()(Event event) { return life.handle(event, now); }

  // An elected replica that has reached `phase` in the usual order.
  static Machine in(Phase phase) {
    Machine machine;
    if (phase == Phase::awaiting_nodes) return machine;
    machine.now.keys_known = false;
    machine(Event::nodes_listed);
    if (phase == Phase::awaiting_keys) return machine;
    machine.now.keys_known = true;
    machine(Event::keys_changed);
    if (phase == Phase::listing_pods) return machine;
    machine.now.others_synced = false;
    machine.list();
    if (phase == Phase::awaiting_others) return machine;
    machine.now.others_synced = true;
    machine(Event::others_synced);
    if (phase == Phase::standby) return machine;
    machine.now.writes_may_arrive = true;
    machine(Event::lead);
    if (phase == Phase::draining) return machine;
    machine.now = {.keys_known = true, .others_synced = true, .keys_current = true};
    machine(Event::tick);
    if (phase == Phase::awaiting_signing) return machine;
    machine.now.signs = true;
    machine(Event::keys_changed);
    if (phase == Phase::relisting) return machine;
    machine.life.unknown_key(1);
    machine.list();
    if (phase == Phase::awaiting_key_look) return machine;
    machine.now.key_looks = 1;
    machine(Event::tick);
    if (phase == Phase::preparing) return machine;
    machine(Event::prepared);
    return machine;
  }

  Actions list() {
    (*this)(Event::pods_list_began);
    return (*this)(Event::pods_listed);
  }

  Lifecycle life;
  Lifecycle::Conditions now{
      .keys_known = true, .others_synced = true, .signs = true, .keys_current = true};
};

TEST(Lifecycle, PassesThePhasesInOrder) {
  for (const Phase phase : kPhases) EXPECT_EQ(Machine::in(phase).life.phase(), phase);
}

TEST(Lifecycle, StartsPodsAfterNodesAndKeysInEitherOrder) {
  Machine machine;
  EXPECT_EQ(machine(Event::keys_changed), Actions{});
  EXPECT_EQ(machine(Event::nodes_listed), Actions{Action::start_pods});
  EXPECT_EQ(machine(Event::nodes_listed), Actions{});
  EXPECT_EQ(machine(Event::keys_changed), Actions{});

  Machine keyless = Machine::in(Phase::awaiting_keys);
  EXPECT_EQ(keyless(Event::tick), Actions{});
  EXPECT_EQ(keyless(Event::nodes_listed), Actions{});
  keyless.now.keys_known = true;
  EXPECT_EQ(keyless(Event::pods_need_relist), Actions{Action::start_pods});  // there are none yet
  EXPECT_EQ(keyless.life.phase(), Phase::listing_pods);
}

TEST(Lifecycle, DecidesAtOnceWithoutAnElection) {
  Machine machine(Lifecycle::Leads::from_start);
  machine(Event::nodes_listed);
  EXPECT_FALSE(machine.life.pods_listed());
  EXPECT_EQ(machine.list(), (Actions{Action::report_synced, Action::prepare}));
  EXPECT_TRUE(machine.life.synced());
  EXPECT_FALSE(machine.life.deciding());
  EXPECT_EQ(machine(Event::lead), Actions{});
  EXPECT_EQ(machine(Event::prepared), Actions{Action::open});
  EXPECT_TRUE(machine.life.deciding());
}

TEST(Lifecycle, ReportsOnceThatItIsSynced) {
  Machine machine = Machine::in(Phase::awaiting_others);
  EXPECT_EQ(machine(Event::tick), Actions{});
  EXPECT_EQ(machine.list(), Actions{});
  EXPECT_FALSE(machine.life.synced());
  machine.now.others_synced = true;
  EXPECT_EQ(machine(Event::others_synced), Actions{Action::report_synced});
  EXPECT_EQ(machine(Event::others_synced), Actions{});
  EXPECT_EQ(machine.list(), Actions{});
  EXPECT_EQ(machine.life.phase(), Phase::standby);
}

TEST(Lifecycle, ListsAllPodsOnceMoreWhenItLeads) {
  Machine machine = Machine::in(Phase::standby);
  machine(Event::pods_list_began);  // before we led
  EXPECT_EQ(machine(Event::lead), Actions{Action::relist_pods});
  EXPECT_EQ(machine(Event::tick), Actions{});
  EXPECT_EQ(machine(Event::pods_listed), Actions{Action::relist_pods});
  EXPECT_EQ(machine.life.phase(), Phase::relisting);
  EXPECT_EQ(machine.list(), Actions{Action::prepare});
}

TEST(Lifecycle, AListThatBeganWhileOldBindsMightArriveDoesNotCount) {
  Machine machine = Machine::in(Phase::draining);
  EXPECT_EQ(machine.list(), Actions{});
  machine(Event::pods_list_began);
  machine.now.writes_may_arrive = false;
  machine.now.signs = true;
  machine.now.keys_current = true;
  EXPECT_EQ(machine(Event::pods_listed), Actions{Action::relist_pods});
}

TEST(Lifecycle, AsksForASigningKeyAtEveryAdvance) {
  Machine machine = Machine::in(Phase::awaiting_signing);
  EXPECT_EQ(machine(Event::tick), Actions{Action::begin_signing});
  EXPECT_EQ(machine.list(), Actions{Action::begin_signing});  // and this list counts
  machine.now.signs = true;
  EXPECT_EQ(machine(Event::keys_changed), Actions{Action::prepare});
}

TEST(Lifecycle, WaitsForTheLookAfterTheLastUnknownKeyOfTheList) {
  Machine machine = Machine::in(Phase::awaiting_key_look);
  machine.life.unknown_key(2);  // a pod that came later
  EXPECT_TRUE(machine.life.misses_keys(machine.now));
  machine.now.keys_current = false;
  machine.now.key_looks = 1;
  EXPECT_EQ(machine(Event::tick), Actions{});
  EXPECT_TRUE(machine.life.misses_keys(machine.now));
  machine.now.keys_current = true;
  EXPECT_FALSE(machine.life.misses_keys(machine.now));
  EXPECT_EQ(machine(Event::tick), Actions{Action::prepare});
}

TEST(Lifecycle, KeysThatChangeWhileListingMakeThatListNotCount) {
  Machine machine = Machine::in(Phase::relisting);
  machine(Event::pods_list_began);
  EXPECT_EQ(machine(Event::pods_need_relist), Actions{Action::relist_pods});
  EXPECT_EQ(machine(Event::pods_listed), Actions{Action::relist_pods});  // the list was interrupted
  machine.life.unknown_key(0);
  EXPECT_EQ(machine.list(), Actions{Action::prepare});
}

TEST(Lifecycle, KeysThatChangeInTheFirstListAreHeededInTheNext) {
  Machine machine(Lifecycle::Leads::from_start);
  machine(Event::nodes_listed);
  machine(Event::pods_list_began);
  EXPECT_EQ(machine(Event::pods_need_relist), Actions{Action::relist_pods});
  EXPECT_EQ(machine.list(), (Actions{Action::report_synced, Action::prepare}));
}

TEST(Lifecycle, KeysThatChangeWhileItPreparesOrDecidesDoNotStopIt) {
  Machine preparing = Machine::in(Phase::preparing);
  EXPECT_EQ(preparing(Event::pods_need_relist), Actions{Action::relist_pods});
  EXPECT_EQ(preparing(Event::prepared), Actions{Action::open});

  Machine deciding = Machine::in(Phase::deciding);
  EXPECT_EQ(deciding(Event::pods_need_relist), Actions{Action::relist_pods});
  EXPECT_EQ(deciding.list(), Actions{});
  EXPECT_EQ(deciding(Event::keys_changed), Actions{});
  EXPECT_TRUE(deciding.life.deciding());
}

TEST(Lifecycle, StandsDownFromEveryPhase) {
  for (const Phase phase : kPhases) {
    if (phase == Phase::standby) continue;
    Machine machine = Machine::in(phase);
    const bool led = phase > Phase::standby;
    if (!led) machine(Event::lead);
    EXPECT_EQ(machine(Event::stand_down), Actions{Action::pause});
    EXPECT_EQ(machine.life.phase(), led ? Phase::standby : phase);
    EXPECT_EQ(machine(Event::stand_down), Actions{});
    EXPECT_EQ(machine(Event::prepared), Actions{});
    EXPECT_FALSE(machine.life.misses_keys({}));
  }
}

TEST(Lifecycle, AnAnswerOfBeforeItStoodDownOpensNothing) {
  Machine machine = Machine::in(Phase::preparing);
  machine(Event::stand_down);
  machine(Event::lead);
  EXPECT_EQ(machine(Event::prepared), Actions{});
  EXPECT_EQ(machine.life.phase(), Phase::draining);
}

TEST(Lifecycle, LeadsAgainOnlyWhenTheEngineHasDrained) {
  Machine machine = Machine::in(Phase::deciding);
  machine(Event::stand_down);
  EXPECT_EQ(machine(Event::lead), Actions{});
  EXPECT_EQ(machine.list(), Actions{});
  EXPECT_EQ(machine(Event::tick), Actions{});
  EXPECT_EQ(machine.life.phase(), Phase::draining);
  EXPECT_EQ(machine(Event::engine_drained), Actions{Action::prepare});  // that list counted
}

TEST(Lifecycle, SettlesWhileItStandsBy) {
  Machine machine = Machine::in(Phase::deciding);
  machine(Event::stand_down);
  EXPECT_EQ(machine(Event::engine_drained), Actions{});
  EXPECT_EQ(machine.life.phase(), Phase::standby);
  EXPECT_EQ(machine(Event::lead), Actions{Action::relist_pods});
}

TEST(Lifecycle, GoesBackWhenAnEarlierConditionFails) {
  Machine machine = Machine::in(Phase::awaiting_key_look);
  machine.now.writes_may_arrive = true;
  EXPECT_EQ(machine(Event::tick), Actions{});
  EXPECT_EQ(machine.life.phase(), Phase::draining);
  machine.now.writes_may_arrive = false;
  EXPECT_EQ(machine(Event::pods_need_relist), Actions{Action::relist_pods});
  EXPECT_EQ(machine.life.phase(), Phase::relisting);
}

TEST(Lifecycle, NothingButStandingDownFollowsAStop) {
  for (const Phase phase : kPhases) {
    Machine machine = Machine::in(phase);
    EXPECT_EQ(machine(Event::stop), Actions{});
    EXPECT_TRUE(machine.life.stopped());
    for (int event = 0; event <= static_cast<int>(Event::stop); ++event) {
      if (static_cast<Event>(event) == Event::stand_down) continue;
      EXPECT_EQ(machine(static_cast<Event>(event)), Actions{});
      EXPECT_EQ(machine.life.phase(), phase);
    }
    const bool led = phase > Phase::standby;
    EXPECT_EQ(machine(Event::stand_down), led ? Actions{Action::pause} : Actions{});
    EXPECT_FALSE(machine.life.deciding());
  }
}

// The actions and the next phase for an event in a phase, if all other conditions hold.
TEST(Lifecycle, TableOfEvents) {
  struct Row {
    Phase from;
    Event event;
    Phase to;
    Actions actions;
  };
  using P = Phase;
  using E = Event;
  const Row rows[] = {
      {P::awaiting_nodes, E::nodes_listed, P::listing_pods, {Action::start_pods}},
      {P::awaiting_nodes, E::keys_changed, P::awaiting_nodes, {}},
      {P::awaiting_nodes, E::pods_need_relist, P::awaiting_nodes, {}},
      {P::awaiting_nodes, E::others_synced, P::awaiting_nodes, {}},
      {P::awaiting_nodes, E::lead, P::awaiting_nodes, {}},
      {P::awaiting_nodes, E::tick, P::awaiting_nodes, {}},
      {P::awaiting_keys, E::keys_changed, P::listing_pods, {Action::start_pods}},
      {P::awaiting_keys, E::others_synced, P::awaiting_keys, {}},
      {P::listing_pods, E::pods_list_began, P::listing_pods, {}},
      {P::listing_pods, E::pods_need_relist, P::listing_pods, {Action::relist_pods}},
      {P::listing_pods, E::others_synced, P::listing_pods, {}},
      {P::listing_pods, E::lead, P::listing_pods, {}},
      {P::listing_pods, E::pods_listed, P::standby, {Action::report_synced}},
      {P::awaiting_others, E::others_synced, P::standby, {Action::report_synced}},
      {P::awaiting_others, E::lead, P::relisting, {Action::report_synced, Action::relist_pods}},
      {P::standby, E::nodes_listed, P::standby, {}},
      {P::standby, E::pods_need_relist, P::standby, {Action::relist_pods}},
      {P::standby, E::prepared, P::standby, {}},
      {P::standby, E::lead, P::relisting, {Action::relist_pods}},
      {P::draining, E::tick, P::relisting, {Action::relist_pods}},
      {P::draining, E::engine_drained, P::relisting, {Action::relist_pods}},
      {P::draining, E::nodes_listed, P::draining, {}},
      {P::draining, E::pods_list_began, P::draining, {}},
      {P::awaiting_signing, E::keys_changed, P::relisting, {Action::relist_pods}},
      {P::relisting, E::tick, P::relisting, {}},
      {P::relisting, E::pods_listed, P::relisting, {Action::relist_pods}},  // it did not count
      {P::awaiting_key_look, E::tick, P::preparing, {Action::prepare}},
      {P::awaiting_key_look, E::nodes_listed, P::awaiting_key_look, {}},
      {P::preparing, E::tick, P::preparing, {}},
      {P::preparing, E::lead, P::preparing, {}},
      {P::preparing, E::pods_listed, P::preparing, {}},
      {P::preparing, E::prepared, P::deciding, {Action::open}},
      {P::deciding, E::prepared, P::deciding, {}},
      {P::deciding, E::tick, P::deciding, {}},
      {P::deciding, E::engine_drained, P::deciding, {}},
      {P::deciding, E::stand_down, P::standby, {Action::pause}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(::testing::Message() << "phase " << static_cast<int>(row.from) << ", event "
                                      << static_cast<int>(row.event));
    Machine machine = Machine::in(row.from);
    machine.now = Machine().now;
    machine.now.key_looks = 1;
    EXPECT_EQ(machine(row.event), row.actions);
    EXPECT_EQ(machine.life.phase(), row.to);
  }
}

}  // namespace
}  // namespace stowage::scheduler
