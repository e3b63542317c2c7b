#include "tests/decisions/scripts.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/engine/engine.h"
#include "core/testing/random.h"
#include "core/testing/script.h"

namespace stowage::decisions {
namespace {

using core::testing::Dice;
using core::testing::kScriptNodes;
using core::testing::kScriptPods;
using core::testing::Step;

constexpr std::size_t kSteps = 150;
constexpr std::int64_t kStepNs = 400'000'000;

std::string any_node(Dice& dice) { return "n" + std::to_string(dice.below(kScriptNodes)); }
std::string any_pod(Dice& dice) { return "p" + std::to_string(dice.below(kScriptPods)); }

core::Quotas random_quotas(Dice& dice) {
  core::Quotas quotas;
  if (dice.one_in(3)) return quotas;
  core::ModelLimit limit{.model = dice.pick({"*", "T4", "A100"}), .cards = dice.below(8)};
  if (dice.one_in(2)) limit.milli = 500 * static_cast<std::int64_t>(dice.below(8));
  quotas.namespaces["test"].limits.push_back(std::move(limit));
  return quotas;
}

// Events that the scripts of property tests do not have.
core::Event rare_event(Dice& dice, base::Instant now) {
  const std::string uid = any_pod(dice);
  const std::string node = any_node(dice);
  core::PodSpec pod = core::testing::random_pod(dice, uid);
  switch (dice.below(10)) {
    case 0: return core::QuotaChanged{random_quotas(dice)};
    case 1: return core::PodNominated{.pod = pod, .node = dice.one_in(3) ? std::string() : node};
    case 2: return core::EvictFailed{uid};
    case 3:
      if (dice.one_in(2)) return core::PluginMissing{.node = node, .missing = dice.one_in(2)};
      return core::NodeSilent{.node = node, .silent = dice.one_in(2)};
    case 4: return core::HoldEnded{"g" + uid};
    case 5:
      pod.uid = "g" + uid;  // external pods are pods that the engine does not place itself
      return core::PodHeld{
          .pod = pod,
          .node = node,
          .cards = core::testing::named(node, core::testing::random_cards(dice, pod)),
          .made = now.ns,
          .until = {now.ns + 20 * kStepNs},
          .is_signed = dice.one_in(2)};
    case 6:
      return core::CardsNamed{
          .uid = uid,
          .node = node,
          .containers = pod.containers,
          .cards = core::testing::named(node, core::testing::random_cards(dice, pod))};
    case 7: return core::Picked{.uid = uid, .generation = dice.below(4), .node = node};
    case 8:
      if (dice.one_in(4)) return core::StandDown{};
      return core::Lead{};
    default: return core::Tick{.parked = dice.one_in(2)};
  }
}

class Script {
 public:
  Script(std::uint32_t seed, const core::PolicyOptions& options, Log& log)
      : dice_(seed), engine_(profiles(options), settings(seed)), log_(log) {}

  void run() {
    std::vector<Step> steps(kSteps);
    for (Step& step : steps) {
      step = {static_cast<std::uint8_t>(dice_.below(256)),
              static_cast<std::uint16_t>(dice_.below(65536))};
    }
    const auto nodes = static_cast<std::uint8_t>(dice_.below(256));
    for (core::Event& event : core::testing::script_of(nodes, steps)) {
      send("event", std::move(event));
      if (dice_.one_in(4)) send("rare", rare_event(dice_, now_));
      if (dice_.one_in(5)) ask();
      now_.ns += kStepNs * static_cast<std::int64_t>(dice_.below(4));
    }
    for (const std::string& line : engine_.audit()) log_.line(line);
  }

 private:
  static std::vector<core::PolicyOptions> profiles(const core::PolicyOptions& options) {
    core::PolicyOptions other = options;
    other.picker_candidates = 3;
    return {options, other};
  }
  static core::EngineOptions settings(std::uint32_t seed) {
    core::EngineOptions settings;
    settings.patience_ns = seed % 2 == 0 ? 10 * kStepNs : 0;
    settings.nodes_per_nomination = 2;
    settings.silent_nodes = static_cast<core::SilentNodes>(seed % 3);
    return settings;
  }

  void send(std::string_view what, core::Event event) {
    if (auto* pending = std::get_if<core::PodPending>(&event)) {
      pending->pod.profile = dice_.one_in(4) ? 1 : 0;
    }
    log_.step(what, std::to_string(event.index()), now_);
    log_.commands(engine_.handle(event, now_));
  }

  void ask() {
    const core::FilterRequest ask{.pod = core::testing::random_pod(dice_, "g" + any_pod(dice_)),
                                  .nodes = {"n0", "n1", "n2", "n3", "n4", "n5", "elsewhere"},
                                  .keep = static_cast<core::HoldMode>(dice_.below(3)),
                                  .until = {now_.ns + 10 * kStepNs},
                                  .prefer = dice_.one_in(4) ? any_node(dice_) : std::string()};
    if (!core::validate(ask.pod)) return;
    core::Commands out;
    log_.step("ask", ask.pod.uid, now_);
    switch (dice_.below(4)) {
      case 0: log_.answer(engine_.filter(ask, now_, out)); break;
      case 1: log_.answer(engine_.score(ask, now_, out).scores); break;
      case 2:
        log_.answer(engine_.reserve({.pod = ask.pod, .node = any_node(dice_)}, now_, out));
        break;
      default: log_.answer(engine_.preempt(victims(ask.pod))); break;
    }
    log_.commands(out);
  }

  core::PreemptRequest victims(const core::PodSpec& pod) {
    core::PreemptRequest ask{.pod = pod, .nodes = {}};
    for (std::size_t i = 0; i < kScriptNodes; ++i) {
      ask.nodes.push_back({.node = "n" + std::to_string(i), .candidates = {}});
      for (std::size_t pods = dice_.below(4); pods > 0; --pods) {
        ask.nodes.back().candidates.push_back({.uid = any_pod(dice_), .given = dice_.one_in(2)});
      }
    }
    return ask;
  }

  Dice dice_;
  core::Engine engine_;
  Log& log_;
  base::Instant now_;
};

}  // namespace

void run_script(std::uint32_t seed, const core::PolicyOptions& options, Log& log) {
  log.step("script", std::to_string(seed), {});
  Script(seed, options, log).run();
}

}  // namespace stowage::decisions
