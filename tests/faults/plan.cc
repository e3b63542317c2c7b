#include "plan.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "chapters.h"

namespace stowage::faults {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array kStepWords{
    "create pod",  "delete pod",     "replace pod",    "finish pod",
    "delete node", "restore node",   "lose card",      "return cards",
    "break card",  "cordon",         "bind elsewhere", "edit cards",
    "forge cards", "set quota",      "crash",          "stop",
    "pause",       "jump clock",     "calls fail",     "server down",
    "cut watches", "hang watches",   "expire watches", "delay watches",
    "resize node", "restart plugin", "reorder cards",  "replace card",
    "reload",      "delete lease",   "nominate",       "set limits",
    "end one on",  "hide inventory", "bind by index",  "restart kube-scheduler"};
constexpr std::array kFaultWords{
    "none",       "refused", "cut",  "conflict",   "throttled", "internal",   "unavailable",
    "reply lost", "slow",    "late", "lease only", "not found", "slow write", "write fails"};

// How often each kind of step is drawn, besides the creation of pods.
struct Weight {
  StepKind kind;
  std::uint32_t weight;
};
constexpr std::array kWeights{
    Weight{StepKind::delete_pod, 12},   Weight{StepKind::replace_pod, 4},
    Weight{StepKind::finish_pod, 10},   Weight{StepKind::delete_node, 2},
    Weight{StepKind::restore_node, 4},  Weight{StepKind::lose_card, 3},
    Weight{StepKind::return_cards, 3},  Weight{StepKind::break_card, 2},
    Weight{StepKind::cordon, 2},        Weight{StepKind::bind_elsewhere, 3},
    Weight{StepKind::edit_cards, 2},    Weight{StepKind::forge_cards, 2},
    Weight{StepKind::set_quota, 3},     Weight{StepKind::crash, 5},
    Weight{StepKind::stop, 2},          Weight{StepKind::pause, 5},
    Weight{StepKind::jump_clock, 2},    Weight{StepKind::calls_fail, 14},
    Weight{StepKind::server_down, 1},   Weight{StepKind::cut_watches, 4},
    Weight{StepKind::hang_watches, 2},  Weight{StepKind::expire_watches, 2},
    Weight{StepKind::delay_watches, 6},
};

StepKind draw_kind(base::Rng& rng) {
  std::uint32_t all = 0;
  for (const Weight& each : kWeights) all += each.weight;
  std::uint64_t left = rng.below(all);
  for (const Weight& each : kWeights) {
    if (left < each.weight) return each.kind;
    left -= each.weight;
  }
  return StepKind::delete_pod;
}

void fill(Step& step, const Plan& plan, base::Rng& rng) {
  const auto some = [&](std::uint64_t n) { return static_cast<std::uint32_t>(rng.below(n)); };
  switch (step.kind) {
    case StepKind::delete_node:
    case StepKind::restore_node:
    case StepKind::return_cards: step.subject = some(plan.nodes); break;
    case StepKind::lose_card:
    case StepKind::break_card:
      step.subject = some(plan.nodes);
      step.more = some(8);
      break;
    case StepKind::cordon:
      step.subject = some(plan.nodes);
      step.lasts = draw_millis(rng, 2'000, 30'000);
      break;
    case StepKind::set_quota: step.more = some(5); break;
    case StepKind::crash:
    case StepKind::stop:
      step.subject = some(plan.replicas);
      step.lasts = draw_millis(rng, 100, 20'000);
      break;
    case StepKind::pause:
      step.subject = some(plan.replicas);
      step.lasts = draw_millis(rng, 100, rng.below(2) == 0 ? 4'000 : 30'000);
      break;
    case StepKind::jump_clock:
      step.subject = some(plan.replicas);
      // Pre-allocations have wall-clock times: in runs with pre-allocations, clocks differ only by
      // seconds.
      step.more = plan.pre_allocations ? kClockZero - 2 + some(5) : some(2 * kClockZero);
      break;
    case StepKind::calls_fail:
      step.subject = some(plan.replicas);
      step.fault = static_cast<Fault>(1 + some(kFaults - 1));
      step.more = std::array{10U, 30U, 60U, 100U}[some(4)];
      step.lasts = draw_millis(rng, 500, step.fault == Fault::lease_only ? 25'000 : 12'000);
      break;
    case StepKind::server_down: step.lasts = draw_millis(rng, 500, 20'000); break;
    case StepKind::cut_watches:
    case StepKind::hang_watches:
    case StepKind::expire_watches: step.subject = some(plan.replicas); break;
    case StepKind::delay_watches:
      step.subject = some(plan.replicas);
      step.lasts = draw_millis(rng, 200, 8'000);
      break;
    case StepKind::bind_elsewhere:
      step.subject = some(plan.pods);
      step.more = some(plan.nodes);
      break;
    default:
      step.subject = some(plan.pods);
      step.more = some(1000);
      break;
  }
}

// Faults that occur together: a replica ends in the middle of its work, and a network that loses
// replies also delays watches.
void add_company(Plan& plan) {
  base::Rng rng(mixed(plan.seed, 2));
  std::vector<Step> more;
  for (const Step& step : plan.steps) {
    const bool loses = step.fault == Fault::cut || step.fault == Fault::reply_lost;
    if (loses && rng.below(2) == 0) {
      more.push_back({.at = step.at,
                      .kind = StepKind::delay_watches,
                      .subject = step.subject,
                      .lasts = draw_millis(rng, 1'000, 8'000)});
    }
    if (step.kind == StepKind::create_pod && rng.below(15) == 0) {
      more.push_back({.at = step.at + draw_millis(rng, 50, 1'500),
                      .kind = rng.below(2) == 0 ? StepKind::crash : StepKind::stop,
                      .subject = static_cast<std::uint32_t>(rng.below(plan.replicas)),
                      .lasts = draw_millis(rng, 100, 20'000)});
    }
  }
  plan.steps.insert(plan.steps.end(), more.begin(), more.end());
}

}  // namespace

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return base::Rng(a * 0x9E3779B97F4A7C15ULL + b).next();
}

Plan draw_plan(std::uint64_t seed, const FeatureChoice& choice) {
  base::Rng rng(mixed(seed, 1));
  Plan plan;
  plan.seed = seed;
  plan.features = draw_features(seed, choice);
  plan.replicas = 2 + static_cast<std::uint32_t>(rng.below(2));
  plan.nodes = 2 + static_cast<std::uint32_t>(rng.below(4));
  plan.pods = 20 + static_cast<std::uint32_t>(rng.below(40));
  plan.pre_allocations = rng.below(3) == 0;
  plan.history = rng.below(3) == 0 ? 10 + rng.below(30) : 2000;
  plan.active = seconds{60 + static_cast<std::int64_t>(rng.below(60))};
  const double length = std::chrono::duration<double, std::milli>(plan.active).count();
  // Pods come in bursts, so that some are decided while others are being bound.
  std::uint32_t pod = 0;
  while (pod < plan.pods) {
    const Duration when = draw_millis(rng, 0, length);
    for (std::uint64_t burst = 1 + rng.below(8); burst > 0 && pod < plan.pods; --burst) {
      plan.steps.push_back(
          {.at = when + draw_millis(rng, 0, 20), .kind = StepKind::create_pod, .subject = pod++});
    }
  }
  const std::uint64_t troubles = 10 + rng.below(40);
  for (std::uint64_t i = 0; i < troubles; ++i) {
    Step step{.at = draw_millis(rng, 0, length), .kind = draw_kind(rng)};
    fill(step, plan, rng);
    plan.steps.push_back(step);
  }
  add_company(plan);
  add_chapters(plan);
  std::stable_sort(plan.steps.begin(), plan.steps.end(),
                   [](const Step& a, const Step& b) { return a.at < b.at; });
  return plan;
}

PodShape shape_of(const Plan& plan, std::uint32_t pod) {
  if (pod >= kExtraPods) return plan.extra.at(pod - kExtraPods);
  base::Rng rng(mixed(plan.seed, 1000 + pod));
  PodShape shape;
  const std::uint64_t listener = rng.below(10);
  shape.listener = listener < 6 ? Listener::own : listener < 8 ? Listener::choose : Listener::bind;
  if (plan.pre_allocations && listener >= 8) shape.listener = Listener::pre_allocation;
  if (rng.below(3) == 0) {
    shape.cards = 1 + static_cast<std::uint32_t>(rng.below(3));
  } else {
    shape.percent = std::array{10U, 25U, 30U, 50U, 60U, 70U}[rng.below(6)];
    shape.memory_mib = 1024U * (1 + static_cast<std::uint32_t>(rng.below(10)));
    if (rng.below(6) == 0) shape.cards = 2;
  }
  if (shape.listener == Listener::pre_allocation) {  // their dialect has one card, or whole ones
    shape.asks = Asks::vcuda;
    if (shape.percent != 0) shape.cards = 1;
  }
  shape.priority = static_cast<std::uint32_t>(rng.below(3));
  shape.limited = rng.below(4) == 0;
  if (rng.below(3) != 0) shape.life = draw_millis(rng, 2'000, 40'000);
  return shape;
}

NodeShape node_shape(const Plan& plan, std::uint32_t node) {
  base::Rng rng(mixed(plan.seed, 500 + node));
  NodeShape shape;
  if (node >= plan.nodes) {
    return {.cards = 3 + static_cast<std::uint32_t>(rng.below(2)),
            .memory_mib = 16'384,
            .slots = 0,
            .inventory = false};
  }
  shape.cards = 1 + static_cast<std::uint32_t>(rng.below(4));
  shape.memory_mib = rng.below(2) == 0 ? 16'384 : 24'576;
  shape.slots = rng.below(3) == 0 ? 2 : 0;
  shape.inventory = rng.below(4) != 0;
  return shape;
}

std::string to_text(const Step& step) {
  const double when = std::chrono::duration<double>(step.at).count();
  std::string text = fmt::format("{:9.3f} s  {} {}", when,
                                 kStepWords.at(static_cast<std::size_t>(step.kind)), step.subject);
  if (step.kind == StepKind::calls_fail) {
    text += fmt::format(" ({}, {} percent)", kFaultWords.at(static_cast<std::size_t>(step.fault)),
                        step.more);
  } else if (step.more != 0) {
    text += fmt::format(" ({})", step.more);
  }
  if (step.lasts > Duration::zero()) {
    text += fmt::format(" for {:.3f} s", std::chrono::duration<double>(step.lasts).count());
  }
  return text;
}

std::string to_text(const Plan& plan) {
  std::string text = fmt::format("{} replicas, {} nodes, {} steps, features: {}\n", plan.replicas,
                                 plan.all_nodes(), plan.steps.size(), to_text(plan.features));
  for (const Step& step : plan.steps) text += "  " + to_text(step) + "\n";
  return text;
}

}  // namespace stowage::faults
