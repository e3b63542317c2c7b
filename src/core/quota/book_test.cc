// The quota of gpu-admission (vectors A.7), and limits by model of card.
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
    ASSERT_TRUE(engine_.claim({.pod = spec, .node = on}, {}, out_).place.has_value());
  }
  std::string kept(const std::string& ns, int milli) {
    PodSpec spec = milli % 1000 == 0 ? PodSpec(pod("ask").gpus(milli / 1000))
                                     : PodSpec(pod("ask").gpus(1).milli(milli));
    spec.name = ns + "/ask";
    const auto answer = engine_.filter(
        {.pod = spec, .nodes = {"n1", "n2", "n3", "n4", "n5"}, .keep = Keep::nothing}, {}, out_);
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
        engine.filter({.pod = spec, .nodes = {"a"}, .keep = Keep::nothing}, {}, out);
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

}  // namespace
}  // namespace stowage::core
