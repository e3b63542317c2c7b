#include "scheduler/cluster_cache.h"

#include <gtest/gtest.h>

namespace stowage::scheduler {
namespace {

dialect::NodeObject node_object(const std::string& name, const std::string& gpus) {
  dialect::NodeObject node;
  node.name = name;
  node.uid = "uid-" + name;
  node.allocatable = {{"cpu", *base::Quantity::parse("64")},
                      {"memory", *base::Quantity::parse("512Gi")},
                      {"pods", *base::Quantity::parse("110")},
                      {"nvidia.com/gpu", *base::Quantity::parse(gpus)}};
  node.capacity = node.allocatable;
  return node;
}

dialect::PodObject pod_object(const std::string& name, const std::string& gpus = "1") {
  dialect::PodObject pod;
  pod.ns = "ns";
  pod.name = name;
  pod.uid = name;
  pod.scheduler = "stowage";
  pod.phase = "Pending";
  dialect::ContainerObject container{.name = "main"};
  container.requests = {{"nvidia.com/gpu", *base::Quantity::parse(gpus)}};
  container.limits = container.requests;
  pod.containers = {container};
  return pod;
}

std::string cards_text(const std::optional<core::NamedAssignment>& cards) {
  if (!cards) return "unknown";
  std::string text;
  for (const auto& shares : cards->containers) {
    for (const auto& share : shares) text += share.card.substr(share.card.rfind('/') + 1) + ",";
  }
  return text;
}

std::string event_text(const core::Event& event) {
  if (const auto* e = std::get_if<core::NodeChanged>(&event)) {
    return "node " + e->node.name + " " + std::to_string(e->node.cards.size());
  }
  if (const auto* e = std::get_if<core::NodeGone>(&event)) return "no node " + e->name;
  if (const auto* e = std::get_if<core::PodPending>(&event)) {
    return "pending " + e->pod.uid + " profile " + std::to_string(e->pod.profile);
  }
  if (const auto* e = std::get_if<core::PodSeenBound>(&event)) {
    return "bound " + e->pod.uid + " " + e->node + " cards " + cards_text(e->cards);
  }
  if (const auto* e = std::get_if<core::PodGone>(&event)) return "gone " + e->uid;
  if (const auto* e = std::get_if<core::PodNominated>(&event)) {
    return "nominated " + e->pod.uid + " " + e->node;
  }
  return "other";
}

// A pod on the node, with our annotation naming this card.
dialect::PodObject bound_with_card(const ClusterCache& cluster_cache, const std::string& name,
                                   std::uint32_t card) {
  auto bound = pod_object(name);
  bound.node = "n";
  const core::Assignment cards{.containers = {{{.card = card, .milli = 1000, .memory_mib = 0}}}};
  bound.annotations = dialect::answer({.object = bound,
                                       .pod = *dialect::to_spec(bound, {}),
                                       .node = *cluster_cache.nodes().find("n"),
                                       .cards = cards})
                          .annotations;
  return bound;
}

class ClusterCacheTest : public ::testing::Test {
 protected:
  ClusterCacheTest() { event_queue_.open(); }

  // The events that were put into the queue since the last call.
  std::string events() {
    const auto sizes = event_queue_.sizes();
    if (sizes.objects + sizes.pending + sizes.replies == 0) return "";
    std::string text;
    const auto taken = event_queue_.take(1000);
    for (const auto& message : *taken) text += event_text(std::get<core::Event>(message)) + ";";
    return text;
  }
  std::string notices() {
    std::string text;
    for (const auto& notice : notices_) {
      text += std::to_string(static_cast<int>(notice.kind)) + " " + notice.name + ";";
    }
    notices_.clear();
    return text;
  }

  EventQueue event_queue_;
  std::vector<Notice> notices_;
  ClusterCache cluster_cache_{built_in_profiles(),
                              event_queue_,
                              [this](const Notice& notice) { notices_.push_back(notice); },
                              {.unix_nanos = [] { return std::int64_t{1'000'000'000'000}; },
                               .now = [] { return base::Instant{5}; }}};
};

TEST_F(ClusterCacheTest, OnlyPodsOfOurProfilesWantAPlace) {
  cluster_cache_.upsert_pod(pod_object("ours"));
  auto toy = pod_object("toy");
  toy.scheduler = "toyscheduler";
  cluster_cache_.upsert_pod(toy);
  auto theirs = pod_object("theirs");
  theirs.scheduler = "default-scheduler";
  cluster_cache_.upsert_pod(theirs);
  auto gated = pod_object("gated");
  gated.gates = {"wait"};
  cluster_cache_.upsert_pod(gated);
  auto leaving = pod_object("leaving");
  leaving.deleting = true;
  cluster_cache_.upsert_pod(leaving);
  EXPECT_EQ(events(), "pending ours profile 0;pending toy profile 1;");
  EXPECT_EQ(cluster_cache_.sizes().pending, 2U);
  gated.gates.clear();
  cluster_cache_.upsert_pod(gated);
  EXPECT_EQ(events(), "pending gated profile 0;");
  EXPECT_EQ(notices(), "");
}

TEST_F(ClusterCacheTest, AStatusThatChangesIsNoNewWish) {
  cluster_cache_.upsert_pod(pod_object("p"));
  events();
  auto told = pod_object("p");
  told.unscheduled_reason = "Unschedulable";
  cluster_cache_.upsert_pod(told);
  EXPECT_EQ(events(), "");
  EXPECT_EQ(cluster_cache_.pods().pending("p")->object.unscheduled_reason, "Unschedulable");
  cluster_cache_.upsert_pod(pod_object("p", "2"));
  EXPECT_EQ(events(), "pending p profile 0;");
}

TEST_F(ClusterCacheTest, APodOfOursIsNotAskedForAgainBecauseItIsNominated) {
  cluster_cache_.upsert_pod(pod_object("p"));
  EXPECT_EQ(events(), "pending p profile 0;");
  auto nominated = pod_object("p");
  nominated.nominated = "n1";
  cluster_cache_.upsert_pod(nominated);
  EXPECT_EQ(events(), "nominated p n1;");
  EXPECT_EQ(cluster_cache_.pods().pending("p")->spec.nominated, "n1");
  EXPECT_EQ(cluster_cache_.pods().pending("p")->object.nominated, "n1");
  nominated.constraints.labels = {{"app", "web"}};
  cluster_cache_.upsert_pod(nominated);
  EXPECT_EQ(events(), "pending p profile 0;") << "others may look at its labels";
}

TEST_F(ClusterCacheTest, APodThatWasNominatedBeforeARestartBringsThatAlong) {
  auto pod = pod_object("p");
  pod.nominated = "n1";
  cluster_cache_.upsert_pod(pod);
  const auto taken = event_queue_.take(10);
  const auto& pending = std::get<core::PodPending>(std::get<core::Event>(taken->at(0)));
  EXPECT_EQ(pending.pod.nominated, "n1");
}

TEST_F(ClusterCacheTest, WhatAPodDemandsIsKeptOnceAndToldToTheEngine) {
  auto pod = pod_object("p");
  pod.constraints.ports = {{.protocol = "TCP", .port = 80}};
  pod.rules.selector = {{"a", "b"}};
  cluster_cache_.upsert_pod(pod);
  const auto* pending = cluster_cache_.pods().pending("p");
  EXPECT_EQ(pending->spec.constraints, pod.constraints);
  EXPECT_EQ(pending->spec.rules, pod.rules);
  EXPECT_EQ(pending->object.constraints, core::PodConstraints{});
  EXPECT_EQ(pending->object.rules, core::NodeRules{});
}

TEST_F(ClusterCacheTest, NominationsOfOthersAreToldAndTakenBack) {
  auto theirs = pod_object("t");
  theirs.scheduler = "default-scheduler";
  cluster_cache_.upsert_pod(theirs);
  EXPECT_EQ(events(), "");
  theirs.nominated = "n1";
  cluster_cache_.upsert_pod(theirs);
  EXPECT_EQ(events(), "nominated t n1;");
  theirs.nominated = "n2";
  cluster_cache_.upsert_pod(theirs);
  EXPECT_EQ(events(), "nominated t n2;");
  theirs.nominated = "";
  cluster_cache_.upsert_pod(theirs);
  EXPECT_EQ(events(), "nominated t ;") << "to nothing: what the extender holds for it stays";
  cluster_cache_.upsert_pod(theirs);
  EXPECT_EQ(events(), "") << "once";
}

TEST_F(ClusterCacheTest, ANominatedPodOfOthersEndsOrIsBoundLikeAnyOther) {
  auto theirs = pod_object("t", "1e30");  // a pod that we cannot read still uses capacity
  theirs.scheduler = "default-scheduler";
  theirs.nominated = "n1";
  cluster_cache_.upsert_pod(theirs);
  EXPECT_EQ(events(), "nominated t n1;");
  auto leaving = theirs;
  leaving.deleting = true;
  cluster_cache_.upsert_pod(leaving);
  EXPECT_EQ(events(), "gone t;");
  auto other = pod_object("o");
  other.scheduler = "default-scheduler";
  other.nominated = "n1";
  cluster_cache_.upsert_pod(other);
  other.node = "n1";
  cluster_cache_.upsert_pod(other);
  EXPECT_EQ(events(), "bound o n1 cards unknown;") << "the newest state counts";
  cluster_cache_.remove_pod("o");
  EXPECT_EQ(events(), "gone o;");
  auto gated = pod_object("g");
  gated.nominated = "n1";
  gated.gates = {"wait"};
  cluster_cache_.upsert_pod(gated);
  EXPECT_EQ(events(), "");
}

TEST_F(ClusterCacheTest, ABoundPodKeepsTheCardsThatItNames) {
  cluster_cache_.upsert_node(node_object("n", "4"));
  cluster_cache_.upsert_pod(pod_object("p"));
  events();
  auto bound = bound_with_card(cluster_cache_, "p", 2);
  cluster_cache_.upsert_pod(bound);
  EXPECT_EQ(events(), "bound p n cards 2,;");
  EXPECT_EQ(cluster_cache_.pods().pending("p"), nullptr);
  EXPECT_EQ(cluster_cache_.sizes().bound, 1U);
  bound.phase = "Succeeded";
  cluster_cache_.upsert_pod(bound);
  EXPECT_EQ(events(), "gone p;");
  EXPECT_EQ(cluster_cache_.sizes().pods, 0U);
}

TEST_F(ClusterCacheTest, CardsAreReadAgainWhenTheNodeAppears) {
  cluster_cache_.upsert_node(node_object("n", "4"));
  const auto bound = bound_with_card(cluster_cache_, "p", 3);
  cluster_cache_.remove_node("n");
  cluster_cache_.upsert_pod(pod_object("p"));
  events();
  cluster_cache_.upsert_pod(bound);
  EXPECT_EQ(events(), "bound p n cards unknown;");
  cluster_cache_.upsert_node(node_object("n", "4"));
  EXPECT_EQ(events(), "node n 4;bound p n cards 3,;");
  cluster_cache_.upsert_node(node_object("n", "4"));
  EXPECT_EQ(events(), "node n 4;");
}

TEST_F(ClusterCacheTest, CardsAreReadAgainWhenTheNodeHasThemAgain) {
  cluster_cache_.upsert_node(node_object("n", "4"));
  const auto bound = bound_with_card(cluster_cache_, "p", 3);
  cluster_cache_.upsert_node(node_object("n", "1"));
  cluster_cache_.begin_pods();  // we start while the card is missing
  cluster_cache_.upsert_pod(bound);
  cluster_cache_.end_pods();
  EXPECT_EQ(events(), "node n 1;bound p n cards unknown;");
  cluster_cache_.upsert_node(node_object("n", "4"));
  EXPECT_EQ(events(), "node n 4;bound p n cards 3,;");
  cluster_cache_.upsert_node(node_object("n", "3"));
  EXPECT_EQ(events(), "node n 3;") << "from then on it is the engine's business";
}

TEST_F(ClusterCacheTest, APodThatGoesBeforeItsNodeComesIsForgotten) {
  auto bound = pod_object("p");
  bound.node = "n";
  cluster_cache_.upsert_pod(bound);
  cluster_cache_.remove_pod("p");
  events();
  cluster_cache_.upsert_node(node_object("n", "4"));
  EXPECT_EQ(events(), "node n 4;");
}

TEST_F(ClusterCacheTest, WhatIsLostIsGone) {
  cluster_cache_.upsert_node(node_object("a", "1"));
  cluster_cache_.upsert_node(node_object("b", "1"));
  cluster_cache_.upsert_pod(pod_object("p"));
  cluster_cache_.upsert_pod(pod_object("q"));
  events();
  cluster_cache_.remove_node("a");
  cluster_cache_.remove_pod("p");
  EXPECT_EQ(events(), "no node a;gone p;");
  EXPECT_EQ(cluster_cache_.sizes().nodes, 1U);
  cluster_cache_.remove_node("a");
  cluster_cache_.remove_pod("p");
  EXPECT_EQ(events(), "");
}

// kube-scheduler may see its pod before we do, and ask us to bind it. The pod must not stay in the
// ledger if our watch breaks and the pod is deleted before the next list.
TEST_F(ClusterCacheTest, AExternalThatWasBoundAndWentUnseenIsGoneWithTheNextList) {
  std::string expected;
  cluster_cache_.on_expected([&](const std::string& uid) { expected += uid + ";"; });
  cluster_cache_.expect_pod("g", "ns/g");
  cluster_cache_.expect_pod("g", "ns/g");
  EXPECT_EQ(expected, "g;") << "a list that lacks it loses it";
  EXPECT_EQ(cluster_cache_.pods().uid_of("ns/g"), "g");
  EXPECT_EQ(events(), "");
  cluster_cache_.remove_pod("g");
  EXPECT_EQ(events(), "gone g;");

  auto seen = pod_object("h");
  seen.scheduler = "default-scheduler";
  cluster_cache_.upsert_pod(seen);
  cluster_cache_.expect_pod("h", "ns/h");
  EXPECT_EQ(expected, "g;") << "it is known already";
  EXPECT_EQ(events(), "");
  cluster_cache_.remove_pod("h");
  EXPECT_EQ(events(), "gone h;") << "it was seen, but never on its node";
}

TEST_F(ClusterCacheTest, APodThatCannotBePlacedAsItIsWrittenIsTold) {
  auto odd = pod_object("odd");
  odd.unsupported = {"resource claims"};
  cluster_cache_.upsert_pod(odd);
  EXPECT_EQ(events(), "");
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_EQ(notices_[0].kind, Notice::Kind::unsupported);
  EXPECT_NE(notices_[0].text.find("resource claims"), std::string::npos);
  notices_.clear();
  cluster_cache_.upsert_pod(pod_object("absurd", "1e30"));
  EXPECT_EQ(notices(), "0 absurd;");
  cluster_cache_.upsert_pod(pod_object("turns", "1"));
  EXPECT_EQ(events(), "pending turns profile 0;");
  cluster_cache_.upsert_pod(pod_object("turns", "-1"));
  EXPECT_EQ(events(), "gone turns;") << "the engine forgets what no longer makes sense";
  EXPECT_EQ(notices(), "0 turns;");
}

TEST_F(ClusterCacheTest, AnAnswerOnANewPodIsAForgery) {
  auto untrusted = pod_object("p");
  untrusted.annotations = {{std::string(dialect::kGpusAnnotation), "{}"}};
  cluster_cache_.upsert_pod(untrusted);
  EXPECT_EQ(notices(), "1 p;");
  EXPECT_EQ(events(), "pending p profile 0;");
  cluster_cache_.upsert_pod(untrusted);
  EXPECT_EQ(notices(), "") << "told once";
}

TEST_F(ClusterCacheTest, ForgeriesOfOthersPodsAreToldToo) {
  auto theirs = pod_object("t");
  theirs.scheduler = "default-scheduler";
  theirs.annotations = {{std::string(dialect::kGpusAnnotation), "{}"},
                        {std::string(dialect::kRetryAnnotation), "1"}};
  cluster_cache_.upsert_pod(theirs);
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_NE(notices_[0].text.find("stowage.dev/gpus and stowage.dev/retry-since"),
            std::string::npos)
      << notices_[0].text;
  EXPECT_EQ(cluster_cache_.sizes().untrusted, 1U);
  notices_.clear();
  cluster_cache_.upsert_pod(theirs);
  EXPECT_EQ(notices(), "") << "told once";
  auto marked = pod_object("m");
  marked.scheduler = "default-scheduler";
  cluster_cache_.upsert_pod(marked);
  marked.annotations = {{std::string(dialect::kRetryAnnotation), "1"}};
  cluster_cache_.upsert_pod(marked);
  EXPECT_EQ(notices(), "") << "we mark pods that we refused";
}

TEST_F(ClusterCacheTest, WhereCardsAreWrittenBeforeTheBindOnlyThoseOfACreatedPodAreUntrusted) {
  cluster_cache_.pre_allocations().enable_pre_allocations(0, std::chrono::seconds{660});
  auto created = pod_object("c");
  created.scheduler = "default-scheduler";
  created.annotations = {{std::string(dialect::kGpusAnnotation), "{}"}};
  cluster_cache_.upsert_pod(created);
  EXPECT_EQ(notices(), "1 c;");
  auto filtered = pod_object("f");
  filtered.scheduler = "default-scheduler";
  cluster_cache_.upsert_pod(filtered);
  filtered.annotations = created.annotations;
  cluster_cache_.upsert_pod(filtered);
  EXPECT_EQ(notices(), "");
  cluster_cache_.begin_pods();
  auto listed = pod_object("l");
  listed.scheduler = "default-scheduler";
  listed.annotations = created.annotations;
  cluster_cache_.upsert_pod(listed);
  EXPECT_EQ(notices(), "") << "nobody knows who wrote it";
}

TEST_F(ClusterCacheTest, EditedAnnotationsMoveNoPodAndAreCounted) {
  cluster_cache_.upsert_node(node_object("n", "4"));
  cluster_cache_.upsert_pod(pod_object("p"));
  cluster_cache_.upsert_pod(bound_with_card(cluster_cache_, "p", 2));
  EXPECT_EQ(events(), "node n 4;bound p n cards 2,;");
  cluster_cache_.upsert_pod(bound_with_card(cluster_cache_, "p", 0));
  EXPECT_EQ(events(), "bound p n cards unknown;") << "the engine keeps what it knows";
  EXPECT_EQ(notices(), "2 p;");
  cluster_cache_.upsert_pod(bound_with_card(cluster_cache_, "p", 0));
  EXPECT_EQ(notices(), "");
  EXPECT_EQ(cluster_cache_.sizes().annotation_mismatched, 1U);
  EXPECT_EQ(cluster_cache_.sizes().annotation_edits, 1U);
  events();
  cluster_cache_.upsert_pod(bound_with_card(cluster_cache_, "p", 2));
  EXPECT_EQ(events(), "bound p n cards 2,;");
  EXPECT_EQ(cluster_cache_.sizes().annotation_mismatched, 0U);
  cluster_cache_.upsert_pod(bound_with_card(cluster_cache_, "p", 1));
  EXPECT_EQ(cluster_cache_.sizes().annotation_mismatched, 1U);
  cluster_cache_.remove_pod("p");
  EXPECT_EQ(cluster_cache_.sizes().annotation_mismatched, 0U);
  EXPECT_EQ(cluster_cache_.sizes().annotation_edits, 2U);
}

TEST_F(ClusterCacheTest, AnEditBeforeTheEngineHasLookedTakesNoCardsAway) {
  cluster_cache_.upsert_node(node_object("n", "4"));
  cluster_cache_.upsert_pod(pod_object("p"));
  events();
  cluster_cache_.upsert_pod(bound_with_card(cluster_cache_, "p", 2));
  cluster_cache_.upsert_pod(bound_with_card(cluster_cache_, "p", 0));
  EXPECT_EQ(events(), "bound p n cards 2,;");
}

TEST_F(ClusterCacheTest, APodThatIsCreatedOnANodeNamesNoCards) {
  cluster_cache_.upsert_node(node_object("n", "4"));
  events();
  cluster_cache_.upsert_pod(bound_with_card(cluster_cache_, "p", 2));
  EXPECT_EQ(events(), "bound p n cards unknown;");
  EXPECT_EQ(notices(), "1 p;");
  cluster_cache_.begin_pods();
  cluster_cache_.upsert_pod(bound_with_card(cluster_cache_, "p", 2));
  cluster_cache_.upsert_pod(bound_with_card(cluster_cache_, "q", 3));
  cluster_cache_.end_pods();
  EXPECT_EQ(events(), "bound p n cards unknown;bound q n cards 3,;")
      << "of one that was there before us nobody can say";
  EXPECT_EQ(notices(), "");
}

TEST_F(ClusterCacheTest, WhatWeWroteIsOursWhateverIsSeenFirst) {
  cluster_cache_.upsert_node(node_object("n", "4"));
  cluster_cache_.upsert_pod(pod_object("p"));
  events();
  cluster_cache_.wrote("p", bound_with_card(cluster_cache_, "p", 2).annotations);
  cluster_cache_.upsert_pod(bound_with_card(cluster_cache_, "p", 0));
  EXPECT_EQ(events(), "bound p n cards unknown;");
  EXPECT_EQ(notices(), "2 p;");
}

TEST_F(ClusterCacheTest, ARunningPodThatMakesNoSenseIsChargedByWhatCanBeRead) {
  cluster_cache_.upsert_node(node_object("n", "4"));
  events();
  auto odd = pod_object("p", "1e30");
  odd.node = "n";
  odd.containers[0].requests["cpu"] = *base::Quantity::parse("2");
  cluster_cache_.upsert_pod(odd);
  EXPECT_EQ(notices(), "4 p;");
  const auto taken = event_queue_.take(10);
  const auto& seen = std::get<core::PodSeenBound>(std::get<core::Event>(taken->at(0)));
  EXPECT_EQ(core::effective_resources(seen.pod).cpu_milli, 2000);
  EXPECT_EQ(seen.pod.containers.back().gpu.count, 64) << "all that a node can have";
  EXPECT_FALSE(seen.cards.has_value());
}

TEST_F(ClusterCacheTest, WhenAPodOfOursWasChosenIsReadFromItAndByWhenFromItsCondition) {
  cluster_cache_.upsert_node(node_object("n", "4"));
  events();
  const auto placed = [&](dialect::PodObject bound) {
    auto before = bound;
    before.node.clear();
    before.annotations.clear();
    cluster_cache_.upsert_pod(before);
    (void)event_queue_.take(10);
    cluster_cache_.upsert_pod(std::move(bound));
    const auto taken = event_queue_.take(10);
    const auto& seen = std::get<core::PodSeenBound>(std::get<core::Event>(taken->back()));
    EXPECT_TRUE(seen.placed_by_then);
    return seen.placed;
  };
  constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
  auto bound = bound_with_card(cluster_cache_, "a", 0);
  bound.created = "1970-01-01T00:00:05Z";
  bound.scheduled_since = "1970-01-01T00:00:07Z";
  EXPECT_EQ(placed(bound), 8 * kNanosPerSecond) << "by the end of that second";
  bound = bound_with_card(cluster_cache_, "c", 2);
  EXPECT_EQ(placed(bound), std::numeric_limits<std::int64_t>::max()) << "nobody knows";
  bound = bound_with_card(cluster_cache_, "d", 3);
  bound.annotations.clear();
  bound.scheduled_since = "1970-01-01T00:00:07Z";
  EXPECT_EQ(placed(bound), 0);
}

TEST_F(ClusterCacheTest, PodsAreFoundByNameAndARecreatedPodIsAnotherOne) {
  cluster_cache_.upsert_pod(pod_object("p"));
  EXPECT_EQ(cluster_cache_.pods().uid_of("ns/p"), "p");
  auto again = pod_object("p");
  again.uid = "p2";
  cluster_cache_.upsert_pod(again);
  cluster_cache_.remove_pod("p");
  EXPECT_EQ(cluster_cache_.pods().uid_of("ns/p"), "p2");
  cluster_cache_.remove_pod("p2");
  EXPECT_EQ(cluster_cache_.pods().uid_of("ns/p"), "");
}

}  // namespace
}  // namespace stowage::scheduler
