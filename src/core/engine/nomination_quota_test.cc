// Nominated capacity counts against the quota of the pod's namespace. If the quota leaves the pod
// nothing, the nomination ends.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "core/testing/builders.h"

namespace stowage::core {
namespace {

using testing::at;
using testing::engine_with;
using testing::node;
using testing::place;
using testing::pod;
using testing::policy;

constexpr std::int64_t kSecond = 1'000'000'000;

template <typename Kind>
std::size_t count(const Commands& commands) {
  return static_cast<std::size_t>(
      std::count_if(commands.begin(), commands.end(),
                    [](const Command& command) { return std::holds_alternative<Kind>(command); }));
}

QuotaChanged cards_of_team(std::int64_t cards) {
  Quotas quotas;
  quotas.namespaces["team"] = {.by_node = {}, .limits = {{.model = "*", .cards = cards}}};
  return {quotas};
}

// A full node of four pods of another namespace, and a quota for `team`.
Engine full_node(std::int64_t quota) {
  Engine engine = engine_with("first", {node("a").cards(4)});
  for (const char* name : {"ns/1", "ns/2", "ns/3", "ns/4"}) {
    EXPECT_TRUE(place(engine, pod(name).gpus(1)).placed());
  }
  (void)engine.handle(cards_of_team(quota), at(0));
  return engine;
}

TEST(NominationQuota, PodsEvictNoMoreThanTheQuotaLeavesThemTogether) {
  for (const std::size_t quota : {0U, 1U, 3U}) {
    Engine engine = full_node(static_cast<std::int64_t>(quota));
    std::size_t evicted = 0;
    for (const char* name : {"team/1", "team/2", "team/3", "team/4"}) {
      evicted += count<Evict>(engine.handle(PodPending{pod(name).gpus(1).priority(9)}, at(1)));
    }
    EXPECT_EQ(evicted, quota);
    EXPECT_EQ(engine.counters().nominations, quota);
    for (const char* name : {"ns/1", "ns/2", "ns/3", "ns/4"}) {
      (void)engine.handle_all(PodGone{name}, at(2));
    }
    EXPECT_EQ(engine.counters().binding, quota);
    EXPECT_EQ(engine.counters().nominations, 0U);
    EXPECT_TRUE(place(engine, pod("ns/other").gpus(1)).placed());
    EXPECT_TRUE(engine.audit().empty());
  }
}

TEST(NominationQuota, AMoreImportantPodOfTheNamespaceIsNotKeptOut) {
  Engine engine = full_node(1);
  EXPECT_EQ(count<Evict>(engine.handle(PodPending{pod("team/1").gpus(1).priority(5)}, at(1))), 1U);
  EXPECT_EQ(count<Evict>(engine.handle(PodPending{pod("team/2").gpus(1).priority(9)}, at(1))), 0U)
      << "it takes what is kept for the other";
  (void)engine.handle_all(PodGone{"ns/1"}, at(2));
  (void)engine.handle_all(PodGone{"ns/2"}, at(2));
  (void)engine.handle_all(PodGone{"ns/3"}, at(2));
  (void)engine.handle_all(PodGone{"ns/4"}, at(2));
  EXPECT_TRUE(engine.ledger().pods().find("team/2").valid());
  EXPECT_FALSE(engine.ledger().pods().find("team/1").valid());
  EXPECT_EQ(engine.counters().nominations, 0U) << "the quota leaves the other nothing";
}

TEST(NominationQuota, NothingIsKeptForAPodThatTheQuotaRefuses) {
  for (const std::int64_t quota : {0, 3, 4}) {
    Engine engine({policy("first")}, {.patience_ns = 60 * kSecond});
    (void)engine.handle(NodeChanged{node("a").cards(4)}, at(0));
    EXPECT_TRUE(place(engine, pod("ns/1").gpus(1)).placed());
    (void)engine.handle(cards_of_team(quota), at(0));
    (void)engine.handle(PodPending{pod("team/large").gpus(4)}, at(1));
    for (std::int64_t second = 62; second < 70; ++second) (void)engine.handle(Tick{}, at(second));
    EXPECT_EQ(engine.counters().nominations, quota == 4 ? 1U : 0U) << quota;
    EXPECT_EQ(place(engine, pod("ns/2").gpus(1)).placed(), quota != 4) << quota;
  }
}

TEST(NominationQuota, AQuotaThatIsLoweredEndsIt) {
  Engine engine = full_node(1);
  (void)engine.handle(PodPending{pod("team/1").gpus(1).priority(9)}, at(1));
  EXPECT_EQ(engine.counters().nominations, 1U);
  (void)engine.handle_all(cards_of_team(0), at(2));
  (void)engine.handle_all(PodGone{"ns/1"}, at(3));
  (void)engine.handle_all(PodGone{"ns/2"}, at(3));
  (void)engine.handle_all(PodGone{"ns/3"}, at(3));
  (void)engine.handle_all(PodGone{"ns/4"}, at(3));
  EXPECT_EQ(engine.counters().nominations, 0U);
  EXPECT_TRUE(engine.audit().empty());
}

}  // namespace
}  // namespace stowage::core
