#include <utility>

#include <gtest/gtest.h>

#include "scheduler/cluster_cache.h"

namespace stowage::scheduler {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

dialect::NodeObject node_object(const std::string& name, int cards) {
  dialect::NodeObject node;
  node.name = name;
  std::vector<core::Card> list;
  for (int i = 0; i < cards; ++i) {
    list.push_back({.id = "GPU-" + std::to_string(i), .index = i, .memory_mib = 1000});
  }
  node.annotations[std::string(dialect::kInventoryAnnotation)] = dialect::inventory_text(list, {});
  node.allocatable = {{"cpu", *base::Quantity::parse("64")},
                      {"pods", *base::Quantity::parse("110")},
                      {"nvidia.com/gpu", *base::Quantity::parse(std::to_string(cards))}};
  node.capacity = node.allocatable;
  return node;
}

// A pod of another scheduler, on node n.
dialect::PodObject pod_object(const std::string& name, const std::string& uid, int cards = 1) {
  dialect::PodObject pod{.ns = "ns", .name = name, .uid = uid};
  pod.scheduler = "default-scheduler";
  pod.phase = "Running";
  pod.node = "n";
  dialect::ContainerObject container{.name = "main"};
  container.requests = {{"nvidia.com/gpu", *base::Quantity::parse(std::to_string(cards))}};
  pod.containers = {container};
  return pod;
}

struct ClusterCacheKubeletTest : ::testing::Test {
  ClusterCacheKubeletTest() {
    event_queue.open();
    cluster_cache.upsert_node(node_object("n", 3));
    (void)named();
  }
  // "u 0": the cards named since the last call, in the order of the event queue.
  std::string named() {
    const auto sizes = event_queue.sizes();
    if (sizes.objects + sizes.pending + sizes.replies == 0) return "";
    std::string text;
    const auto taken = event_queue.take(1000);
    for (const auto& message : *taken) {
      const auto* event = std::get_if<core::CardsNamed>(&std::get<core::Event>(message));
      if (event == nullptr) continue;
      text += event->uid;
      for (const auto& share : event->cards.containers.at(0)) {
        text += " " + share.card.substr(share.card.find_last_of("/-") + 1);
      }
      text += ";";
    }
    return text;
  }
  void kubelet(const std::string& pod, const std::vector<std::string>& ids) {
    cluster_cache.kubelets().set("n", "ns/" + pod, {{"main", ids}});
  }

  std::int64_t now = 5;
  EventQueue event_queue;
  std::vector<Notice> notices;
  ClusterCache cluster_cache{built_in_profiles(),
                             event_queue,
                             [this](const Notice& notice) { notices.push_back(notice); },
                             {.unix_nanos = [] { return std::int64_t{1'000'000'000'000}; },
                              .now = [this] { return base::Instant{now}; }}};
};

TEST_F(ClusterCacheKubeletTest, NamesTheCardsOfAPodWheneverItSpeaks) {
  cluster_cache.upsert_pod(pod_object("p", "u"));
  EXPECT_EQ(named(), "");
  EXPECT_EQ(cluster_cache.sizes().unnamed, 1U);
  kubelet("p", {"GPU-2"});
  EXPECT_EQ(named(), "u 2;");
  EXPECT_EQ(cluster_cache.sizes().unnamed, 0U);
  EXPECT_EQ(cluster_cache.sizes().by_kubelet, 1U);
  kubelet("early", {"GPU-1"});
  EXPECT_EQ(named(), "");
  cluster_cache.upsert_pod(pod_object("early", "v"));
  EXPECT_EQ(named(), "v 1;") << "it spoke before the pod was seen";
  cluster_cache.remove_pod("u");
  cluster_cache.remove_pod("v");
  EXPECT_EQ(cluster_cache.sizes().by_kubelet, 0U);
}

TEST_F(ClusterCacheKubeletTest, SpeaksForItsOwnNode) {
  cluster_cache.upsert_pod(pod_object("p", "u"));
  cluster_cache.kubelets().set("m", "ns/p", {{"main", {"GPU-2"}}});
  EXPECT_EQ(named(), "");
  cluster_cache.kubelets().cards().forget_allocation("n", "ns/p");
  kubelet("p", {"GPU-2"});
  EXPECT_EQ(named(), "u 2;");
}

// A compromised node reports on all pods, before and after their own nodes do.
TEST_F(ClusterCacheKubeletTest, AnotherNodeNeitherNamesNorUnnamesCards) {
  cluster_cache.upsert_node(node_object("m", 3));
  cluster_cache.kubelets().set("m", "ns/p", {{"main", {"GPU-1"}}});
  cluster_cache.upsert_pod(pod_object("p", "u"));
  EXPECT_EQ(named(), "") << "it is on n";
  kubelet("p", {"GPU-2"});
  EXPECT_EQ(named(), "u 2;");
  cluster_cache.kubelets().set("m", "ns/p", {{"main", {"GPU-0"}}});
  EXPECT_EQ(named(), "");
  cluster_cache.upsert_node(node_object("n", 4));  // everything is resolved again
  EXPECT_EQ(named(), "u 2;") << "what n has said still counts";
  cluster_cache.kubelets().cards().forget_allocation("m", "ns/p");
  cluster_cache.upsert_node(node_object("n", 3));
  EXPECT_EQ(named(), "u 2;");
}

TEST_F(ClusterCacheKubeletTest, DevicesThatAreNoCardsSayNothing) {
  cluster_cache.upsert_pod(pod_object("p", "u"));
  kubelet("p", {"rdma-0"});
  EXPECT_EQ(named(), "");
  EXPECT_TRUE(notices.empty());
}

TEST_F(ClusterCacheKubeletTest, AWordThatCannotBeIsToldOnce) {
  cluster_cache.upsert_pod(pod_object("p", "u", 2));
  kubelet("p", {"GPU-2"});
  kubelet("p", {"GPU-1"});
  EXPECT_EQ(named(), "");
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices.front().kind, Notice::Kind::unread_cards);
}

// A pod is replaced by another of the same name: the new one does not get the cards of the old one.
TEST_F(ClusterCacheKubeletTest, APodThatIsReplacedIsAnotherOne) {
  cluster_cache.upsert_pod(pod_object("p", "u"));
  kubelet("p", {"GPU-0"});
  cluster_cache.remove_pod("u");
  cluster_cache.kubelets().cards().forget_allocation("n", "ns/p");
  (void)named();
  cluster_cache.upsert_pod(pod_object("p", "v"));
  EXPECT_EQ(named(), "");
  kubelet("p", {"GPU-1"});
  EXPECT_EQ(named(), "v 1;");
}

// The kubelet reports no uids, and the agent has not listed its pods again yet.
TEST_F(ClusterCacheKubeletTest, APodThatIsReplacedDoesNotInheritTheWordAboutTheOneBefore) {
  cluster_cache.kubelets().cards().set_agent_silent("n", false);
  cluster_cache.upsert_pod(pod_object("p", "u"));
  kubelet("p", {"GPU-0"});
  EXPECT_EQ(named(), "u 0;");
  cluster_cache.remove_pod("u");
  auto unbound = pod_object("p", "v");
  unbound.node.clear();
  cluster_cache.upsert_pod(unbound);
  cluster_cache.upsert_pod(pod_object("p", "v"));
  EXPECT_EQ(named(), "");
  EXPECT_EQ(cluster_cache.sizes().unnamed, 1U) << "it is charged as unknown";
  kubelet("p", {"GPU-0"});
  cluster_cache.upsert_node(node_object("n", 4));  // everything is resolved again
  EXPECT_EQ(named(), "") << "the same again may be what was found before";
  kubelet("p", {"GPU-1"});
  EXPECT_EQ(named(), "v 1;");
}

TEST_F(ClusterCacheKubeletTest, AWordThatStandsThoughTheAgentMustHaveLookedAgainIsAboutTheNewPod) {
  cluster_cache.kubelets().cards().set_agent_silent("n", false);
  cluster_cache.upsert_pod(pod_object("p", "u"));
  kubelet("p", {"GPU-0"});
  cluster_cache.remove_pod("u");
  cluster_cache.upsert_pod(pod_object("p", "v"));
  (void)named();
  now += 59 * kSecond;
  cluster_cache.kubelets().confirm();
  EXPECT_EQ(named(), "");
  cluster_cache.kubelets().cards().set_agent_silent("n", true);
  now += 60 * kSecond;
  cluster_cache.kubelets().confirm();
  EXPECT_EQ(named(), "") << "the agent is silent";
  cluster_cache.kubelets().cards().set_agent_silent("n", false);
  now += 59 * kSecond;
  cluster_cache.kubelets().confirm();
  EXPECT_EQ(named(), "");
  now += 2 * kSecond;
  cluster_cache.kubelets().confirm();
  EXPECT_EQ(named(), "v 0;");
  cluster_cache.upsert_node(node_object("n", 4));
  EXPECT_EQ(named(), "v 0;") << "and stays so";
}

TEST_F(ClusterCacheKubeletTest, CardsThatComeLaterAreNamedThen) {
  cluster_cache.upsert_node(node_object("n", 1));
  cluster_cache.upsert_pod(pod_object("p", "u"));
  kubelet("p", {"GPU-2"});
  EXPECT_EQ(named(), "");
  cluster_cache.upsert_node(node_object("n", 3));
  EXPECT_EQ(named(), "u 2;");
}

TEST_F(ClusterCacheKubeletTest, OtherCardsThanThoseItWasPlacedOnAreToldOnce) {
  dialect::PodObject pod = pod_object("p", "u");
  const core::Assignment cards{.containers = {{{.card = 0, .milli = 1000, .memory_mib = 1000}}}};
  pod.annotations = dialect::answer({.object = pod,
                                     .pod = *dialect::to_spec(pod, {}),
                                     .node = *cluster_cache.nodes().find("n"),
                                     .cards = cards})
                        .annotations;
  cluster_cache.begin_pods();  // as after a restart: the annotation counts
  cluster_cache.upsert_pod(pod);
  cluster_cache.end_pods();
  kubelet("p", {"GPU-0"});
  EXPECT_TRUE(notices.empty());
  kubelet("p", {"GPU-1"});
  kubelet("p", {"GPU-1"});
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices.front().kind, Notice::Kind::device_mismatch);
  EXPECT_NE(notices.front().text.find("gave it GPU-1"), std::string::npos);
  EXPECT_EQ(cluster_cache.sizes().device_mismatched, 1U);
  EXPECT_EQ(named(), "") << "the ledger keeps what was decided";
  kubelet("p", {"GPU-0"});
  EXPECT_EQ(cluster_cache.sizes().device_mismatched, 0U);
  cluster_cache.remove_pod("u");
  EXPECT_EQ(cluster_cache.sizes().device_mismatched, 0U);
}

TEST_F(ClusterCacheKubeletTest, OthersAreToldOfNodesWhoseCardsChange) {
  std::string told;
  const ClusterCache::OnCards tell = [&](const std::string& node, const NodeCache::Cards* cards) {
    told += node + " " + (cards == nullptr ? "gone" : std::to_string(cards->size())) + ";";
  };
  cluster_cache.on_cards(tell);
  std::string others;
  cluster_cache.pre_allocations().on_other_cards(
      [&](const std::string& node) { others += node + ";"; });
  EXPECT_EQ(cluster_cache.nodes().all_cards().at("n").size(), 3U);
  cluster_cache.upsert_node(node_object("n", 3));
  EXPECT_EQ(told, "") << "nothing has changed";
  cluster_cache.upsert_node(node_object("n", 4));
  cluster_cache.upsert_node(node_object("m", 1));
  cluster_cache.remove_node("n");
  EXPECT_EQ(told, "n 4;m 1;n gone;");
  EXPECT_EQ(others, "n;m;");
  cluster_cache.stand_down();
  cluster_cache.upsert_node(node_object("m", 2));
  EXPECT_EQ(others, "n;m;") << "who leads looks after promises";
}

TEST_F(ClusterCacheKubeletTest, APodThatAsksInTwoDialectsCountsForBoth) {
  auto both = pod_object("both", "u", 3);
  both.containers[0].requests["tencent.com/vcuda-core"] = *base::Quantity::parse("200");
  cluster_cache.upsert_pod(both);
  const auto taken = event_queue.take(1000);
  ASSERT_EQ(taken->size(), 1U);
  const auto& seen = std::get<core::PodSeenBound>(std::get<core::Event>(taken->front()));
  EXPECT_FALSE(seen.cards);
  std::int32_t cards = 0;
  for (const auto& container : seen.pod.containers) {
    EXPECT_TRUE(container.gpu.count == 0 || container.gpu.whole());
    cards += container.gpu.count;
  }
  EXPECT_EQ(cards, 5);
}

}  // namespace
}  // namespace stowage::scheduler
