// Compares the counts of quotas with a recount from the pods, for any changes of the nodes.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ledger/ledger.h"
#include "core/quota/quota_tracker.h"
#include "core/testing/builders.h"
#include "core/testing/random.h"

namespace stowage::core {
namespace {

using testing::Dice;
using testing::node;
using testing::pod;

using Step = std::pair<std::uint8_t, std::uint16_t>;

// Two nodes whose cards have fixed ids, models and sizes, but appear and disappear. Pods of one
// namespace, each on one known card.
class World {
 public:
  World() { set_quota(); }

  void step(const Step& step) {
    Dice dice(step.second);
    switch (step.first % 7) {
      case 0:
      case 1: change_node(dice); break;
      case 2: gone(name(dice)); break;
      case 3:
      case 4: hold(dice); break;
      case 5: release("p" + std::to_string(dice.below(8))); break;
      default: dice.one_in(2) ? set_quota() : seen_again(); break;
    }
    check();
  }

 private:
  struct Has {
    std::string on;
    std::int64_t milli = 0;
    std::int64_t memory_mib = 0;
    std::size_t card = 0;
  };

  static std::string name(Dice& dice) { return dice.one_in(2) ? "a" : "b"; }
  static std::int32_t size_of(const std::string& on) { return on == "a" ? 1000 : 1600; }
  static std::string model_of(std::size_t card) { return card % 2 == 0 ? "T4" : "A100"; }

  void set_quota() {
    Quotas quotas{.model_label = "model"};
    quotas.namespaces["team"].limits = {{.model = "*", .milli = 1000}};
    tracker_.set(quotas, ledger_);
  }

  void change_node(Dice& dice) {
    const std::string on = name(dice);
    NodeSpec spec = node(on).cards(dice.pick<std::size_t>({0, 0, 2, 4, 4})).memory_mib(size_of(on));
    for (Card& card : spec.cards) {
      card.id = on + "-GPU-" + std::to_string(card.index);
      card.model = model_of(static_cast<std::size_t>(card.index));
    }
    const bool loses_its_label = holders(on) > 0 && dice.one_in(3);
    if (!loses_its_label) spec.labels["model"] = on;
    tracker_.node_changed(ledger_.upsert_node(spec), ledger_);
  }

  void gone(const std::string& on) {
    ledger_.remove_node(on);
    tracker_.node_gone(on, ledger_);
  }

  [[nodiscard]] std::int64_t holders(const std::string& on) const {
    return std::count_if(pods_.begin(), pods_.end(),
                         [&](const auto& entry) { return entry.second.on == on; });
  }

  void hold(Dice& dice) {
    const std::string uid = "p" + std::to_string(dice.below(8));
    const std::string on = name(dice);
    const NodeIndex at = ledger_.nodes().find(on);
    if (pods_.contains(uid) || !at.valid() || ledger_.nodes().spec(at).cards.empty()) return;
    const auto& cards = ledger_.nodes().spec(at).cards;
    const std::size_t card = dice.below(cards.size());
    if (!ledger_.nodes().spec(at).labels.contains("model")) return;
    Has has{.on = on,
            .milli = dice.pick({0, 100, 500, 1000}),
            .memory_mib = dice.pick({1, 300, 800}),
            .card = card};
    if (has.milli == 1000) has.memory_mib = size_of(on);
    PodSpec spec = pod(uid).gpus(1);
    spec.name = "team/" + uid;
    const Assignment given{{{{.card = static_cast<std::uint32_t>(card),
                              .milli = static_cast<std::int32_t>(has.milli),
                              .memory_mib = static_cast<std::int32_t>(has.memory_mib)}}}};
    specs_[uid] = spec;
    tracker_.charge(ledger_.seen_bound(spec, on, given), ledger_);
    pods_[uid] = has;
  }

  void release(const std::string& uid) {
    if (pods_.erase(uid) == 0) return;
    const PodIndex index = ledger_.pods().find(uid);
    tracker_.release(index);
    ledger_.release(index);
  }

  // The API announces the pods again, without their cards.
  void seen_again() {
    for (const auto& [uid, has] : pods_) {
      tracker_.release(ledger_.pods().find(uid));
      tracker_.charge(ledger_.seen_bound(specs_.at(uid), has.on, std::nullopt), ledger_);
    }
  }

  void check() const {
    std::map<std::string, QuotaTracker::Use> models{{"t4", {}}, {"a100", {}}, {"*", {}}};
    std::map<std::string, std::int64_t> labels{{"a", 0}, {"b", 0}};
    for (const auto& [uid, has] : pods_) {
      const std::int64_t size = size_of(has.on);
      const std::int64_t milli = std::max(has.milli, (has.memory_mib * 1000 + size - 1) / size);
      for (const std::string& model :
           {std::string(has.card % 2 == 0 ? "t4" : "a100"), std::string("*")}) {
        ++models[model].cards;
        models[model].milli += milli;
        models[model].memory_mib += has.memory_mib;
      }
      labels[has.on] += milli;
    }
    for (const auto& [model, use] : models) RC_ASSERT(tracker_.used("team", model) == use);
    for (const auto& [label, milli] : labels) {
      RC_ASSERT(tracker_.used_on_nodes("team", label) == milli);
    }
  }

  Ledger ledger_;
  QuotaTracker tracker_;
  std::map<std::string, Has> pods_;
  std::map<std::string, PodSpec> specs_;
};

RC_GTEST_PROP(QuotaProperty, EqualsARecountFromThePodsAlone, (const std::vector<Step>& steps)) {
  World world;
  for (const Step& step : steps) world.step(step);
}

}  // namespace
}  // namespace stowage::core
