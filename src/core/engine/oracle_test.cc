// Compares all small clusters and all small pods with an oracle that tries every assignment of
// containers to cards.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "core/testing/builders.h"
#include "core/testing/shadow.h"

namespace stowage::core {
namespace {

using testing::CardAmounts;
using testing::Placed;

// ---- all clusters -------------------------------------------------------------------------------

// A card of 1000 MiB and what is used of it.
struct Level {
  CardAmounts used;
  std::int32_t slots = 0;  // limit; 0: none
};
constexpr std::array kLevels{
    Level{.used = {}, .slots = 0},
    Level{.used = {.milli = 500, .memory_mib = 500, .slots = 1}, .slots = 0},
    Level{.used = {.milli = 0, .memory_mib = 700, .slots = 1}, .slots = 3},
    Level{.used = {.milli = 700, .memory_mib = 200, .slots = 1}, .slots = 2},
    Level{.used = {.milli = 100, .memory_mib = 100, .slots = 1}, .slots = 1},
};

using NodeLevels = std::vector<std::size_t>;  // by card

std::vector<NodeLevels> all_nodes(std::size_t cards, std::size_t levels) {
  std::vector<NodeLevels> nodes{{}};
  for (std::size_t card = 0; card < cards; ++card) {
    std::vector<NodeLevels> longer;
    for (const auto& node : nodes) {
      for (std::size_t level = 0; level < levels; ++level) {
        longer.push_back(node);
        longer.back().push_back(level);
      }
    }
    nodes = std::move(longer);
  }
  return nodes;
}

std::string name_of(std::size_t node) { return {static_cast<char>('a' + node)}; }

Engine engine_of(const std::string& policy, const std::vector<NodeLevels>& cluster) {
  Engine engine = testing::engine_with(policy);
  for (std::size_t n = 0; n < cluster.size(); ++n) {
    testing::NodeBuilder node = testing::node(name_of(n));
    for (const std::size_t level : cluster[n]) {
      node.cards(1).memory_mib(1000).slots(kLevels[level].slots);
    }
    testing::add(engine, node);
    for (std::uint32_t card = 0; card < cluster[n].size(); ++card) {
      const CardAmounts& used = kLevels[cluster[n][card]].used;
      if (used == CardAmounts{}) continue;
      testing::occupy(engine, name_of(n), card,
                      {.milli = static_cast<std::int32_t>(used.milli),
                       .memory_mib = static_cast<std::int32_t>(used.memory_mib),
                       .slots = static_cast<std::int32_t>(used.slots)});
    }
  }
  return engine;
}

// ---- all pods -----------------------------------------------------------------------------------

const std::vector<GpuRequest>& asks() {
  static const std::vector<GpuRequest> kList{
      {.count = 1},
      {.count = 2},
      {.count = 1, .milli = 500},
      {.count = 1, .milli = 300, .memory_mib = 300},
      {.count = 1, .memory_mib = 600},
      {.count = 2, .milli = 300},
      {.count = 1, .milli = 100, .memory_mib = kWholeMemory},
  };
  return kList;
}

std::vector<PodSpec> pods_of_one() {
  std::vector<PodSpec> pods;
  for (const auto& ask : asks()) {
    pods.push_back(testing::pod("p" + std::to_string(pods.size())).ask(ask));
  }
  return pods;
}

std::vector<PodSpec> pods_of_two() {
  std::vector<PodSpec> pods;
  for (const Phase phase : {Phase::app, Phase::init, Phase::sidecar}) {
    for (const auto& first : asks()) {
      for (const auto& second : asks()) {
        PodSpec pod = testing::pod("q" + std::to_string(pods.size()));
        pod.containers.push_back({.name = "first", .phase = phase, .gpu = first});
        pod.containers.push_back({.name = "second", .phase = Phase::app, .gpu = second});
        pods.push_back(std::move(pod));
      }
    }
  }
  return pods;
}

// ---- the oracle ---------------------------------------------------------------------------------

bool holds(const NodeLevels& node, const PodSpec& pod, const Assignment& cards) {
  for (std::uint32_t c = 0; c < node.size(); ++c) {
    const Level& level = kLevels[node[c]];
    const CardAmounts taken = testing::taken_of(pod, cards, c);
    if (taken == CardAmounts{}) continue;
    if (level.used.milli + taken.milli > kMilliPerCard) return false;
    if (level.used.memory_mib + taken.memory_mib > 1000) return false;
    if (level.slots != 0 && level.used.slots + taken.slots > level.slots) return false;
  }
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    for (const CardShare& share : cards.containers[i]) {
      if (pod.containers[i].gpu.whole() && kLevels[node[share.card]].used != CardAmounts{})
        return false;
    }
  }
  return true;
}

// Tries every set of `count` cards for the containers from `i` on.
bool any_assignment(const NodeLevels& node, const PodSpec& pod, Assignment& cards, std::size_t i) {
  if (i == pod.containers.size()) return holds(node, pod, cards);
  const GpuRequest& ask = pod.containers[i].gpu;
  for (std::uint32_t mask = 0; mask < (1U << node.size()); ++mask) {
    std::vector<CardShare> shares;
    for (std::uint32_t c = 0; c < node.size(); ++c) {
      if (((mask >> c) & 1U) == 0) continue;
      const bool all = ask.whole() || ask.memory_mib == kWholeMemory;
      shares.push_back({.card = c,
                        .milli = ask.whole() ? kMilliPerCard : ask.milli.value_or(0),
                        .memory_mib = all ? 1000 : ask.memory_mib.value_or(0)});
    }
    if (shares.size() != static_cast<std::size_t>(ask.count)) continue;
    cards.containers[i] = std::move(shares);
    if (any_assignment(node, pod, cards, i + 1)) return true;
  }
  return false;
}

bool fits(const NodeLevels& node, const PodSpec& pod) {
  Assignment cards;
  cards.containers.resize(pod.containers.size());
  return any_assignment(node, pod, cards, 0);
}

// Least compute left, then least memory left, then by name.
std::string tightest(const std::vector<NodeLevels>& cluster, const PodSpec& pod) {
  std::optional<std::tuple<std::int64_t, std::int64_t, std::string>> best;
  for (std::size_t n = 0; n < cluster.size(); ++n) {
    if (!fits(cluster[n], pod)) continue;
    std::int64_t milli = 0;
    std::int64_t memory = 0;
    for (const std::size_t level : cluster[n]) {
      milli += kMilliPerCard - kLevels[level].used.milli;
      memory += 1000 - kLevels[level].used.memory_mib;
    }
    const std::tuple candidate{milli, memory, name_of(n)};
    if (!best || candidate < *best) best = candidate;
  }
  return best ? std::get<2>(*best) : "";
}

std::string text_of(const std::vector<NodeLevels>& cluster, const PodSpec& pod) {
  std::string text = "levels";
  for (const auto& node : cluster) {
    text += " [";
    for (const std::size_t level : node) text += std::to_string(level);
    text += "]";
  }
  for (const auto& c : pod.containers) {
    text += " phase " + std::to_string(static_cast<int>(c.phase)) + " count " +
            std::to_string(c.gpu.count) + " milli " + std::to_string(c.gpu.milli.value_or(-2)) +
            " MiB " + std::to_string(c.gpu.memory_mib.value_or(-2));
  }
  return text;
}

// ---- engine against oracle ----------------------------------------------------------------------

class OracleTest : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> policies() {
  std::vector<std::string> names = policy_names();
  names.emplace_back("first/topology");
  return names;
}

TEST_P(OracleTest, OneNodeTakesAPodIfAndOnlyIfSomeAssignmentFits) {
  std::vector<PodSpec> pods = pods_of_one();
  for (auto& pod : pods_of_two()) pods.push_back(std::move(pod));
  for (const std::size_t cards : {0U, 1U, 2U}) {
    for (const auto& node : all_nodes(cards, kLevels.size())) {
      Engine engine = engine_of(GetParam(), {node});
      for (const auto& pod : pods) {
        const Placed placed = testing::place(engine, pod);
        ASSERT_EQ(placed.placed(), fits(node, pod)) << text_of({node}, pod);
        if (!placed.placed()) continue;
        ASSERT_TRUE(holds(node, pod, placed.assignment)) << text_of({node}, pod);
        testing::end(engine, pod.uid);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, OracleTest, ::testing::ValuesIn(policies()));

void expect_tightest(const std::vector<NodeLevels>& cluster, const std::vector<PodSpec>& pods) {
  Engine engine = engine_of("tightest", cluster);
  for (const auto& pod : pods) {
    const Placed placed = testing::place(engine, pod);
    ASSERT_EQ(placed.node, tightest(cluster, pod)) << text_of(cluster, pod);
    if (placed.placed()) testing::end(engine, pod.uid);
  }
}

TEST(Oracle, TwoNodesOfTwoCardsUnderTightest) {
  const auto nodes = all_nodes(2, kLevels.size());
  std::vector<PodSpec> pods = pods_of_one();
  const auto twos = pods_of_two();
  for (std::size_t i = 0; i < twos.size(); i += 11) pods.push_back(twos[i]);
  for (const auto& a : nodes) {
    for (const auto& b : nodes) ASSERT_NO_FATAL_FAILURE(expect_tightest({a, b}, pods));
  }
}

TEST(Oracle, TwoNodesOfTwoCardsUnderDualPrice) {
  const auto nodes = all_nodes(2, kLevels.size());
  const auto pods = pods_of_two();
  for (const auto& a : nodes) {
    for (const auto& b : nodes) {
      Engine engine = engine_of("dual-price", {a, b});
      for (std::size_t i = (a[0] + b[1]) % 13; i < pods.size(); i += 13) {
        const Placed placed = testing::place(engine, pods[i]);
        ASSERT_EQ(placed.placed(), fits(a, pods[i]) || fits(b, pods[i]))
            << text_of({a, b}, pods[i]);
        if (!placed.placed()) continue;
        const auto& chosen = placed.node == "a" ? a : b;
        ASSERT_TRUE(holds(chosen, pods[i], placed.assignment)) << text_of({a, b}, pods[i]);
        testing::end(engine, pods[i].uid);
      }
    }
  }
}

TEST(Oracle, ThreeNodesOfTwoCardsUnderTightest) {
  const auto nodes = all_nodes(2, 3);
  const auto pods = pods_of_one();
  for (const auto& a : nodes) {
    for (const auto& b : nodes) {
      for (const auto& c : nodes) ASSERT_NO_FATAL_FAILURE(expect_tightest({a, b, c}, pods));
    }
  }
}

}  // namespace
}  // namespace stowage::core
