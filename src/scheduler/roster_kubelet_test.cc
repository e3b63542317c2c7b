#include <utility>

#include <gtest/gtest.h>

#include "scheduler/roster.h"

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

struct RosterKubelet : ::testing::Test {
  RosterKubelet() {
    mailbox.open();
    roster.see_node(node_object("n", 3));
    (void)named();
  }
  // "u 0": what was named since the last call, in the order of the mailbox.
  std::string named() {
    const auto sizes = mailbox.sizes();
    if (sizes.objects + sizes.pending + sizes.replies == 0) return "";
    std::string text;
    const auto taken = mailbox.take(1000);
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
    roster.hear_kubelet("n", "ns/" + pod, {{"main", ids}});
  }

  std::int64_t now = 5;
  Mailbox mailbox;
  std::vector<Notice> notices;
  Roster roster{built_in_profiles(),
                mailbox,
                [this](const Notice& notice) { notices.push_back(notice); },
                {.unix_nanos = [] { return std::int64_t{1'000'000'000'000}; },
                 .now = [this] { return base::Instant{now}; }}};
};

TEST_F(RosterKubelet, NamesTheCardsOfAPodWheneverItSpeaks) {
  roster.see_pod(pod_object("p", "u"));
  EXPECT_EQ(named(), "");
  EXPECT_EQ(roster.sizes().unnamed, 1U);
  kubelet("p", {"GPU-2"});
  EXPECT_EQ(named(), "u 2;");
  EXPECT_EQ(roster.sizes().unnamed, 0U);
  EXPECT_EQ(roster.sizes().by_kubelet, 1U);
  kubelet("early", {"GPU-1"});
  EXPECT_EQ(named(), "");
  roster.see_pod(pod_object("early", "v"));
  EXPECT_EQ(named(), "v 1;") << "it spoke before the pod was seen";
  roster.lose_pod("u");
  roster.lose_pod("v");
  EXPECT_EQ(roster.sizes().by_kubelet, 0U);
}

TEST_F(RosterKubelet, SpeaksForItsOwnNode) {
  roster.see_pod(pod_object("p", "u"));
  roster.hear_kubelet("m", "ns/p", {{"main", {"GPU-2"}}});
  EXPECT_EQ(named(), "");
  roster.kubelet_forgets("n", "ns/p");
  kubelet("p", {"GPU-2"});
  EXPECT_EQ(named(), "u 2;");
}

// A node that somebody has taken over speaks of all pods, before and after their own nodes do.
TEST_F(RosterKubelet, AnotherNodeNeitherNamesNorUnnamesCards) {
  roster.see_node(node_object("m", 3));
  roster.hear_kubelet("m", "ns/p", {{"main", {"GPU-1"}}});
  roster.see_pod(pod_object("p", "u"));
  EXPECT_EQ(named(), "") << "it is on n";
  kubelet("p", {"GPU-2"});
  EXPECT_EQ(named(), "u 2;");
  roster.hear_kubelet("m", "ns/p", {{"main", {"GPU-0"}}});
  EXPECT_EQ(named(), "");
  roster.see_node(node_object("n", 4));  // everything is asked again
  EXPECT_EQ(named(), "u 2;") << "what n has said still counts";
  roster.kubelet_forgets("m", "ns/p");
  roster.see_node(node_object("n", 3));
  EXPECT_EQ(named(), "u 2;");
}

TEST_F(RosterKubelet, DevicesThatAreNoCardsSayNothing) {
  roster.see_pod(pod_object("p", "u"));
  kubelet("p", {"rdma-0"});
  EXPECT_EQ(named(), "");
  EXPECT_TRUE(notices.empty());
}

TEST_F(RosterKubelet, AWordThatCannotBeIsToldOnce) {
  roster.see_pod(pod_object("p", "u", 2));
  kubelet("p", {"GPU-2"});
  kubelet("p", {"GPU-1"});
  EXPECT_EQ(named(), "");
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices.front().kind, Notice::Kind::unread_cards);
}

// A pod that is replaced by one of its name: the new one is not given the cards of the old.
TEST_F(RosterKubelet, APodThatIsReplacedIsAnotherOne) {
  roster.see_pod(pod_object("p", "u"));
  kubelet("p", {"GPU-0"});
  roster.lose_pod("u");
  roster.kubelet_forgets("n", "ns/p");
  (void)named();
  roster.see_pod(pod_object("p", "v"));
  EXPECT_EQ(named(), "");
  kubelet("p", {"GPU-1"});
  EXPECT_EQ(named(), "v 1;");
}

// The kubelet knows no uids, and the agent has not looked again yet.
TEST_F(RosterKubelet, APodThatIsReplacedDoesNotInheritTheWordAboutTheOneBefore) {
  roster.hear_agent("n", false);
  roster.see_pod(pod_object("p", "u"));
  kubelet("p", {"GPU-0"});
  EXPECT_EQ(named(), "u 0;");
  roster.lose_pod("u");
  auto unbound = pod_object("p", "v");
  unbound.node.clear();
  roster.see_pod(unbound);
  roster.see_pod(pod_object("p", "v"));
  EXPECT_EQ(named(), "");
  EXPECT_EQ(roster.sizes().unnamed, 1U) << "it is charged as unknown";
  kubelet("p", {"GPU-0"});
  roster.see_node(node_object("n", 4));  // everything is asked again
  EXPECT_EQ(named(), "") << "the same again may be what was found before";
  kubelet("p", {"GPU-1"});
  EXPECT_EQ(named(), "v 1;");
}

TEST_F(RosterKubelet, AWordThatStandsThoughTheAgentMustHaveLookedAgainIsAboutTheNewPod) {
  roster.hear_agent("n", false);
  roster.see_pod(pod_object("p", "u"));
  kubelet("p", {"GPU-0"});
  roster.lose_pod("u");
  roster.see_pod(pod_object("p", "v"));
  (void)named();
  now += 59 * kSecond;
  roster.believe_kubelets();
  EXPECT_EQ(named(), "");
  roster.hear_agent("n", true);
  now += 60 * kSecond;
  roster.believe_kubelets();
  EXPECT_EQ(named(), "") << "the agent is silent";
  roster.hear_agent("n", false);
  now += 59 * kSecond;
  roster.believe_kubelets();
  EXPECT_EQ(named(), "");
  now += 2 * kSecond;
  roster.believe_kubelets();
  EXPECT_EQ(named(), "v 0;");
  roster.see_node(node_object("n", 4));
  EXPECT_EQ(named(), "v 0;") << "and stays so";
}

TEST_F(RosterKubelet, CardsThatComeLaterAreNamedThen) {
  roster.see_node(node_object("n", 1));
  roster.see_pod(pod_object("p", "u"));
  kubelet("p", {"GPU-2"});
  EXPECT_EQ(named(), "");
  roster.see_node(node_object("n", 3));
  EXPECT_EQ(named(), "u 2;");
}

TEST_F(RosterKubelet, OtherCardsThanThoseItWasPlacedOnAreToldOnce) {
  dialect::PodObject pod = pod_object("p", "u");
  const core::Assignment cards{.containers = {{{.card = 0, .milli = 1000, .memory_mib = 1000}}}};
  pod.annotations = dialect::answer({.object = pod,
                                     .pod = *dialect::to_spec(pod, {}),
                                     .node = *roster.nodes().find("n"),
                                     .cards = cards})
                        .annotations;
  roster.begin_pods();  // as after a restart: the annotation counts
  roster.see_pod(pod);
  roster.end_pods();
  kubelet("p", {"GPU-0"});
  EXPECT_TRUE(notices.empty());
  kubelet("p", {"GPU-1"});
  kubelet("p", {"GPU-1"});
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_EQ(notices.front().kind, Notice::Kind::astray);
  EXPECT_NE(notices.front().text.find("has given it GPU-1"), std::string::npos);
  EXPECT_EQ(roster.sizes().astray, 1U);
  EXPECT_EQ(named(), "") << "the ledger keeps what was decided";
  kubelet("p", {"GPU-0"});
  EXPECT_EQ(roster.sizes().astray, 0U);
  roster.lose_pod("u");
  EXPECT_EQ(roster.sizes().astray, 0U);
}

TEST_F(RosterKubelet, OthersAreToldOfNodesWhoseCardsChange) {
  std::string told;
  const Roster::OnCards tell = [&](const std::string& node, const NodeCache::Cards* cards) {
    told += node + " " + (cards == nullptr ? "gone" : std::to_string(cards->size())) + ";";
  };
  roster.on_cards(tell);
  std::string others;
  roster.pre_allocations().on_other_cards([&](const std::string& node) { others += node + ";"; });
  EXPECT_EQ(roster.nodes().all_cards().at("n").size(), 3U);
  roster.see_node(node_object("n", 3));
  EXPECT_EQ(told, "") << "nothing has changed";
  roster.see_node(node_object("n", 4));
  roster.see_node(node_object("m", 1));
  roster.lose_node("n");
  EXPECT_EQ(told, "n 4;m 1;n gone;");
  EXPECT_EQ(others, "n;m;");
  roster.stand_down();
  roster.see_node(node_object("m", 2));
  EXPECT_EQ(others, "n;m;") << "who leads looks after promises";
}

TEST_F(RosterKubelet, APodThatAsksInTwoDialectsCountsForBoth) {
  auto both = pod_object("both", "u", 3);
  both.containers[0].requests["tencent.com/vcuda-core"] = *base::Quantity::parse("200");
  roster.see_pod(both);
  const auto taken = mailbox.take(1000);
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
