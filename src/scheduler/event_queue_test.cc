#include "scheduler/event_queue.h"

#include <thread>

#include <gtest/gtest.h>

#include "core/testing/builders.h"

namespace stowage::scheduler {
namespace {

using core::testing::node;
using core::testing::pod;

std::string text_of(const EventQueue::Message& message) {
  if (!std::holds_alternative<core::Event>(message)) return "question";
  const auto& event = std::get<core::Event>(message);
  if (const auto* e = std::get_if<core::NodeChanged>(&event)) {
    return "node " + e->node.name + " " + std::to_string(e->node.cards.size());
  }
  if (const auto* e = std::get_if<core::NodeGone>(&event)) return "no node " + e->name;
  if (const auto* e = std::get_if<core::PodPending>(&event)) return "pending " + e->pod.uid;
  if (const auto* e = std::get_if<core::PodSeenBound>(&event)) return "bound " + e->pod.uid;
  if (const auto* e = std::get_if<core::PodGone>(&event)) return "gone " + e->uid;
  if (const auto* e = std::get_if<core::BindDone>(&event)) return "done " + e->uid;
  if (const auto* e = std::get_if<core::PodNominated>(&event)) return "nominated " + e->pod.uid;
  if (const auto* e = std::get_if<core::AuxObjectChanged>(&event)) {
    return "thing " + std::to_string(e->now.index());
  }
  if (const auto* e = std::get_if<core::AuxObjectGone>(&event)) return "no thing " + e->name;
  return "other";
}

std::string taken(EventQueue& event_queue, std::size_t pending_max = 100) {
  std::string text;
  const auto messages = event_queue.take(pending_max);
  if (!messages) return "closed";
  for (const auto& message : *messages) text += text_of(message) + ";";
  return text;
}

TEST(EventQueue, RepliesComeFirstThenObjectsThenPodsByPriority) {
  EventQueue box;
  box.open();
  box.put_pod(core::PodPending{pod("low")});
  box.put_pod(core::PodPending{pod("high").priority(9)});
  box.put_pod(core::PodPending{pod("low2")});
  box.put_node(core::NodeChanged{node("a")});
  box.put_reply(core::BindDone{"x"});
  EXPECT_EQ(taken(box), "done x;node a 0;pending high;pending low;pending low2;");
}

core::PodSeenBound bound_with_card(const std::string& uid) {
  return {.pod = pod(uid), .node = "a", .cards = {{.containers = {{{.card = "a/1"}}}}}};
}

// A card that the node has only for a moment is held from that moment on.
TEST(EventQueue, CardsAreToldBetweenTheStatesOfTheirNodeThatTheyAreOf) {
  EventQueue box;
  box.open();
  box.put_node(core::NodeChanged{node("a").cards(3)});
  box.put_pod(bound_with_card("p"));
  box.put_node(core::NodeChanged{node("a").cards(3)});
  EXPECT_EQ(box.sizes().objects, 2U);
  box.put_node(core::NodeChanged{node("a").cards(2)});
  EXPECT_EQ(taken(box), "node a 3;bound p;node a 2;");

  box.put_pod(bound_with_card("p"));
  box.put_pod(bound_with_card("q"));
  box.put_node(core::NodeChanged{node("a").cards(4)});
  box.put_pod(bound_with_card("p"));
  EXPECT_EQ(taken(box), "bound q;node a 4;bound p;");

  box.put_node(core::NodeChanged{node("a").cards(1)});
  box.put_pod(bound_with_card("p"));
  box.put_node_gone("a");
  box.put_node(core::NodeChanged{node("a").cards(1)});
  EXPECT_EQ(taken(box), "node a 1;bound p;node a 1;");
  EXPECT_EQ(box.sizes().objects, 0U);
}

TEST(EventQueue, TheNewestStateOfAnObjectReplacesTheOlder) {
  EventQueue box;
  box.open();
  box.put_node(core::NodeChanged{node("a").cards(1)});
  box.put_node(core::NodeChanged{node("b").cards(1)});
  box.put_node(core::NodeChanged{node("a").cards(2)});
  EXPECT_EQ(box.sizes().objects, 2U);
  EXPECT_EQ(taken(box), "node a 2;node b 1;");
  box.put_node(core::NodeChanged{node("a").cards(3)});
  box.put_node_gone("a");
  EXPECT_EQ(taken(box), "no node a;");
}

TEST(EventQueue, AuxObjectsOfOneNameAreKeptApartByKind) {
  EventQueue box;
  box.put_aux_object("a", {core::Volume{.name = "a"}});
  box.put_aux_object("a", {core::StorageClass{.name = "a"}});
  box.put_aux_object("a", {core::Volume{.name = "a", .bytes = 1}});
  EXPECT_EQ(box.sizes().objects, 2U);
  box.put_aux_object_gone({.kind = core::AuxKind::storage_class, .name = "a"});
  EXPECT_EQ(taken(box), "thing 2;no thing a;");
  box.put_aux_object_gone({.kind = core::AuxKind::volume, .name = "a"});
  box.put_aux_object("a", {core::Volume{.name = "a"}});
  EXPECT_EQ(taken(box), "thing 2;");
}

TEST(EventQueue, ANominationIsReplacedByWhatComesOfIt) {
  EventQueue box;
  box.put_pod(core::PodNominated{.pod = pod("p"), .node = "a"});
  EXPECT_EQ(taken(box), "nominated p;");
  box.put_pod(core::PodNominated{.pod = pod("p"), .node = "a"});
  box.put_pod(core::PodSeenBound{.pod = pod("p"), .node = "a", .cards = {}});
  EXPECT_EQ(taken(box), "bound p;");
}

TEST(EventQueue, APodMovesBetweenTheLanesAndIsTakenOnce) {
  EventQueue box;
  box.open();
  box.put_pod(core::PodPending{pod("p")});
  box.put_pod(core::PodSeenBound{.pod = pod("p"), .node = "a", .cards = {}});
  EXPECT_EQ(box.sizes().pending, 0U);
  box.put_pod_gone("p");
  EXPECT_EQ(taken(box), "gone p;");
  box.put_pod_gone("q");
  box.put_pod(core::PodPending{pod("q")});
  EXPECT_EQ(box.sizes().objects, 0U);
  box.put_pod_gone("q");
  box.put_pod(core::PodPending{pod("q")});
  EXPECT_EQ(taken(box), "pending q;");
}

TEST(EventQueue, AnUpdatedPodKeepsItsPlaceButFollowsItsPriority) {
  EventQueue box;
  box.open();
  box.put_pod(core::PodPending{pod("a")});
  box.put_pod(core::PodPending{pod("b")});
  box.put_pod(core::PodPending{pod("a")});
  EXPECT_EQ(taken(box, 1), "pending a;");
  box.put_pod(core::PodPending{pod("c")});
  box.put_pod(core::PodPending{pod("c").priority(1)});
  EXPECT_EQ(taken(box), "pending c;pending b;");
}

TEST(EventQueue, PodsWaitUntilTheListsAreInAndForTheirTurn) {
  EventQueue box;
  box.put_pod(core::PodPending{pod("p")});
  box.put_node(core::NodeChanged{node("a")});
  EXPECT_EQ(taken(box), "node a 0;") << "not open yet";
  box.open();
  box.put_reply(core::BindDone{"x"});
  EXPECT_EQ(taken(box, 0), "done x;") << "no bind may be started";
  EXPECT_EQ(taken(box, 1), "pending p;");
}

TEST(EventQueue, TakingWaitsForAnotherThreadAndEndsWhenClosed) {
  EventQueue box;
  std::thread other([&] { box.put_reply(core::BindDone{"x"}); });
  EXPECT_EQ(taken(box), "done x;");
  other.join();
  std::thread closer([&] { box.close(); });
  EXPECT_EQ(taken(box), "closed");
  closer.join();
  box.put_reply(core::BindDone{"y"});
  EXPECT_EQ(taken(box), "closed");
}

}  // namespace
}  // namespace stowage::scheduler
