// Pods of other schedulers whose annotations have the indexes of their cards, but not their ids.
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "dialect/dialect.h"
#include "scheduler/cluster_cache.h"

namespace stowage::scheduler {
namespace {

using Ids = std::vector<std::string>;

dialect::NodeObject node_object(const Ids& ids, const char* percent = "400") {
  dialect::NodeObject node;
  node.name = node.uid = "n";
  node.allocatable = {{"pods", *base::Quantity::parse("110")},
                      {"tencent.com/vcuda-core", *base::Quantity::parse(percent)}};
  node.capacity = node.allocatable;
  if (ids.empty()) return node;
  std::vector<core::Card> cards;
  for (const std::string& id : ids) {
    cards.push_back({.id = id, .index = static_cast<std::int32_t>(cards.size())});
  }
  node.annotations[std::string(dialect::kInventoryAnnotation)] = dialect::inventory_text(cards, {});
  return node;
}

dialect::PodObject pod_on_node(const std::string& uid) {
  dialect::PodObject pod{.ns = "ns", .name = uid, .uid = uid};
  pod.scheduler = "default-scheduler";
  pod.phase = "Running";
  pod.node = "n";
  pod.scheduled_since = "2026-01-01T00:00:00Z";
  dialect::ContainerObject container{.name = "main"};
  container.limits = {{"tencent.com/vcuda-core", *base::Quantity::parse("100")}};
  container.requests = container.limits;
  pod.containers = {container};
  return pod;
}

dialect::PodObject indexed(const std::string& uid, const std::string& index) {
  dialect::PodObject pod = pod_on_node(uid);
  pod.annotations = {{"tencent.com/predicate-gpu-idx-0", index},
                     {"tencent.com/predicate-node", "n"},
                     {"tencent.com/predicate-time", "1"},
                     {"tencent.com/gpu-assigned", "true"}};
  return pod;
}

dialect::PodObject ours(const std::string& uid, const std::string& id, const std::string& decided) {
  dialect::PodObject pod = pod_on_node(uid);
  pod.annotations["stowage.dev/gpus"] = R"({"version":1,"node":"n","decided":")" + decided +
                                        R"(","containers":{"main":[{"id":")" + id +
                                        R"(","index":2,"milli":1000,"memoryMiB":0}]}})";
  return pod;
}

class ClusterCacheIndexTest : public ::testing::Test {
 protected:
  ClusterCacheIndexTest() { restart(); }

  void restart() {
    (void)event_queue_.take_now(1000);
    engine_ = std::make_unique<core::Engine>(core::PolicyOptions{});
    cluster_cache_ = std::make_unique<ClusterCache>(
        built_in_profiles(), event_queue_,
        [this](const Notice& notice) { notices_.push_back(notice); },
        ClusterCache::Clock{.unix_nanos = [] { return std::int64_t{1}; },
                            .now = [] { return base::Instant{}; }});
  }
  void see(const dialect::NodeObject& node) {
    cluster_cache_->upsert_node(node);
    apply();
  }
  void see(const dialect::PodObject& pod) {
    cluster_cache_->begin_pods();
    cluster_cache_->upsert_pod(pod);
    cluster_cache_->end_pods();
    apply();
  }
  void apply() {
    const auto taken = event_queue_.take_now(1000);
    for (const auto& message : *taken) handle(std::get<core::Event>(message));
  }
  void handle(const core::Event& event) {
    for (core::Command& command : engine_->handle_all(event, {})) {
      commands_.push_back(std::move(command));
    }
    EXPECT_EQ(engine_->audit(), Ids{});
  }
  // "GPU-c": its card; "(n/2)": a card that the node does not report.
  std::string cards_of(const std::string& uid) {
    const core::Ledger& ledger = engine_->ledger();
    const core::PodIndex pod = ledger.pods().find(uid);
    if (!pod.valid()) return "gone";
    const core::PodRecord& record = ledger.pods().record(pod);
    if (!record.cards_known()) return "unknown";
    std::string text;
    for (const auto& charge : record.charges) {
      text += ledger.nodes().spec(record.node).cards[charge.card].id;
    }
    for (const auto& lost : record.orphans) text += "(" + lost.id + ")";
    return text;
  }

  const Ids listed_{"GPU-a", "GPU-b", "GPU-c", "GPU-d"};
  const Ids reversed_{"GPU-d", "GPU-c", "GPU-b", "GPU-a"};
  EventQueue event_queue_;
  std::vector<Notice> notices_;
  std::vector<core::Command> commands_;
  std::unique_ptr<core::Engine> engine_;
  std::unique_ptr<ClusterCache> cluster_cache_;
};

TEST_F(ClusterCacheIndexTest, TheyAreReadAgainWhenTheNodeBeginsOrCeasesToListItsCards) {
  see(node_object({}));
  see(indexed("p", "2"));
  EXPECT_EQ(cards_of("p"), "n/2");
  see(node_object(listed_));
  EXPECT_EQ(cards_of("p"), "GPU-c");
  see(node_object({}));
  EXPECT_EQ(cards_of("p"), "n/2");
  see(node_object(reversed_));
  EXPECT_EQ(cards_of("p"), "GPU-b");
}

TEST_F(ClusterCacheIndexTest, TheyStayWhenTheInventoryIsReorderedUntilARestart) {
  see(node_object(listed_));
  see(indexed("p", "2"));
  see(node_object(reversed_));
  EXPECT_EQ(cards_of("p"), "GPU-c") << "its containers have it";
  dialect::PodObject again = indexed("p", "2");
  again.annotations["example.com/changed"] = "yes";
  see(again);
  EXPECT_EQ(cards_of("p"), "GPU-c");
  restart();
  see(node_object(reversed_));
  see(again);
  EXPECT_EQ(cards_of("p"), "GPU-b") << "nothing else is known";
}

TEST_F(ClusterCacheIndexTest, OneThatTheNodeLacksIsReadWhenItIsBack) {
  see(node_object({}));
  see(indexed("p", "2"));
  see(node_object({"GPU-a", "GPU-b"}));
  EXPECT_EQ(cards_of("p"), "(n/2)") << "it may be any of them";
  see(node_object(listed_));
  EXPECT_EQ(cards_of("p"), "GPU-c");
}

TEST_F(ClusterCacheIndexTest, AnEditChangesNothingWhenTheyAreReadAgain) {
  see(node_object({}));
  see(indexed("p", "2"));
  see(indexed("p", "1"));
  EXPECT_EQ(cluster_cache_->sizes().annotation_mismatched, 1U);
  see(node_object(listed_));
  EXPECT_EQ(cards_of("p"), "GPU-c");
  EXPECT_EQ(cluster_cache_->sizes().annotation_mismatched, 1U);
}

TEST_F(ClusterCacheIndexTest, ThePodIsReadAgainAsItIsNow) {
  see(node_object({}));
  see(indexed("p", "2"));
  dialect::PodObject ending = indexed("p", "1");
  ending.deleting = true;
  see(ending);
  see(node_object(listed_));
  const core::Ledger& ledger = engine_->ledger();
  EXPECT_TRUE(ledger.pods().record(ledger.pods().find("p")).leaving);
}

TEST_F(ClusterCacheIndexTest, OurOwnDecisionsAreNeverReadByIndex) {
  see(node_object({}));
  see(ours("p", "n/2", "5"));
  EXPECT_EQ(cards_of("p"), "n/2");
  see(node_object(listed_));
  EXPECT_EQ(cards_of("p"), "(n/2)");
  see(ours("q", "", "6"));
  EXPECT_EQ(cards_of("q"), "unknown") << "a card without an id";
}

// Indexes change, so they prove nothing about who was first.
TEST_F(ClusterCacheIndexTest, NoPodIsEvictedForThem) {
  see(node_object(listed_));
  see(ours("first", "GPU-c", "5"));
  see(indexed("other", "2"));
  see(ours("last", "GPU-b", "6"));
  see(indexed("another", "1"));
  EXPECT_EQ(cards_of("first") + cards_of("other"), "GPU-cGPU-c");
  handle(core::Lead{});
  see(node_object({}));
  see(node_object(reversed_));
  for (const core::Command& command : commands_) {
    EXPECT_FALSE(std::holds_alternative<core::CardConflict>(command));
  }
}

// No card was assigned to it by name, so the kubelet names it.
TEST_F(ClusterCacheIndexTest, TheKubeletNamesTheCardsOfAPodThatWasPlacedOnACountedOne) {
  see(node_object({}));
  see(ours("p", "n/2", "5"));
  cluster_cache_->kubelets().set("n", "ns/p", {{"main", {"GPU-a"}}});
  see(node_object(listed_));
  EXPECT_EQ(cards_of("p"), "GPU-a");
  EXPECT_EQ(cluster_cache_->sizes().by_kubelet, 1U);
  EXPECT_EQ(cluster_cache_->sizes().unnamed, 0U);
  for (const Notice& notice : notices_) EXPECT_NE(notice.kind, Notice::Kind::device_mismatch);
  see(ours("p", "n/2", "5"));
  EXPECT_EQ(cards_of("p"), "GPU-a");
}

}  // namespace
}  // namespace stowage::scheduler
