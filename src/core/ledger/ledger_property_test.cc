// Random sequences of all ledger operations, including hostile ones, compared after every step with
// a naive model that adds up the pods from scratch.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ledger/ledger.h"
#include "core/place/judge.h"
#include "core/place/shape.h"
#include "core/testing/builders.h"
#include "core/testing/random.h"
#include "core/testing/shadow.h"

namespace stowage::core {
namespace {

using testing::CardAmounts;
using testing::Dice;
using testing::Shadow;

// One step: the operation and its seed.
using Step = std::pair<std::uint8_t, std::uint16_t>;

class World {
 public:
  void step(const Step& step) {
    Dice dice(step.second);
    switch (step.first % 10) {
      case 0: upsert(testing::random_node(dice, name(dice))); break;
      case 1: change_node(dice); break;
      case 2: remove(name(dice)); break;
      case 3:
      case 4:
      case 5: reserve(dice); break;
      case 6: confirm(uid(dice)); break;
      case 7: release(uid(dice)); break;
      case 8: see(dice, true); break;
      case 9: see(dice, false); break;
      default: break;
    }
  }

  void check() const {
    const auto complaints = ledger_.audit();
    if (!complaints.empty()) RC_FAIL(complaints.front());
    RC_ASSERT(ledger_.nodes().count() == shadow_.nodes().size());
    RC_ASSERT(ledger_.pods().count() == shadow_.pods().size());
    for (const auto& [name, spec] : shadow_.nodes()) check_node(spec);
    for (const auto& [uid, held] : shadow_.pods()) {
      const PodIndex pod = ledger_.pods().find(uid);
      RC_ASSERT(pod.valid());
      RC_ASSERT(ledger_.nodes().spec(ledger_.pods().record(pod).node).name == held.node);
    }
    (void)ledger_.nodes().debts();
  }

  // Where a random pod fits, with the cards.
  struct Fit {
    PodSpec pod;
    NodeIndex node;
    Assignment cards;
  };
  std::optional<Fit> find_fit(Dice& dice, const std::string& uid) {
    if (shadow_.nodes().empty()) return std::nullopt;
    Fit fit{.pod = testing::random_pod(dice, uid), .node = {}, .cards = {}};
    const PolicyOptions options{
        .choice = {.node = NodePolicy::binpack, .card = CardPolicy::binpack}};
    const Shape shape = make_shape(fit.pod, ledger_);
    const JudgeContext context{.ledger = &ledger_, .options = &options};
    for (const auto& [name, spec] : shadow_.nodes()) {
      const NodeIndex node = ledger_.nodes().find(name);
      Placement placement;
      if (judge(context, shape, node, &placement).reason.code != ReasonCode::none) continue;
      fit.node = node;
      fit.cards = to_assignment(ledger_, shape, node, placement, fit.pod.containers.size());
      return fit;
    }
    return std::nullopt;
  }

  Ledger& ledger() { return ledger_; }

 private:
  static std::string name(Dice& dice) { return "n" + std::to_string(dice.below(3)); }
  static std::string uid(Dice& dice) { return "p" + std::to_string(dice.below(8)); }

  void upsert(const NodeSpec& spec) {
    shadow_.upsert(spec);
    ledger_.upsert_node(spec);
  }

  void change_node(Dice& dice) {
    const auto known = shadow_.nodes().find(name(dice));
    if (known == shadow_.nodes().end()) return;
    NodeSpec spec = known->second;
    if (spec.cards.empty()) return;
    const std::size_t a = dice.below(spec.cards.size());
    switch (dice.below(4)) {
      case 0: std::swap(spec.cards[a], spec.cards[dice.below(spec.cards.size())]); break;
      case 1: spec.cards.erase(spec.cards.begin() + static_cast<std::ptrdiff_t>(a)); break;
      case 2: spec.cards[a].healthy = !spec.cards[a].healthy; break;
      case 3: spec.cards[a].memory_mib = dice.pick({0, 500, 1700}); break;
      default: break;
    }
    spec.links = {};
    upsert(spec);
  }

  void remove(const std::string& name) {
    shadow_.remove(name);
    ledger_.remove_node(name);
  }

  void reserve(Dice& dice) {
    const std::string who = uid(dice);
    if (shadow_.holds(who)) return;
    const auto fit = find_fit(dice, who);
    if (!fit) return;
    ledger_.reserve(fit->pod, fit->node, fit->cards);
    const NodeSpec& spec = ledger_.nodes().spec(fit->node);
    shadow_.hold(fit->pod, spec.name, by_id(fit->cards, spec));
  }

  void confirm(const std::string& uid) {
    if (shadow_.holds(uid)) ledger_.confirm(ledger_.pods().find(uid));
  }

  void release(const std::string& uid) {
    if (shadow_.drop(uid)) ledger_.release(ledger_.pods().find(uid));
  }

  // A pod of another scheduler, or a known uid with another spec, on another node or on full cards.
  void see(Dice& dice, bool with_cards) {
    const std::string who = uid(dice);
    const std::string where = dice.one_in(6) ? "elsewhere" : name(dice);
    const PodSpec pod = testing::random_pod(dice, who);
    if (!with_cards) {
      ledger_.seen_bound(pod, where, std::nullopt);
      return shadow_.see(pod, where, std::nullopt);
    }
    const NamedAssignment cards = testing::named(where, testing::random_cards(dice, pod));
    const NodeIndex node = ledger_.nodes().find(where);
    const Positions at =
        find_positions(cards, node.valid() ? ledger_.nodes().spec(node) : NodeSpec{});
    ledger_.seen_bound(pod, where, at.cards, at.absent);
    shadow_.see(pod, where, cards);
  }

  void check_node(const NodeSpec& spec) const {
    const NodeIndex node = ledger_.nodes().find(spec.name);
    RC_ASSERT(node.valid());
    RC_ASSERT(ledger_.nodes().spec(node) == spec);
    const Shadow::Sum sum = shadow_.add_up(spec.name);
    const NodeState& state = ledger_.nodes().state(node);
    const auto left = [](std::int64_t capacity, std::int64_t used) {
      return std::max<std::int64_t>(0, capacity - used);
    };
    RC_ASSERT(state.cpu_free_milli == left(spec.allocatable.cpu_milli, sum.used.cpu_milli));
    RC_ASSERT(state.memory_free_bytes ==
              left(spec.allocatable.memory_bytes, sum.used.memory_bytes));
    RC_ASSERT(state.ephemeral_free_bytes ==
              left(spec.allocatable.ephemeral_bytes, sum.used.ephemeral_bytes));
    RC_ASSERT(state.pods_free == left(spec.allocatable.pods, sum.used.pods));
    RC_ASSERT(state.schedulable == spec.schedulable);
    RC_ASSERT(ledger_.nodes().pods_on(node).size() == static_cast<std::size_t>(sum.used.pods));
    RC_ASSERT(ledger_.nodes().cards(node).size() == spec.cards.size());
    for (std::size_t i = 0; i < spec.cards.size(); ++i) check_card(spec, node, sum, i);
  }

  void check_card(const NodeSpec& spec, NodeIndex node, const Shadow::Sum& sum,
                  std::size_t i) const {
    const Card& card = spec.cards[i];
    const CardState& row = ledger_.nodes().cards(node)[i];
    const auto found = sum.cards.find(card.id);
    const CardAmounts used = found == sum.cards.end() ? CardAmounts{} : found->second;
    const auto left = [](std::int64_t all, std::int64_t a, std::int64_t b) {
      return static_cast<std::int32_t>(std::max<std::int64_t>(0, all - a - b));
    };
    const bool closed = sum.closed(spec, used);
    const CardAmounts& any = sum.anywhere;
    RC_ASSERT(row.milli_free == (closed ? 0 : left(kMilliPerCard, used.milli, any.milli)));
    RC_ASSERT(row.memory_free_mib ==
              (closed ? 0 : left(card.memory_mib, used.memory_mib, any.memory_mib)));
    const std::int32_t slots =
        card.slots == 0 ? kNoSlotLimit : left(card.slots, used.slots, any.slots);
    RC_ASSERT(row.slots_free == (closed ? 0 : slots));
    RC_ASSERT(ledger_.names().models().names()[row.model] == card.model);
    RC_ASSERT(ledger_.names().memory().sizes()[row.memory_class] == card.memory_mib);
    const NodeState& state = ledger_.nodes().state(node);
    RC_ASSERT(has_card(state.healthy, i) == card.healthy);
    const bool nobody = used == CardAmounts{} && any == CardAmounts{} && sum.whole_somewhere == 0;
    RC_ASSERT(has_card(state.whole, i) == (card.healthy && nobody));
  }

  Ledger ledger_;
  Shadow shadow_;
};

struct Rows {  // everything that a judgement reads
  std::vector<NodeState> nodes;
  std::vector<std::vector<CardState>> cards;
  std::vector<std::int64_t> extended;
  bool operator==(const Rows&) const = default;
};

Rows rows_of(Ledger& ledger) {
  Rows rows;
  for (std::size_t i = 0; i < ledger.nodes().rows(); ++i) {
    const NodeIndex node(i);
    rows.nodes.push_back(ledger.nodes().state(node));
    rows.cards.emplace_back(ledger.nodes().cards(node).begin(), ledger.nodes().cards(node).end());
    rows.extended.push_back(ledger.nodes().record(node).extended_free(
        ledger.names().resources().find("example.com/nic")));
  }
  return rows;
}

RC_GTEST_PROP(LedgerProperty, EqualsARecountAfterEveryStep, (const std::vector<Step>& steps)) {
  World world;
  for (const Step& step : steps) {
    world.step(step);
    world.check();
  }
}

RC_GTEST_PROP(LedgerProperty, ReserveThenReleaseIsIdentity,
              (const std::vector<Step>& steps, std::uint16_t seed)) {
  World world;
  for (const Step& step : steps) world.step(step);
  Ledger& ledger = world.ledger();
  Dice dice(seed);
  for (int i = 0; i < 5; ++i) {
    const auto fit = world.find_fit(dice, "new");
    if (!fit) continue;
    const Rows before = rows_of(ledger);
    const PodIndex pod = ledger.reserve(fit->pod, fit->node, fit->cards);
    RC_ASSERT(!(rows_of(ledger) == before));
    RC_ASSERT(ledger.audit().empty());
    ledger.release(pod);
    RC_ASSERT(rows_of(ledger) == before);
    RC_ASSERT(ledger.audit().empty());
  }
}

}  // namespace
}  // namespace stowage::core
