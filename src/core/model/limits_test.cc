#include "core/model/limits.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::pod;

std::string text(std::size_t i) { return "v" + std::to_string(i); }

PodTerm term(std::size_t i) {
  return {.selector = {.all = {{.key = "app", .values = {"x"}}}},
          .namespaces = {"ns"},
          .topology_key = text(i)};
}

struct Kind {
  const char* name;
  std::size_t most;
  std::function<void(PodSpec&, std::size_t)> add;  // the i-th
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"terms of pod affinity", kMaxPodTerms,
       [](PodSpec& p, std::size_t i) { p.constraints.affinity.push_back(term(i)); }},
      {"terms of pod affinity", kMaxPodTerms,
       [](PodSpec& p, std::size_t i) { p.constraints.anti_affinity.push_back(term(i)); }},
      {"terms of pod affinity", kMaxPodTerms,
       [](PodSpec& p, std::size_t i) { p.constraints.preferred.push_back(term(i)); }},
      {"terms of pod affinity", kMaxPodTerms,
       [](PodSpec& p, std::size_t i) { p.constraints.preferred_anti.push_back(term(i)); }},
      {"topology spread constraints", kMaxSpreadRules,
       [](PodSpec& p, std::size_t i) {
         p.constraints.spread.push_back({.topology_key = text(i)});
       }},
      {"terms of node affinity", kMaxNodeTerms,
       [](PodSpec& p, std::size_t i) {
         if (!p.rules.required) p.rules.required.emplace();
         p.rules.required->push_back({.labels = {{.key = "k", .values = {text(i)}}}});
       }},
      {"terms of node affinity", kMaxNodeTerms,
       [](PodSpec& p, std::size_t i) {
         p.rules.preferred.push_back({.term = {.labels = {{.key = text(i)}}}});
       }},
      {"tolerations", kMaxTolerations,
       [](PodSpec& p, std::size_t i) { p.rules.tolerations.push_back({.key = text(i)}); }},
      {"labels in its nodeSelector", kMaxLabels,
       [](PodSpec& p, std::size_t i) { p.rules.selector[text(i)] = "x"; }},
      {"labels", kMaxLabels,
       [](PodSpec& p, std::size_t i) { p.constraints.labels[text(i)] = "x"; }},
      {"host ports", kMaxHostPorts,
       [](PodSpec& p, std::size_t i) {
         p.constraints.ports.push_back(
             {.protocol = "TCP", .port = static_cast<std::int32_t>(i + 1)});
       }},
      {"volume claims", kMaxVolumes,
       [](PodSpec& p, std::size_t i) { p.constraints.claims.push_back({.name = text(i)}); }},
      {"disks", kMaxDisks,
       [](PodSpec& p, std::size_t i) { p.constraints.disks.push_back({.id = text(i)}); }},
      {"different resources", kMaxResourceNames,
       [](PodSpec& p, std::size_t i) { p.containers[0].resources.extended[text(i)] = 1; }},
      {"containers that ask for cards", kMaxCardContainers - 1,
       [](PodSpec& p, std::size_t i) {
         p.containers.push_back({.name = text(i), .gpu = {.count = 1}});
       }},
      {"containers", kMaxContainers - 1,
       [](PodSpec& p, std::size_t i) { p.containers.push_back({.name = text(i)}); }},
  };
  return all;
}

TEST(PodLimits, EveryListHasOneAndTheSentenceSaysIt) {
  for (const Kind& kind : kinds()) {
    PodSpec made = pod("p").gpus(1);
    made.name = "ns/p";
    for (std::size_t i = 0; i < kind.most; ++i) kind.add(made, i);
    EXPECT_TRUE(within_limits(made)) << kind.name;
    kind.add(made, kind.most);
    const Status over = within_limits(made);
    ASSERT_FALSE(over) << kind.name;
    const std::string& words = over.error().message;
    EXPECT_TRUE(words.starts_with("pod ns/p has more than ")) << words;
    EXPECT_NE(words.find(kind.name), std::string::npos) << words;
    EXPECT_NE(words.find("; "), std::string::npos) << "what to do: " << words;
    Engine engine = engine_with("binpack", {node("a").cards(1)});
    const auto commands = engine.handle(PodPending{made}, {});
    ASSERT_EQ(commands.size(), 1U) << kind.name;
    EXPECT_TRUE(std::holds_alternative<Reject>(commands[0])) << kind.name;
  }
}

TEST(PodLimits, AFewLongEntriesAreTooMuchAsWell) {
  PodSpec made = pod("p").gpus(1);
  Requirement long_list{.key = "kubernetes.io/hostname"};
  for (std::size_t i = 0; i < 1000; ++i) long_list.values.push_back("node-" + text(100'000 + i));
  made.rules.required = {NodeTerm{.labels = {long_list}}};
  EXPECT_TRUE(within_limits(made)) << "a thousand nodes by name";
  made.rules.required->front().labels.push_back(long_list);
  const Status over = within_limits(made);
  ASSERT_FALSE(over);
  EXPECT_NE(over.error().message.find("32 KiB"), std::string::npos) << over.error().message;
}

TEST(PodLimits, PodsOnNodesAreChargedAndTheirRulesCut) {
  for (const Kind& kind : kinds()) {
    PodSpec made = pod("p").gpus(1);
    made.containers[0].resources.cpu_milli = 1000;
    for (std::size_t i = 0; i < 3 * kind.most; ++i) kind.add(made, i);
    for (auto& container : made.containers) container.resources.cpu_milli = 10;
    const std::int64_t cpu = effective_resources(made).cpu_milli;
    cut_to_limits(made);
    EXPECT_TRUE(validate(made)) << kind.name;
    EXPECT_EQ(effective_resources(made).cpu_milli, cpu) << kind.name;
    EXPECT_TRUE(asks_for_cards(made)) << kind.name;
    EXPECT_LE(made.containers.size(), kMaxContainers);
    EXPECT_LE(rule_bytes(made.constraints), 2 * kMaxRuleBytes);
    EXPECT_LE(made.constraints.anti_affinity.size(), kMaxPodTerms);
    EXPECT_LE(effective_resources(made).extended.size(), kMaxBoundResourceNames);
  }
}

TEST(PodLimits, AntiAffinityOfAPodOnANodeCountsUpToTheLimit) {
  PodSpec made = pod("p").gpus(1);
  for (std::size_t i = 0; i < 2 * kMaxPodTerms; ++i)
    made.constraints.anti_affinity.push_back(term(i));
  cut_to_limits(made);
  ASSERT_EQ(made.constraints.anti_affinity.size(), kMaxPodTerms);
  EXPECT_EQ(made.constraints.anti_affinity[0], term(0));
}

TEST(PodLimits, WithinThemNothingIsCut) {
  for (const Kind& kind : kinds()) {
    PodSpec made = pod("p").gpus(1);
    for (std::size_t i = 0; i < kind.most; ++i) kind.add(made, i);
    const PodSpec before = made;
    cut_to_limits(made);
    EXPECT_EQ(made, before) << kind.name;
  }
}

TEST(PodLimits, OfNodes) {
  NodeSpec many = node("a");
  for (std::size_t i = 0; i <= kMaxTaints; ++i) many.taints.push_back({.key = text(i)});
  EXPECT_FALSE(validate(many));
  many = node("a");
  for (std::size_t i = 0; i <= kMaxNodeResources; ++i) many.allocatable.extended[text(i)] = 1;
  EXPECT_FALSE(validate(many));
  many = node("a");
  for (std::size_t i = 0; i <= kMaxNodeLabels; ++i) many.labels[text(i)] = "";
  EXPECT_FALSE(validate(many));
}

}  // namespace
}  // namespace stowage::core
