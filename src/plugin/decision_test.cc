#include "plugin/decision.h"

#include <gtest/gtest.h>

#include "dialect/decided_cards.h"
#include "plugin/device_ids.h"
#include "plugin/testing/fake_node.h"

namespace stowage::plugin {
namespace {

using Kind = DecisionAnswer::Kind;

class DecisionTest : public ::testing::Test {
 protected:
  [[nodiscard]] DecisionAnswer ask(const dialect::PodObject& pod,
                                   std::string_view container = "main") const {
    return decision_for({.pod = pod, .container = container, .node = "n1"}, *keys_);
  }
  // With this text of the annotation, signed.
  [[nodiscard]] dialect::PodObject with(const std::string& text,
                                        dialect::Purpose purpose = dialect::Purpose::bound) const {
    dialect::PodObject pod = testing::bound_pod(*keys_, "p", "n1", {});
    dialect::Annotations answer{{std::string(dialect::kGpusAnnotation), text}};
    kube::seal(*keys_, {.object = pod, .node = "n1", .purpose = purpose, .unix_nanos = 7}, answer);
    pod.annotations = answer;
    return pod;
  }

  kube::Keys keys_ = kube::testing::keys_from_seed("a seed");
};

TEST_F(DecisionTest, TheCardsOfTheContainerInTheirOrder) {
  const auto pod =
      testing::bound_pod(*keys_, "p", "n1", {{"main", {"GPU-2", "GPU-1"}}, {"other", {"GPU-3"}}});
  const DecisionAnswer answer = ask(pod);
  EXPECT_EQ(answer.kind, Kind::decided);
  EXPECT_EQ(answer.decision.cards, (std::vector<std::string>{"GPU-2", "GPU-1"}));
  EXPECT_EQ(answer.decision.decided_nanos, 1'790'000'000'000'000'000);
  EXPECT_EQ(answer.decision.shares.size(), 2U);
  EXPECT_EQ(ask(pod, "other").decision.cards, (std::vector<std::string>{"GPU-3"}));
  EXPECT_EQ(ask(pod, "third").kind, Kind::wrong);
}

// Schedulers that bind pods themselves leave the signature of the pre-allocation.
TEST_F(DecisionTest, APreAllocationCountsOnceThePodIsBound) {
  const std::string text = testing::gpus_text("n1", {{"main", {"GPU-2"}}});
  auto pod = with(text, dialect::Purpose::pre_allocation);
  EXPECT_EQ(ask(pod).kind, Kind::decided);
  pod.node = "";
  EXPECT_EQ(ask(pod).why, "pod ml/p is on node none, not on n1");
  pod.node = "n2";
  EXPECT_EQ(ask(pod).why, "pod ml/p is on node n2, not on n1");
  EXPECT_EQ(ask(with(text, dialect::Purpose::withdrawn)).why,
            "the cards of pod ml/p were withdrawn");
}

TEST_F(DecisionTest, WhatTheControllerDidNotSignForThisPodIsWrong) {
  auto pod = testing::bound_pod(*keys_, "p", "n1", {{"main", {"GPU-2"}}});
  pod.uid = "another";
  EXPECT_EQ(ask(pod).kind, Kind::wrong);
  pod = testing::bound_pod(*keys_, "p", "n2", {{"main", {"GPU-2"}}});
  pod.node = "n1";
  EXPECT_EQ(ask(pod).kind, Kind::wrong);
  pod = testing::bound_pod(*kube::testing::keys_from_seed("b"), "p", "n1", {{"main", {"GPU-2"}}});
  EXPECT_EQ(ask(pod).kind, Kind::unknown_key);
}

TEST_F(DecisionTest, ASignedTextThatCannotBeReadIsWrong) {
  EXPECT_EQ(ask(with("{")).kind, Kind::wrong);
  EXPECT_EQ(ask(with(testing::gpus_text("n9", {{"main", {"GPU-2"}}}))).why,
            "the cards of pod ml/p were chosen for node n9, not for n1");
  EXPECT_EQ(ask(with(R"({"version":1,"node":"n1","containers":{"main":[]}})")).why,
            "the annotation stowage.dev/gpus of pod ml/p cannot be read: container \"main\": "
            "expected an array of cards");
  EXPECT_EQ(ask(with(R"({"version":9,"node":"n1","containers":{}})")).kind, Kind::wrong);
}

TEST(DecidedCards, EntriesAreChecked) {
  const auto error = [](const std::string& containers) {
    const auto read = dialect::parse_decided_cards(R"({"version":1,"node":"n1","containers":)" +
                                                   containers + "}");
    return read ? "none" : read.error().message;
  };
  const std::string card = R"({"id":"GPU-1","index":0,"milli":0,"memoryMiB":0})";
  EXPECT_EQ(error("{\"a\":[" + card + "]}"), "none");  // uses the cards of another container
  EXPECT_EQ(error("{\"a\":[" + card + "," + card + "]}"), "card GPU-1 appears twice");
  EXPECT_EQ(error("{\"a\":[" + card + "],\"a\":[" + card + "]}"), "a container appears twice");
  EXPECT_EQ(error(R"({"a":[{"milli":1,"memoryMiB":0}]})"), "a card has no \"id\"");
  EXPECT_EQ(error(R"({"a":["GPU-1"]})"), "a card is not an object");
  EXPECT_EQ(error("[]"), "\"containers\" is missing or not an object");
  EXPECT_NE(error(R"({"a":[{"id":"x","milli":1001,"memoryMiB":0}]})"), "none");
}

TEST(CardTrouble, NamesTheFirstCardThatCannotBeGiven) {
  const std::vector<core::Card> cards{{.id = "GPU-1"}, {.id = "GPU-2", .healthy = false}};
  EXPECT_EQ(card_trouble({"GPU-1"}, cards, "n1"), std::nullopt);
  EXPECT_EQ(card_trouble({"GPU-1", "GPU-2"}, cards, "n1"), "card GPU-2 of node n1 is unhealthy");
  EXPECT_EQ(card_trouble({"GPU-3"}, cards, "n1"), "node n1 has no card GPU-3 any more");
}

TEST(DeviceIds, AreReadableAndUnique) {
  EXPECT_EQ(device_ids(kAttachment, 2), (Ids{"attachment-0001", "attachment-0002"}));
  EXPECT_EQ(device_ids(kInitAttachment, 1), (Ids{"init-attachment-0001"}));
  const Ids many = device_ids(kAttachment, kDevicesMax);
  EXPECT_TRUE(std::is_sorted(many.begin(), many.end()));
  EXPECT_TRUE(is_device_id(kAttachment, 512, "attachment-0512"));
  for (const char* wrong : {"attachment-0513", "attachment-0000", "attachment-1",
                            "attachment-00001", "init-attachment-0001", "attachment-", "attachment",
                            "", "GPU-0001", "attachment--001", "attachment-+001"}) {
    EXPECT_FALSE(is_device_id(kAttachment, 512, wrong)) << wrong;
  }
}

}  // namespace
}  // namespace stowage::plugin
