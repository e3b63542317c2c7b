// What rules of hostile pods may cost src/core/peers. That its answers are right is tested with the
// engine (engine/neighbours_test.cc, engine/oracle_test.cc).
#include "core/peers/peers.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/model/limits.h"
#include "core/testing/builders.h"
#include "core/testing/random.h"

namespace stowage::core {
namespace {

using testing::node;
using testing::pod;

PodTerm term(const std::string& app, const std::string& key) {
  return {.selector = {.all = {{.key = "app", .values = {app}}}},
          .namespaces = {"ns"},
          .topology_key = key};
}

std::string text(const char* before, std::size_t i) { return before + std::to_string(i); }

class PeersTest : public ::testing::Test {
 protected:
  PeersTest() {
    for (std::size_t n = 0; n < 30; ++n) {
      NodeSpec spec = node(text("n", n));
      spec.labels = {{"host", spec.name}, {"zone", text("z", n % 3)}};
      (void)ledger_.upsert_node(spec);
    }
    peers_.nodes_changed();
  }
  static PodSpec make(std::size_t i) {
    PodSpec made = pod(text("p", i));
    made.name = "ns/" + made.uid;
    return made;
  }
  Ledger ledger_;
  Peers peers_{ledger_};
};

// T terms with T counters: each had a copy of all terms, and their text T times in its key.
TEST_F(PeersTest, CountersOfOnePodShareItsTerms) {
  PodSpec hostile = make(0);
  for (std::size_t i = 0; i < kMaxPodTerms; ++i) {
    hostile.around.affinity.push_back(term(std::string(300, 'x'), text("key", i)));
  }
  (void)peers_.test(hostile);
  EXPECT_EQ(peers_.sizes().counters, kMaxPodTerms);
  EXPECT_EQ(peers_.sizes().shared, 1U);
  EXPECT_LE(peers_.sizes().counter_bytes, kMaxPodTerms * 1024);
}

TEST_F(PeersTest, CountersHaveABudgetOfBytes) {
  const std::string large(20'000, 'x');
  for (std::size_t i = 0; i < 2000; ++i) {
    PodSpec hostile = make(i);
    hostile.around.anti_affinity = {term(large + std::to_string(i), "zone")};
    hostile.around.spread = {{.topology_key = text("k", i), .hard = false}};
    hostile.rules.selector = {{large, std::to_string(i)}};
    (void)peers_.test(hostile);
    const auto sizes = peers_.sizes();
    ASSERT_LE(sizes.counters, Peers::kCountersMax + 2);
    ASSERT_LE(sizes.counter_bytes, Peers::kCounterBytes + (std::size_t{1} << 20U));
    ASSERT_LE(sizes.shared, Peers::kCountersMax + 2);
    ASSERT_LE(sizes.domains, Peers::kCountersMax + 2) << "keys that nobody asks for are forgotten";
  }
  EXPECT_TRUE(peers_.audit().empty());
}

TEST_F(PeersTest, LabelsOfPodsThatOnlyWaitAreNotAllKept) {
  PodSpec seated = make(100'000);
  seated.around.anti_affinity = {term("web", "host")};
  peers_.add(PodIndex(0U), NodeIndex(0U), seated);
  for (std::size_t i = 0; i < 5000; ++i) {
    PodSpec waits = make(i);
    waits.around.labels = {{"app", i % 2 == 0 ? "web" : "other"}, {"id", text("", i)}};
    EXPECT_EQ(peers_.test(waits).check(NodeIndex(0U)),
              i % 2 == 0 ? ReasonCode::others_anti_affinity : ReasonCode::none);
  }
  EXPECT_LE(peers_.sizes().sets, 4097U);
}

TEST_F(PeersTest, WhatPodsBroughtGoesWithThem) {
  constexpr std::size_t kPods = 9000;
  for (std::size_t i = 0; i < kPods; ++i) {
    PodSpec hostile = make(i);
    hostile.around.labels = {{"id", text("", i)}};
    hostile.around.anti_affinity = {term(text("a", i), text("key", i)), term("web", "zone")};
    hostile.around.ports = {{.protocol = "TCP", .port = static_cast<std::int32_t>(i)}};
    peers_.add(PodIndex(i), NodeIndex(i % 30), hostile);
  }
  EXPECT_TRUE(peers_.audit().empty());
  for (std::size_t i = 0; i < kPods; ++i) peers_.remove(PodIndex(i));
  const auto sizes = peers_.sizes();
  EXPECT_LE(sizes.sets, 4100U);
  EXPECT_LE(sizes.anti_terms, 100U);
  EXPECT_LE(sizes.domains, 100U);
  EXPECT_TRUE(peers_.audit().empty());
  PodSpec web = make(1);
  web.around.labels = {{"app", "web"}};
  EXPECT_EQ(peers_.test(web).check(NodeIndex(0U)), ReasonCode::none);
}

// Terms and sets get numbers that others had before.
TEST_F(PeersTest, NumbersThatAreUsedAgainMeanTheNewOnes) {
  for (std::size_t round = 0; round < 40; ++round) {
    for (std::size_t i = 0; i < 200; ++i) {
      PodSpec hostile = make(i);
      hostile.around.labels = {{"id", text("", round * 1000 + i)}};
      hostile.around.anti_affinity = {term(text("a", round * 1000 + i), "host")};
      peers_.add(PodIndex(i), NodeIndex(i % 30), hostile);
    }
    for (std::size_t i = 0; i < 200; i += 37) {
      PodSpec asks = make(5000);
      asks.around.labels = {{"app", text("a", round * 1000 + i)}};
      asks.around.affinity = {
          {.selector = {.all = {{.key = "id", .values = {text("", round * 1000 + i)}}}},
           .namespaces = {"ns"},
           .topology_key = "zone"}};
      const auto test = peers_.test(asks);
      for (std::size_t n = 0; n < 30; ++n) {
        const ReasonCode expected = n % 3 != i % 30 % 3 ? ReasonCode::pod_affinity
                                    : n == i % 30       ? ReasonCode::others_anti_affinity
                                                        : ReasonCode::none;
        ASSERT_EQ(test.check(NodeIndex(n)), expected) << round << " " << i << " " << n;
      }
    }
    ASSERT_TRUE(peers_.audit().empty());
    for (std::size_t i = 0; i < 200; ++i) peers_.remove(PodIndex(i));
  }
}

// Many terms of others that mean one pod are looked at together, and that makes no difference.
TEST_F(PeersTest, ManyTermsOfOthers) {
  PodSpec web = make(1);
  web.around.labels = {{"app", "web"}};
  for (std::size_t i = 0; i < 600; ++i) {
    PodSpec hostile = make(1000 + i);
    PodTerm broad = term("web", i % 2 == 0 ? "host" : text("nowhere", i));
    broad.selector.all.push_back({.key = text("no", i), .op = Requirement::Op::does_not_exist});
    hostile.around.anti_affinity = {broad};
    peers_.add(PodIndex(i), NodeIndex(i % 20), hostile);
    if (i % 50 != 49 && i > 40) continue;
    const auto test = peers_.test(web);
    for (std::size_t n = 0; n < 30; ++n) {
      const bool kept_off = n < 20 && n % 2 == 0 && n <= i;
      ASSERT_EQ(test.check(NodeIndex(n)),
                kept_off ? ReasonCode::others_anti_affinity : ReasonCode::none)
          << i << " " << n;
    }
  }
}

PodSpec random_neighbour(testing::Dice& dice, std::size_t i) {
  PodSpec made = pod(text("p", i));
  made.name = "ns/" + made.uid;
  made.leaving = dice.one_in(4);
  Around& around = made.around;
  const auto app = [&] { return text("a", dice.below(3)); };
  const auto key = [&] { return dice.pick({"host", "zone", "zone", "rack"}); };
  if (!dice.one_in(5)) around.labels = {{"app", app()}};
  if (dice.one_in(3)) around.anti_affinity.push_back(term(app(), key()));
  if (dice.one_in(6)) around.anti_affinity.push_back(term(app(), key()));
  if (dice.one_in(3)) around.affinity.push_back(term(app(), key()));
  if (dice.one_in(8)) around.affinity.push_back(term(app(), key()));
  for (std::size_t rules = dice.below(3); rules > 0; --rules) {
    around.spread.push_back({.topology_key = dice.pick({"host", "zone"}),
                             .max_skew = dice.pick({1, 2}),
                             .min_domains = dice.pick({1, 1, 4}),
                             .selector = {.all = {{.key = "app", .values = {app()}}}}});
  }
  if (dice.one_in(3)) {
    around.ports = {{.protocol = "TCP", .port = dice.pick({80, 90})}};
  }
  return made;
}

// What a dry run finds is what is found once the pods have gone.
TEST_F(PeersTest, ADryRunLooksAwayFromPods) {
  std::size_t differs = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    testing::Dice dice(seed);
    std::vector<std::pair<PodSpec, NodeIndex>> pods;
    const std::size_t count = 1 + dice.below(seed % 10 == 0 ? 400 : 40);
    for (std::size_t i = 0; i < count; ++i) {
      pods.emplace_back(random_neighbour(dice, i), NodeIndex(dice.below(6)));
      // Many terms of others are looked at together.
      if (seed % 10 == 0 && i % 2 == 0) {
        PodTerm broad = term(text("a", i % 3), dice.pick({"host", "zone"}));
        broad.selector.all.push_back({.key = text("no", i), .op = Requirement::Op::does_not_exist});
        pods.back().first.around.anti_affinity.push_back(broad);
      }
      peers_.add(PodIndex(i), pods.back().second, pods.back().first);
    }
    const PodSpec asks = random_neighbour(dice, 1000);
    for (std::size_t n = 0; n < 6; ++n) {
      const NodeIndex node(n);
      const auto test = peers_.test(asks);
      Peers::Removed removed(peers_);
      std::vector<std::size_t> gone;
      for (std::size_t i = 0; i < count; ++i) {
        if (pods[i].second != node) continue;
        removed.take(PodIndex(i));
        if (dice.one_in(3)) {
          removed.put_back(PodIndex(i));
        } else {
          gone.push_back(i);
        }
      }
      const std::uint64_t changes = peers_.changes();
      const ReasonCode dry = test.check(node, &removed);
      EXPECT_EQ(peers_.changes(), changes);
      differs += dry != test.check(node) ? 1U : 0U;
      for (const std::size_t i : gone) peers_.remove(PodIndex(i));
      ASSERT_EQ(dry, peers_.test(asks).check(node)) << seed << " " << n;
      for (const std::size_t i : gone) peers_.add(PodIndex(i), node, pods[i].first);
    }
    for (std::size_t i = 0; i < count; ++i) peers_.remove(PodIndex(i));
  }
  EXPECT_GT(differs, 50U);
}

TEST_F(PeersTest, PortsAreFoundByNumber) {
  const auto with = [](std::size_t i, HostPort port) {
    PodSpec made = make(i);
    made.around.ports = {std::move(port)};
    return made;
  };
  peers_.add(PodIndex(0U), NodeIndex(0U), with(0, {.protocol = "TCP", .port = 80}));
  peers_.add(PodIndex(1U), NodeIndex(0U),
             with(1, {.ip = "10.0.0.1", .protocol = "TCP", .port = 90}));
  const auto taken = [&](const HostPort& port) {
    const PodSpec asks = with(9, port);
    return peers_.test(asks).check(NodeIndex(0U)) == ReasonCode::host_port;
  };
  EXPECT_TRUE(taken({.ip = "10.9.9.9", .protocol = "TCP", .port = 80}));
  EXPECT_FALSE(taken({.protocol = "UDP", .port = 80}));
  EXPECT_TRUE(taken({.ip = "0.0.0.0", .protocol = "TCP", .port = 90}));
  EXPECT_FALSE(taken({.ip = "10.0.0.2", .protocol = "TCP", .port = 90}));
  EXPECT_FALSE(taken({.protocol = "TCP", .port = 81}));
  peers_.remove(PodIndex(0U));
  EXPECT_FALSE(taken({.protocol = "TCP", .port = 80}));
}

}  // namespace
}  // namespace stowage::core
