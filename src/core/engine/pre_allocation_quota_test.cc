// Pre-allocations from before a restart count against the quota. Beyond the quota they are held
// only if we signed them, because the quota allowed them then.
#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::engine_with;
using testing::node;
using testing::pod;

constexpr base::Instant kLater{60'000'000'000};

// A whole card, by id.
PodHeld pre_allocation(const std::string& uid, const std::string& card) {
  PodSpec spec = pod(uid).gpus(1);
  spec.name = "team/" + uid;
  return {.pod = spec,
          .node = "a",
          .cards = {.containers = {{{.card = card, .milli = 1000, .memory_mib = 16384}}}},
          .until = kLater};
}

TEST(PreAllocationQuota, APreAllocationBeyondTheQuotaIsNotHeld) {
  NamespaceQuota by_node;
  by_node.by_node = NodeModelQuota{.milli = {{"T4", 1000}}, .pools = {}};
  NamespaceQuota other_pool = by_node;
  other_pool.by_node->pools = {"elsewhere"};
  const struct {
    const char* name;
    NamespaceQuota quota;
    std::size_t held;
  } rows[] = {{"no limit", {}, 2},
              {"cards of all models", {.by_node = {}, .limits = {{.model = "*", .cards = 1}}}, 1},
              {"of this model", {.by_node = {}, .limits = {{.model = "t4", .milli = 1500}}}, 1},
              {"of another", {.by_node = {}, .limits = {{.model = "a100", .cards = 0}}}, 2},
              {"by the node's label", by_node, 1},
              {"in a pool that it is not in", other_pool, 0}};
  for (const auto& row : rows) {
    Engine engine = engine_with("tightest", {});
    NodeSpec a = node("a").cards(2).model("T4");
    a.labels["model"] = "T4";
    (void)engine.handle(NodeChanged{a}, {});
    Quotas quotas{.model_label = "model", .pool_label = "pool", .namespaces = {}};
    quotas.namespaces["team"] = row.quota;
    (void)engine.handle(QuotaChanged{quotas}, {});
    (void)engine.handle(pre_allocation("p", "a/0"), {});
    (void)engine.handle(pre_allocation("q", "a/1"), {});
    EXPECT_EQ(engine.counters().held, row.held) << row.name;
    for (PodHeld ours : {pre_allocation("p", "a/0"), pre_allocation("q", "a/1")}) {
      ours.is_signed = true;
      (void)engine.handle(ours, {});
    }
    EXPECT_EQ(engine.counters().held, 2U) << row.name;
    EXPECT_TRUE(engine.ledger().audit().empty()) << row.name;
  }
}

}  // namespace
}  // namespace stowage::core
