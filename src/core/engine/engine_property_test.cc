// Safety and determinism of the engine, for random clusters, random events and every policy.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/engine/engine.h"
#include "core/place/card_mask.h"
#include "core/place/topology.h"
#include "core/record/decision.h"
#include "core/testing/builders.h"
#include "core/testing/script.h"
#include "core/testing/shadow.h"

namespace stowage::core {
namespace {

using testing::CardAmounts;
using testing::churn_of;
using testing::policy;
using testing::script_of;
using testing::Shadow;
using testing::Step;

using Steps = std::vector<Step>;

PolicyOptions any_policy(std::uint8_t number) {
  std::vector<std::string> names = policy_names();
  for (const char* other : {"most-used/topology", "binpack/topology", "dual-price/spread",
                            "spread/dual-price", "tightest/fgd"}) {
    names.emplace_back(other);
  }
  PolicyOptions options = policy(names[number % names.size()]);
  options.profile_weights = number >= 128;
  options.seed = number;
  return options;
}

// ---- nothing is allocated twice -----------------------------------------------------------------

// Checks every bind of the engine against an account of its own.
class Witness {
 public:
  void before(const Event& event) {
    std::visit([this](const auto& e) { on(e); }, event);
  }

  void check(const Command& command) {
    const auto* bind = std::get_if<Bind>(&command);
    if (bind == nullptr) return;
    RC_ASSERT(!shadow_.holds(bind->uid));
    RC_ASSERT(pending_.contains(bind->uid));
    const PodSpec& pod = pending_.at(bind->uid);
    RC_ASSERT(shadow_.nodes().contains(bind->node));
    const NodeSpec& node = shadow_.nodes().at(bind->node);
    RC_ASSERT(node.schedulable);
    const auto cards = by_position(bind->cards, node);
    RC_ASSERT(cards.has_value());
    check_cards(pod, node, *cards);
    shadow_.hold(pod, bind->node, bind->cards);
    in_flight_.insert(bind->uid);
    check_resources(pod, node);
  }

 private:
  void on(const NodeChanged& e) { shadow_.upsert(e.node); }
  void on(const NodeGone& e) { shadow_.remove(e.name); }
  void on(const PodPending& e) {
    if (!shadow_.holds(e.pod.uid)) pending_[e.pod.uid] = e.pod;
  }
  void on(const PodSeenBound& e) {
    in_flight_.erase(e.pod.uid);
    shadow_.see(e.pod, e.node, e.cards);
  }
  void on(const BindDone& e) { in_flight_.erase(e.uid); }
  void on(const BindFailed& e) {
    if (in_flight_.erase(e.uid) > 0) shadow_.drop(e.uid);
  }
  void on(const PodGone& e) {
    in_flight_.erase(e.uid);
    pending_.erase(e.uid);
    shadow_.drop(e.uid);
  }
  void on(const PodHeld& /*unused*/) {}
  void on(const HoldEnded& /*unused*/) {}
  void on(const CardsMeasured& /*unused*/) {}
  void on(const CardsNamed& /*unused*/) {}
  void on(const NodeSilent& /*unused*/) {}
  void on(const PluginMissing& /*unused*/) {}
  void on(const QuotaChanged& /*unused*/) {}
  void on(const Tick& /*unused*/) {}
  void on(const PodNominated& /*unused*/) {}
  void on(const AuxObjectChanged& /*unused*/) {}
  void on(const AuxObjectGone& /*unused*/) {}
  void on(const EvictFailed& /*unused*/) {}
  void on(const Picked& /*unused*/) {}
  void on(const StandDown& /*unused*/) {
    for (const std::string& uid : in_flight_) shadow_.drop(uid);
    in_flight_.clear();
    pending_.clear();
  }
  void on(const Lead& /*unused*/) {}
  void on(const Continue& /*unused*/) {}

  // The node, with the pod on it, is not over-committed in any resource that the pod requests.
  void check_resources(const PodSpec& pod, const NodeSpec& node) const {
    const Resources used = shadow_.add_up(node.name).used;
    const Resources asked = effective_resources(pod);
    const Resources& all = node.allocatable;
    RC_ASSERT(used.pods <= all.pods);
    RC_ASSERT(asked.cpu_milli == 0 || used.cpu_milli <= all.cpu_milli);
    RC_ASSERT(asked.memory_bytes == 0 || used.memory_bytes <= all.memory_bytes);
    RC_ASSERT(asked.ephemeral_bytes == 0 || used.ephemeral_bytes <= all.ephemeral_bytes);
    for (const auto& [name, amount] : asked.extended) {
      const auto capacity = all.extended.find(name);
      RC_ASSERT(amount == 0 ||
                (capacity != all.extended.end() && used.extended.at(name) <= capacity->second));
    }
  }

  void check_cards(const PodSpec& pod, const NodeSpec& node, const Assignment& cards) const {
    RC_ASSERT(cards.containers.size() == pod.containers.size());
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
      check_container(pod.containers[i].gpu, node, cards.containers[i]);
    }
    const Shadow::Sum sum = shadow_.add_up(node.name);
    for (std::uint32_t c = 0; c < node.cards.size(); ++c) {
      const CardAmounts taken = testing::taken_of(pod, cards, c);
      if (taken == CardAmounts{}) continue;
      CardAmounts used = sum.anywhere;
      const auto others = sum.cards.find(node.cards[c].id);
      if (others != sum.cards.end()) used.add(others->second);
      RC_ASSERT(!sum.closed(node, others == sum.cards.end() ? CardAmounts{} : others->second));
      RC_ASSERT(taken.milli == 0 || used.milli + taken.milli <= kMilliPerCard);
      RC_ASSERT(taken.memory_mib == 0 ||
                used.memory_mib + taken.memory_mib <= node.cards[c].memory_mib);
      RC_ASSERT(node.cards[c].slots == 0 || used.slots + taken.slots <= node.cards[c].slots);
    }
  }

  void check_container(const GpuRequest& ask, const NodeSpec& node,
                       const std::vector<CardShare>& shares) const {
    RC_ASSERT(shares.size() == static_cast<std::size_t>(ask.count));
    const Shadow::Sum sum = shadow_.add_up(node.name);
    CardMask mask = 0;
    for (const CardShare& share : shares) {
      RC_ASSERT(share.card < node.cards.size());
      const Card& card = node.cards[share.card];
      RC_ASSERT(!has_card(mask, share.card));
      mask |= card_bit(share.card);
      RC_ASSERT(card.healthy);
      RC_ASSERT(accepts_model(ask.filter, card.model));
      RC_ASSERT(accepts_id(ask.filter, card.id));
      const bool all = ask.whole() || ask.memory_mib == kWholeMemory;
      RC_ASSERT(share.milli == (ask.whole() ? kMilliPerCard : ask.milli.value_or(0)));
      RC_ASSERT(share.memory_mib == (all ? card.memory_mib : ask.memory_mib.value_or(0)));
      RC_ASSERT(!ask.whole() || card.memory_mib >= ask.memory_mib.value_or(0));
      RC_ASSERT(!ask.whole() || (!sum.cards.contains(card.id) && sum.anywhere == CardAmounts{}));
    }
    check_topology(ask, node, mask);
  }

  static void check_topology(const GpuRequest& ask, const NodeSpec& node, CardMask mask) {
    if (ask.count < 2) return;
    std::vector<std::int32_t> numa;
    for (const auto& card : node.cards) numa.push_back(card.numa);
    if (ask.topology == Topology::numa_strict) RC_ASSERT(numa_shortfall(numa, mask) == 0U);
    if (ask.topology == Topology::link_strict) {
      RC_ASSERT(link_shortfall(node.links, numa, mask) == 0U);
    }
  }

  Shadow shadow_;
  std::map<std::string, PodSpec> pending_;  // as last announced while not placed
  std::set<std::string> in_flight_;         // bound by us, without a reply so far
};

void watch(Engine& engine, const std::vector<Event>& events) {
  Witness witness;
  for (const Event& event : events) {
    const Commands commands = engine.handle(event, base::Instant{});
    witness.before(event);
    for (const Command& command : commands) witness.check(command);
    const auto complaints = engine.ledger().audit();
    if (!complaints.empty()) RC_FAIL(complaints.front());
  }
}

RC_GTEST_PROP(EngineProperty, NothingIsGivenTwice,
              (std::uint8_t number, std::uint8_t nodes, const Steps& steps)) {
  for (const int other : {0, 5, 10, 15}) {
    Engine engine(any_policy(static_cast<std::uint8_t>(number + other)));
    watch(engine, script_of(nodes, steps));
  }
}

// Pods on nodes stay, all others are removed, and the next term starts like the first one.
RC_GTEST_PROP(EngineProperty, StandingDownForgetsAllThatIsNotBound,
              (std::uint8_t number, std::uint8_t nodes, const Steps& steps, std::uint8_t at)) {
  Engine engine(any_policy(number));
  std::vector<Event> events = script_of(nodes, steps);
  const std::size_t when = at % (events.size() + 1);
  events.insert(events.begin() + static_cast<std::ptrdiff_t>(when), StandDown{});
  watch(engine, events);
  RC_ASSERT(engine.handle(StandDown{}, base::Instant{}).empty());
  const Engine::Counters counters = engine.counters();
  RC_ASSERT(counters.waiting == 0U);
  RC_ASSERT(counters.resting == 0U);
  RC_ASSERT(counters.binding == 0U);
  RC_ASSERT(counters.held == 0U);
  RC_ASSERT(counters.nominations == 0U);
  const auto complaints = engine.audit();
  if (!complaints.empty()) RC_FAIL(complaints.front());
}

PolicyOptions dual_price(bool hold_back) {
  PolicyOptions options = policy("dual-price");
  options.hold_back = hold_back;
  return options;
}

RC_GTEST_PROP(EngineProperty, NothingIsGivenTwiceUnderChurn, (std::uint16_t seed, bool hold_back)) {
  Engine engine(dual_price(hold_back));
  watch(engine, churn_of(seed));
  RC_CLASSIFY(engine.counters().held_back > 0, "held back");
  RC_ASSERT(hold_back || engine.counters().held_back == 0U);
}

RC_GTEST_PROP(EngineProperty, APodThatFitsIsHeldBackOnlyIfThatIsAllowed,
              (std::uint16_t seed, bool hold_back)) {
  Engine engine(dual_price(hold_back));
  for (const Event& event : churn_of(seed)) {
    const auto* pending = std::get_if<PodPending>(&event);
    const auto held_back = engine.counters().held_back;
    bool fits = false;
    if (pending != nullptr) {
      for (const auto& verdict : engine.explain(pending->pod)) {
        fits = fits || verdict.reason.code == ReasonCode::none;
      }
    }
    const Commands commands = engine.handle(event, base::Instant{});
    if (pending == nullptr || commands.empty() || !fits) continue;
    if (std::holds_alternative<Refuse>(commands[0])) {
      RC_ASSERT(hold_back);
      RC_ASSERT(engine.counters().held_back == held_back + 1);
      const Refusal& refusal = std::get<Refuse>(commands[0]).refusal;
      RC_ASSERT(refusal.counts.at(0).code == ReasonCode::held_back);
      RC_ASSERT(refusal.nodes == static_cast<std::int64_t>(engine.ledger().nodes().count()));
    }
  }
}

// ---- no pod is forgotten ------------------------------------------------------------------------

// The waiting pods, derived from events and commands.
class Queue {
 public:
  void before(const Event& event) {
    if (const auto* gone = std::get_if<PodGone>(&event)) parked_.erase(gone->uid);
    if (const auto* seen = std::get_if<PodSeenBound>(&event)) parked_.erase(seen->pod.uid);
    const auto* pending = std::get_if<PodPending>(&event);
    if (pending != nullptr) announced_[pending->pod.uid] = pending->pod;
    if (pending != nullptr && parked_.contains(pending->pod.uid)) {
      parked_[pending->pod.uid] = pending->pod;
    }
  }
  void after(const Command& command) {
    if (const auto* bind = std::get_if<Bind>(&command)) parked_.erase(bind->uid);
    if (const auto* refuse = std::get_if<Refuse>(&command)) {
      parked_[refuse->uid] = announced_.at(refuse->uid);
    }
  }
  void check(Engine& engine) const {
    RC_ASSERT(engine.counters().waiting == parked_.size());
    for (const auto& [uid, pod] : parked_) {
      for (const auto& verdict : engine.explain(pod)) {
        if (verdict.reason.code == ReasonCode::none) {
          RC_FAIL(uid + " waits, and " + verdict.node + " has room");
        }
      }
    }
  }

 private:
  std::map<std::string, PodSpec> parked_;
  std::map<std::string, PodSpec> announced_;
};

RC_GTEST_PROP(EngineProperty, NoPodWaitsForFreeCapacity,
              (std::uint8_t number, std::uint8_t nodes, const Steps& steps)) {
  Engine engine(any_policy(number));
  Queue queue;
  for (const Event& event : script_of(nodes, steps)) {
    if (std::holds_alternative<BindFailed>(event)) continue;  // this pod waits for a tick
    queue.before(event);
    for (const Command& command : engine.handle(event, base::Instant{})) queue.after(command);
    queue.check(engine);
  }
}

// ---- the same events, the same commands ---------------------------------------------------------

std::vector<std::string> answers(const PolicyOptions& options, const std::vector<Event>& events) {
  Engine engine(options);
  std::vector<std::string> said;
  for (const Event& event : events) {
    said.push_back(to_text(engine.handle(event, base::Instant{})));
  }
  return said;
}

RC_GTEST_PROP(EngineProperty, TheSameEventsGiveTheSameBytes,
              (std::uint8_t number, std::uint8_t nodes, const Steps& steps)) {
  const PolicyOptions options = any_policy(number);
  const auto events = script_of(nodes, steps);
  RC_ASSERT(answers(options, events) == answers(options, events));
}

RC_GTEST_PROP(EngineProperty, TheSameEventsGiveTheSameBytesUnderChurn, (std::uint16_t seed)) {
  const auto events = churn_of(seed);
  RC_ASSERT(answers(dual_price(true), events) == answers(dual_price(true), events));
}

RC_GTEST_PROP(EngineProperty, CuttingTheEventsLeavesTheFirstAnswersAsTheyWere,
              (std::uint8_t number, std::uint8_t nodes, const Steps& steps, std::uint8_t cut)) {
  const PolicyOptions options = any_policy(number);
  auto events = script_of(nodes, steps);
  auto all = answers(options, events);
  const std::size_t k = cut % (events.size() + 1);
  events.erase(events.begin() + static_cast<std::ptrdiff_t>(k), events.end());
  all.resize(k);
  RC_ASSERT(answers(options, events) == all);
}

// Requests and explanations in between do not affect decisions.
RC_GTEST_PROP(EngineProperty, QuestionsLeaveNoTrace,
              (std::uint8_t number, std::uint8_t nodes, const Steps& steps, std::uint16_t seed)) {
  const PolicyOptions options = any_policy(number);
  const auto events = script_of(nodes, steps);
  Engine engine(options);
  std::vector<std::string> said;
  testing::Dice dice(seed);
  for (const Event& event : events) {
    const PodSpec pod = testing::random_pod(dice, "question");
    if (dice.one_in(3)) (void)engine.explain(pod);
    if (dice.one_in(3) && validate(pod)) (void)engine.record_decision(pod);
    said.push_back(to_text(engine.handle(event, base::Instant{})));
  }
  RC_ASSERT(said == answers(options, events));
}

}  // namespace
}  // namespace stowage::core
