// Checks the engine's choices and refusals against a new engine, the record of the decision,
// explain(), and the same cluster with one more node.
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/engine/engine.h"
#include "core/explain/render.h"
#include "core/record/decision.h"
#include "core/testing/builders.h"
#include "core/testing/script.h"

namespace stowage::core {
namespace {

using testing::Dice;
using testing::policy;
using testing::script_of;
using testing::Step;

using Steps = std::vector<Step>;

// Policies that depend only on the state of the cluster, not on its history.
PolicyOptions plain_policy(std::uint8_t number) {
  const std::vector<std::string> names{"binpack",        "spread",         "tightest",
                                       "most-used",      "most-free",      "elastic-binpack",
                                       "first",          "best-fit",       "dot-product",
                                       "gpu-packing",    "gpu-clustering", "binpack/topology",
                                       "spread/best-fit"};
  PolicyOptions options = policy(names[number % names.size()]);
  options.profile_weights = number >= 128;
  return options;
}

// An engine that has handled the script and has no waiting pod.
Engine lived(const PolicyOptions& options, const std::vector<Event>& events) {
  Engine engine({options}, {.preemption = false});  // only placements matter, not priorities
  for (const Event& event : events) (void)engine.handle(event, base::Instant{});
  for (std::size_t i = 0; i < testing::kScriptPods; ++i) {
    const std::string uid = "p" + std::to_string(i);
    if (!engine.ledger().pods().find(uid).valid()) testing::end(engine, uid);
  }
  return engine;
}

// A valid pod to ask about.
PodSpec question(std::uint16_t seed) {
  Dice dice(seed);
  PodSpec pod = testing::random_pod(dice, "question");
  while (!validate(pod)) pod = testing::random_pod(dice, "question");
  return pod;
}

std::string ask(Engine& engine, const PodSpec& pod) {
  const Commands commands = engine.handle(PodPending{pod}, base::Instant{});
  testing::end(engine, pod.uid);
  return to_text(commands);
}

// ---- cached and fresh ---------------------------------------------------------------------------

// A pod that uses the charged share of each card, with one container per slot.
PodSeenBound seen_as(const PodRecord& record, const NodeSpec& on) {
  PodSeenBound event{.pod = {.uid = record.uid, .name = record.name}, .node = on.name, .cards = {}};
  event.pod.containers.emplace_back();
  event.pod.containers[0].resources = record.resources;
  event.pod.containers[0].resources.pods = 0;
  event.cards.emplace();
  event.cards->containers.resize(1);
  std::vector<std::pair<std::string, CardCharge>> charges;
  for (const CardCharge& charge : record.charges) {
    charges.emplace_back(on.cards[charge.card].id, charge);
  }
  for (const LostCharge& lost : record.orphans) charges.emplace_back(lost.id, lost.charge);
  for (const auto& [id, charge] : charges) {
    const auto slots = static_cast<std::size_t>(charge.slots);
    if (slots > event.cards->containers.size()) {
      event.cards->containers.resize(slots);
      event.pod.containers.resize(slots);
    }
    for (std::size_t i = 0; i < slots; ++i) {
      event.cards->containers[i].push_back({.card = id,
                                            .milli = i == 0 ? charge.milli : 0,
                                            .memory_mib = i == 0 ? charge.memory_mib : 0});
    }
  }
  return event;
}

// The last spec of each pod whose cards were not named.
std::map<std::string, PodSpec> cards_unknown(const std::vector<Event>& events) {
  std::map<std::string, PodSpec> pods;
  for (const Event& event : events) {
    const auto* seen = std::get_if<PodSeenBound>(&event);
    if (seen != nullptr && !seen->cards) pods[seen->pod.uid] = seen->pod;
  }
  return pods;
}

Engine rebuilt(const PolicyOptions& options, const Ledger& ledger,
               const std::map<std::string, PodSpec>& unknown, bool pods_first) {
  Engine engine({options}, {.preemption = false});  // only placements matter, not priorities
  const auto handle = [&](const Event& event) { RC_ASSERT(engine.handle(event, {}).empty()); };
  std::map<std::string, NodeIndex, std::greater<>> nodes;  // in another order than they were added
  for (std::size_t i = 0; i < ledger.nodes().rows(); ++i) {
    if (ledger.nodes().present(NodeIndex(i))) {
      nodes.emplace(ledger.nodes().spec(NodeIndex(i)).name, i);
    }
  }
  for (int round = 0; round < 2; ++round) {
    for (const auto& [name, node] : nodes) {
      if ((round == 0) == pods_first) {
        for (const PodIndex pod : ledger.nodes().pods_on(node)) {
          const PodRecord& record = ledger.pods().record(pod);
          const bool known = record.state != PodState::bound_cards_unknown;
          handle(known ? seen_as(record, ledger.nodes().spec(node))
                       : PodSeenBound{unknown.at(record.uid), name, {}});
        }
      } else {
        handle(NodeChanged{ledger.nodes().spec(node)});
      }
    }
  }
  return engine;
}

RC_GTEST_PROP(EngineChoice, EqualsThatOfAnEngineBuiltAnew,
              (std::uint8_t number, std::uint8_t nodes, const Steps& steps, std::uint16_t seed,
               bool pods_first)) {
  const auto events = script_of(nodes, steps);
  for (const int other : {0, 4, 8}) {
    const PolicyOptions options = plain_policy(static_cast<std::uint8_t>(number + other));
    Engine engine = lived(options, events);
    for (std::uint16_t i = 0; i < 4; ++i) {  // the first one builds rankings that the others use
      const PodSpec pod = question(static_cast<std::uint16_t>(seed + i / 2));
      Engine fresh = rebuilt(options, engine.ledger(), cards_unknown(events), pods_first);
      RC_ASSERT(ask(engine, pod) == ask(fresh, pod));
      (void)engine.handle(testing::event_of({7, static_cast<std::uint16_t>(seed + i)}), {});
    }
  }
}

RC_GTEST_PROP(EngineChoice, IsThatOfItsRecord,
              (std::uint8_t number, std::uint8_t nodes, const Steps& steps, std::uint16_t seed)) {
  const PodSpec pod = question(seed);
  const auto names = policy_names();
  for (const std::string& name : {names[number % names.size()], names[0], names[1]}) {
    const PolicyOptions options = policy(name);
    Engine engine = lived(options, script_of(nodes, steps));
    const auto replay = replay_decision(engine.record_decision(pod));
    if (!replay) RC_FAIL(replay.error().message);
    RC_ASSERT(replay->recorded == replay->replayed);
    const bool learns =
        options.choice.node == NodePolicy::fgd || options.choice.node == NodePolicy::dual_price;
    if (!learns) RC_ASSERT(ask(engine, pod) == replay->recorded);
  }
}

RC_GTEST_PROP(EngineChoice, UnderChurnIsThatOfItsRecord, (std::uint16_t seed, bool hold_back)) {
  PolicyOptions options = policy("dual-price");
  options.hold_back = hold_back;
  Engine engine({options}, {.preemption = false});  // only placements matter, not priorities
  std::size_t count = 0;
  for (const Event& event : testing::churn_of(seed)) {
    (void)engine.handle(event, base::Instant{});
    if (++count < 150 || count % 20 != 0) continue;
    const PodSpec pod = testing::pod("question").gpus(1 + static_cast<std::int32_t>(count % 4));
    const auto replay = replay_decision(engine.record_decision(pod));
    if (!replay) RC_FAIL(replay.error().message);
    RC_ASSERT(replay->recorded == replay->replayed);
  }
}

// ---- refusals -----------------------------------------------------------------------------------

RC_GTEST_PROP(EngineRefusal, AgreesWithTheVerdictOnEveryNode,
              (std::uint8_t number, std::uint8_t nodes, const Steps& steps, std::uint16_t seed)) {
  const auto names = policy_names();
  Engine engine = lived(policy(names[number % names.size()]), script_of(nodes, steps));
  const PodSpec pod = question(seed);
  const auto verdicts = engine.explain(pod);
  RC_ASSERT(verdicts.size() == engine.ledger().nodes().count());
  std::map<ReasonCode, std::int64_t> expected;
  for (const auto& verdict : verdicts) ++expected[verdict.reason.code];
  const Commands commands = engine.handle(PodPending{pod}, {});
  RC_ASSERT(commands.size() == 1U);
  if (const auto* bind = std::get_if<Bind>(&commands[0])) {
    for (const auto& verdict : verdicts) {
      if (verdict.node == bind->node) RC_ASSERT(verdict.reason.code == ReasonCode::none);
    }
    return;
  }
  const Refusal& refusal = std::get<Refuse>(commands[0]).refusal;
  RC_ASSERT(!expected.contains(ReasonCode::none));
  RC_ASSERT(refusal.nodes == static_cast<std::int64_t>(verdicts.size()));
  std::map<ReasonCode, std::int64_t> counted;
  std::int64_t most = refusal.nodes;
  for (const auto& count : refusal.counts) {
    counted[count.code] = count.nodes;
    RC_ASSERT(count.nodes <= most);
    most = count.nodes;
  }
  RC_ASSERT(counted == expected);
}

// The pod that nearest_fit() describes.
std::optional<PodSpec> reduced(PodSpec pod, const Refusal& refusal) {
  ContainerSpec& container = pod.containers.at(0);
  const Topology wish = container.gpu.topology;
  const bool strict = wish == Topology::numa_strict || wish == Topology::link_strict;
  for (const auto& count : refusal.counts) {
    if (count.best_only < 0) continue;
    const auto best = static_cast<std::int32_t>(std::min<std::int64_t>(count.best_only, 1 << 30U));
    switch (count.code) {
      case ReasonCode::card_memory:
        if (best == 0) break;
        container.gpu.memory_mib = best;
        return pod;
      case ReasonCode::card_milli:
        if (best == 0) break;
        container.gpu.milli = best;
        return pod;
      case ReasonCode::cards:
        if (best == 0 || strict)
          return std::nullopt;  // "needs 2, has 1" does not imply a fit in these cases
        container.gpu.count = best;
        return pod;
      case ReasonCode::cpu:
        if (best == 0) break;
        container.resources.cpu_milli = best;
        return pod;
      case ReasonCode::link: container.gpu.topology = Topology::link; return pod;
      case ReasonCode::numa: container.gpu.topology = Topology::numa; return pod;
      default: break;
    }
  }
  return std::nullopt;
}

RC_GTEST_PROP(EngineRefusal, TheNearestThingThatWouldFitDoesFit,
              (std::uint8_t number, std::uint8_t nodes, const Steps& steps, std::uint16_t seed)) {
  Engine engine = lived(plain_policy(number), script_of(nodes, steps));
  for (std::uint16_t i = 0; i < 8; ++i) {
    PodSpec pod = question(static_cast<std::uint16_t>(seed + i));
    pod.containers.resize(1);
    const testing::Placed placed = testing::place(engine, pod);
    if (placed.placed()) testing::end(engine, pod.uid);
    if (!placed.refusal) continue;
    const auto smaller = reduced(pod, *placed.refusal);
    if (!smaller) continue;
    RC_LOG() << render(*placed.refusal) << " " << nearest_fit(*placed.refusal) << "\n";
    bool fits = false;
    for (const auto& verdict : engine.explain(*smaller)) {
      fits = fits || verdict.reason.code == ReasonCode::none;
    }
    RC_ASSERT(fits);
  }
}

// ---- one more node ------------------------------------------------------------------------------

RC_GTEST_PROP(EngineChoice, AnEmptyNodeMoreNeverTurnsAFitIntoARefusal,
              (std::uint8_t number, std::uint8_t nodes, const Steps& steps, std::uint16_t seed)) {
  const auto names = policy_names();
  const PolicyOptions options = policy(names[number % names.size()]);
  Engine engine = lived(options, script_of(nodes, steps));
  const PodSpec pod = question(seed);
  const bool fitted = ask(engine, pod).starts_with("bind");
  Dice dice(seed);
  const std::string name = dice.pick({"a-first", "n00", "zz-last"});
  testing::add(engine, testing::random_node(dice, name));
  const bool fits = ask(engine, pod).starts_with("bind");
  RC_ASSERT(fits || !fitted);
}

}  // namespace
}  // namespace stowage::core
