// Quotas in the form of gpu-admission, and limits by card model.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::pod;

constexpr const char* kModel = "gaia.tencent.com/gpu-model";
constexpr const char* kPool = "gaia.tencent.com/gpu-pool";

NodeSpec labelled(const std::string& name, const std::string& model, const std::string& pool) {
  NodeSpec spec = node(name).cards(8);
  if (!model.empty()) spec.labels = {{kModel, model}, {kPool, pool}};
  return spec;
}

class NodeQuota : public ::testing::Test {
 protected:
  NodeQuota() {
    for (const auto& n :
         {labelled("n1", "M40", "public"), labelled("n2", "P100", "public"),
          labelled("n3", "M40", "wx"), labelled("n4", "V100", "public"), labelled("n5", "", "")}) {
      (void)engine_.handle(NodeChanged{n}, {});
    }
    Quotas quotas{.model_label = kModel, .pool_label = kPool};
    quotas.namespaces["default"].by_node =
        NodeModelQuota{.milli = {{"M40", 4000}, {"P100", 4000}}, .pools = {"public"}};
    quotas.namespaces["any-pool"].by_node = NodeModelQuota{.milli = {{"M40", 1000}}, .pools = {}};
    (void)engine_.handle(QuotaChanged{quotas}, {});
  }
  void use(const std::string& ns, const std::string& on, int milli) {
    PodSpec spec = pod("use-" + on + std::to_string(used_++)).gpus(milli / 1000);
    if (milli % 1000 != 0) {
      spec.containers.push_back({.name = "share", .gpu = {.count = 1, .milli = milli % 1000}});
      if (milli < 1000) spec.containers.erase(spec.containers.begin());
    }
    spec.name = ns + "/" + spec.uid;
    ASSERT_TRUE(engine_.reserve({.pod = spec, .node = on}, {}, out_).place.has_value());
  }
  std::string kept(const std::string& ns, int milli) {
    PodSpec spec = milli % 1000 == 0 ? PodSpec(pod("ask").gpus(milli / 1000))
                                     : PodSpec(pod("ask").gpus(1).milli(milli));
    spec.name = ns + "/ask";
    const auto answer = engine_.filter(
        {.pod = spec, .nodes = {"n1", "n2", "n3", "n4", "n5"}, .keep = HoldMode::nothing}, {},
        out_);
    for (const auto& refused : answer.refused) EXPECT_EQ(refused.reason.code, ReasonCode::quota);
    std::string text;
    for (const auto position : answer.fits) text += "n" + std::to_string(position + 1) + " ";
    return text;
  }

  Engine engine_ = engine_with("binpack", {});
  Commands out_;
  int used_ = 0;
};

TEST_F(NodeQuota, NodesOfAllowedModelsAndPoolsAreKept) {
  EXPECT_EQ(kept("default", 1000), "n1 n2 ");
  EXPECT_EQ(kept("other", 1000), "n1 n2 n3 n4 n5 ");
  EXPECT_EQ(kept("any-pool", 1000), "n1 n3 ");
}

TEST_F(NodeQuota, UpToTheLimitAndNotBeyond) {
  use("default", "n1", 3000);
  EXPECT_EQ(kept("default", 1000), "n1 n2 ") << "400 of 400 percent";
  use("default", "n1", 500);
  EXPECT_EQ(kept("default", 1000), "n2 ");
}

TEST_F(NodeQuota, NothingIsLeft) {
  use("default", "n1", 4000);
  use("default", "n2", 4000);
  EXPECT_EQ(kept("default", 100), "");
}

TEST_F(NodeQuota, PodsThatWaitAreTriedWhenTheQuotaGrows) {
  use("default", "n1", 4000);
  use("default", "n2", 4000);
  PodSpec waits = pod("waits").gpus(1);
  waits.name = "default/waits";
  const Commands refused = engine_.handle(PodPending{waits}, {});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(std::get<Refuse>(refused[0]).refusal.counts[0].code, ReasonCode::quota);
  Quotas more{.model_label = kModel, .pool_label = kPool};
  more.namespaces["default"].by_node = NodeModelQuota{.milli = {{"M40", 5000}}, .pools = {}};
  const Commands bound = engine_.handle(QuotaChanged{more}, {});
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_EQ(std::get<Bind>(bound[0]).uid, "waits");
}

TEST_F(NodeQuota, PodsThatWaitAreTriedWhenOneOfTheirNamespaceEnds) {
  use("any-pool", "n1", 1000);
  PodSpec waits = pod("waits").gpus(1);
  waits.name = "any-pool/waits";
  (void)engine_.handle(PodPending{waits}, {});
  const Commands bound = engine_.handle(PodGone{"use-n10"}, {});
  ASSERT_EQ(bound.size(), 1U);
  EXPECT_EQ(std::get<Bind>(bound[0]).uid, "waits");
}

TEST_F(NodeQuota, ALabelThatChangesMovesWhatIsUsed) {
  use("default", "n1", 4000);
  EXPECT_EQ(kept("default", 1000), "n2 ");
  (void)engine_.handle(NodeChanged{labelled("n1", "P100", "public")}, {});
  EXPECT_EQ(kept("default", 1000), "") << "4 cards of P100 are used now, and no M40 is in the pool";
}

TEST(CardQuota, LimitsEachUnitOfEachModel) {
  Engine engine = engine_with(
      "first",
      {node("a").cards(2).model("A100").memory_mib(40960).cards(2).model("T4").memory_mib(16384)});
  const auto fits = [&](const PodSpec& asked, const std::vector<ModelLimit>& limits) {
    Quotas quotas;
    quotas.namespaces["team"].limits = limits;
    (void)engine.handle(QuotaChanged{quotas}, {});
    PodSpec spec = asked;
    spec.name = "team/p";
    Commands out;
    const auto answer =
        engine.filter({.pod = spec, .nodes = {"a"}, .keep = HoldMode::nothing}, {}, out);
    if (!answer.held) return std::string("none");
    std::string text;
    const Assignment cards = testing::on_node(engine, "a", answer.held->cards);
    for (const auto& share : cards.containers[0]) text += std::to_string(share.card);
    return text;
  };
  const PodSpec two = pod("p").gpus(2);
  EXPECT_EQ(fits(two, {}), "01");
  EXPECT_EQ(fits(two, {{.model = "a100", .cards = 1}}), "23");
  EXPECT_EQ(fits(two, {{.model = "A100", .milli = 1999}}), "23");
  EXPECT_EQ(fits(two, {{.model = "A100", .memory_mib = 81919}}), "23");
  EXPECT_EQ(fits(two, {{.model = "A100", .memory_mib = 81920}}), "01");
  EXPECT_EQ(fits(two, {{.model = "*", .cards = 1}}), "none");
  EXPECT_EQ(fits(two, {{.model = "A100", .cards = 0}, {.model = "T4", .cards = 1}}), "none");
}

// ---- shares of memory -------------------------------------------------------------------------

struct Team {
  explicit Team(const std::vector<NodeSpec>& nodes) : engine(engine_with("first", nodes)) {}
  void limit(const std::vector<ModelLimit>& limits) {
    Quotas quotas{.model_label = kModel, .pool_label = kPool};
    quotas.namespaces["team"].limits = limits;
    (void)engine.handle(QuotaChanged{quotas}, {});
  }
  bool runs(PodSpec spec) {
    spec.name = "team/" + spec.uid;
    return testing::place(engine, spec).placed();
  }
  Engine engine;
};

TEST(CardQuota, AShareCountsByItsMemoryWhereThatIsTheLargerPart) {
  Team team({node("a").cards(4).memory_mib(16384)});
  team.limit({{.model = "*", .milli = 1000}});
  EXPECT_TRUE(team.runs(pod("half").memory_mib(8192)));
  EXPECT_FALSE(team.runs(pod("more").memory_mib(8193))) << "rounded up";
  EXPECT_TRUE(team.runs(pod("quarter").milli(100).memory_mib(4096)));
  EXPECT_FALSE(team.runs(pod("small").milli(251)));
  EXPECT_TRUE(team.runs(pod("rest").milli(250).memory_mib(1)));
  EXPECT_FALSE(team.runs(pod("any").memory_mib(1)));
}

TEST_F(NodeQuota, AShareOfMemoryCountsByItsPartOfTheCard) {
  use("default", "n1", 3000);
  use("default", "n2", 4000);
  PodSpec spec = pod("ask").memory_mib(8192);  // half a card
  spec.name = "default/ask";
  const auto fits = [&] {
    return engine_.filter({.pod = spec, .nodes = {"n1"}, .keep = HoldMode::nothing}, {}, out_)
               .fits.size() == 1;
  };
  EXPECT_TRUE(fits());
  use("default", "n1", 501);
  EXPECT_FALSE(fits());
}

TEST(CardQuota, AShareOfMemoryCountsByTheCardThatItMayGet) {
  Team team({node("a").cards(1).model("T4").memory_mib(16000),
             node("b").cards(1).model("A100").memory_mib(80000)});
  team.limit({{.model = "*", .milli = 200}});
  PodSpec spec = pod("p").memory_mib(16000);
  spec.name = "team/p";
  EXPECT_EQ(testing::place(team.engine, spec).text(), "b 0") << "a whole T4 would be too much";
}

TEST(CardQuota, MemoryOfACardOfUnknownSizeIsAWholeCard) {
  Team team({node("a").cards(2).memory_mib(0)});
  team.limit({{.model = "*", .milli = 1500}});
  PodSpec spec = pod("other").milli(100).memory_mib(10);
  spec.name = "team/other";
  (void)team.engine.handle(
      PodSeenBound{.pod = spec,
                   .node = "a",
                   .cards = NamedAssignment{{{{.card = "a/0", .milli = 100, .memory_mib = 10}}}}},
      {});
  EXPECT_FALSE(team.runs(pod("p").milli(501)));
  EXPECT_TRUE(team.runs(pod("p").milli(500)));
}

// ---- nodes are added and removed --------------------------------------------------------------

TEST(CardQuota, APodCountsWhileItsNodeShowsNoCards) {
  const NodeSpec full = node("a").cards(2).model("T4");
  NodeSpec none = full;
  none.cards.clear();
  for (const char* how : {"reserved", "seen again", "quota set anew", "gone", "never named"}) {
    SCOPED_TRACE(how);
    Team team({full, node("b").cards(2).model("T4")});
    team.limit({{.model = "t4", .cards = 1}});
    PodSpec runs = pod("runs").gpus(1);
    runs.name = "team/runs";
    if (how == std::string("never named")) {
      (void)team.engine.handle(PodSeenBound{.pod = runs, .node = "a", .cards = std::nullopt}, {});
    } else {
      ASSERT_EQ(testing::place(team.engine, runs).text(), "a 0");
    }
    if (how == std::string("gone")) {
      (void)team.engine.handle(NodeGone{"a"}, {});
    } else {
      (void)team.engine.handle(NodeChanged{none}, {});
    }
    if (how != std::string("reserved")) {
      (void)team.engine.handle(PodSeenBound{.pod = runs, .node = "a", .cards = std::nullopt}, {});
    }
    if (how == std::string("quota set anew")) team.limit({{.model = "t4", .cards = 1}});
    EXPECT_FALSE(team.runs(pod("p").gpus(1)));
    (void)team.engine.handle(NodeChanged{full}, {});
    EXPECT_FALSE(team.runs(pod("p").gpus(1)));
    testing::end(team.engine, "runs");
    EXPECT_TRUE(team.runs(pod("p").gpus(1)));
  }
}

TEST(CardQuota, APodOnAnUnknownNodeCountsForEveryModel) {
  Team team({node("a").cards(2).model("T4")});
  PodSpec lost = pod("lost").gpus(1);
  lost.name = "team/lost";
  (void)team.engine.handle(PodSeenBound{.pod = lost, .node = "ghost", .cards = std::nullopt}, {});
  team.limit({{.model = "t4", .cards = 1}});
  EXPECT_FALSE(team.runs(pod("p").gpus(1)));
}

// After a restart, while the node is absent: the pod asked for a whole card of any size.
TEST(CardQuota, MemoryOnAnUnknownNodeIsThatOfTheLargestCard) {
  Engine engine = engine_with("first", {node("a").cards(2)});  // of 16384 MiB
  Quotas quotas;
  quotas.namespaces["ns"].limits = {{.model = "*", .memory_mib = 24576}};
  (void)engine.handle(QuotaChanged{quotas}, {});
  (void)engine.handle(
      PodSeenBound{.pod = pod("ns/runs").gpus(1), .node = "away", .cards = std::nullopt}, {});
  const auto binds = [&](const PodSpec& spec) {
    std::size_t number = 0;
    for (const Command& command : engine.handle(PodPending{spec}, {})) {
      number += std::holds_alternative<Bind>(command) ? 1U : 0U;
    }
    return number;
  };
  EXPECT_EQ(binds(pod("ns/larger").gpus(1).memory_mib(12288)), 0U) << "16384 + 12288 > 24576";
  EXPECT_EQ(binds(pod("ns/smaller").gpus(1).memory_mib(8192)), 1U);
  EXPECT_TRUE(engine.audit().empty());
}

TEST_F(NodeQuota, ALabelThatANodeLosesStillCounts) {
  use("default", "n1", 4000);
  (void)engine_.handle(NodeChanged{labelled("n1", "", "")}, {});
  (void)engine_.handle(NodeChanged{labelled("n6", "M40", "public")}, {});
  const auto on_new_node = [&] {
    PodSpec spec = pod("ask").gpus(1);
    spec.name = "default/ask";
    return engine_.filter({.pod = spec, .nodes = {"n6"}, .keep = HoldMode::nothing}, {}, out_)
               .fits.size() == 1;
  };
  EXPECT_FALSE(on_new_node());
  (void)engine_.handle(NodeGone{"n1"}, {});
  EXPECT_FALSE(on_new_node());
  for (int i = 0; i < 1; ++i) (void)engine_.handle(PodGone{"use-n1" + std::to_string(i)}, {});
  EXPECT_TRUE(on_new_node());
}

TEST(CardQuota, WhatIsKeptForAPodThatWaitsIsNotCharged) {
  Team team({node("a").cards(2).model("T4")});
  team.limit({{.model = "t4", .cards = 2}});
  PodSpec external = pod("guest").gpus(2);
  external.name = "team/guest";
  (void)team.engine.handle(PodNominated{.pod = external, .node = "a"}, {});
  NodeSpec changed = node("a").cards(2).model("T4");
  changed.labels["x"] = "y";
  (void)team.engine.handle(NodeChanged{changed}, {});
  (void)team.engine.handle(PodGone{"guest"}, {});
  EXPECT_TRUE(team.runs(pod("p").gpus(2)));
}

TEST(CardQuota, CardsThatAreNamedLaterCountByTheirOwnModel) {
  Team team({node("a").cards(1).model("A100").cards(1).model("T4")});
  team.limit({{.model = "a100", .cards = 1}});
  PodSpec other = pod("other").gpus(1);
  other.name = "team/other";
  (void)team.engine.handle(PodSeenBound{.pod = other, .node = "a", .cards = std::nullopt}, {});
  (void)team.engine.handle(NodeChanged{node("b").cards(1).model("A100")}, {});
  EXPECT_FALSE(team.runs(pod("p").gpus(1))) << "it may be an A100";
  (void)team.engine.handle(
      CardsNamed{.uid = "other",
                 .node = "a",
                 .containers = other.containers,
                 .cards = NamedAssignment{{{{.card = "a/1", .milli = 1000, .memory_mib = 16384}}}}},
      {});
  EXPECT_TRUE(team.runs(pod("p").gpus(1)));
}

}  // namespace
}  // namespace stowage::core
