#include "scheduler/assignment_resolver.h"

#include <gtest/gtest.h>

namespace stowage::scheduler {
namespace {

using Trouble = AssignmentResolver::Resolution::Trouble;
constexpr base::HashKey kKey{1, 2};

core::NodeSpec node_with(std::int32_t cards) {
  core::NodeSpec node{.name = "n"};
  for (std::int32_t i = 0; i < cards; ++i) {
    node.cards.push_back({.id = "GPU-" + std::to_string(i), .index = i, .memory_mib = 81920});
  }
  return node;
}

dialect::PodObject pod_asking(const std::string& resource, const std::string& amount) {
  dialect::PodObject pod;
  pod.ns = "ns";
  pod.name = pod.uid = "p";
  pod.node = "n";
  dialect::ContainerObject container{.name = "main"};
  container.limits = container.requests = {{resource, *base::Quantity::parse(amount)}};
  pod.containers = {container};
  return pod;
}

// A pod, its resolver, and its next annotations.
class AssignmentResolverTest : public ::testing::Test {
 protected:
  void speak(const std::string& resource, const std::string& amount) {
    pod_ = pod_asking(resource, amount);
  }
  [[nodiscard]] core::PodSpec spec() const {
    return *dialect::to_spec(pod_, {.floor_whole_cards = true});
  }
  // Writes our annotation, as if we had assigned this card.
  void name_card(std::uint32_t card) {
    const core::Assignment cards{.containers = {{{.card = card, .milli = 1000}}}};
    const auto pod = spec();
    const auto answer =
        dialect::answer({.object = pod_, .pod = pod, .node = node_, .cards = cards});
    pod_.annotations[ours_] = answer.annotations.at(ours_);
  }
  std::string resolve(bool created_bound = false) {
    const auto pod = spec();
    resolution_ = resolver_.resolve(
        {.object = pod_, .pod = pod, .node = &node_, .created_bound = created_bound}, kKey);
    std::string text = resolution_.cards ? "card " : "unset";
    if (resolution_.cards) {
      for (const auto& share : resolution_.cards->containers.at(0))
        text += std::to_string(share.card);
    }
    constexpr const char* kWords[] = {"", " unread", " forged", " mismatch"};
    return text + kWords[static_cast<int>(resolution_.trouble)] +
           (resolution_.told ? " again" : "");
  }

  const std::string ours_{dialect::kGpusAnnotation};
  core::NodeSpec node_ = node_with(4);
  dialect::PodObject pod_ = pod_asking("nvidia.com/gpu", "1");
  AssignmentResolver resolver_;
  AssignmentResolver::Resolution resolution_;
};

TEST_F(AssignmentResolverTest, TheFirstWordCounts) {
  name_card(2);
  EXPECT_EQ(resolve(), "card 2");
  EXPECT_TRUE(resolver_.ours());
  const auto good = pod_.annotations;
  name_card(0);
  EXPECT_EQ(resolve(), "unset mismatch");
  EXPECT_NE(resolution_.message.find("GPU-0"), std::string::npos) << resolution_.message;
  EXPECT_EQ(resolve(), "unset mismatch again") << "told once for each text";
  EXPECT_TRUE(resolver_.mismatched());
  EXPECT_TRUE(resolver_.ours()) << "we placed it all the same";
  name_card(1);
  EXPECT_EQ(resolve(), "unset mismatch");
  pod_.annotations[ours_] = "garbage";
  EXPECT_EQ(resolve(), "unset mismatch");
  pod_.annotations.clear();
  EXPECT_EQ(resolve(), "unset mismatch");
  EXPECT_EQ(resolve(), "unset mismatch again");
  pod_.annotations = good;
  EXPECT_EQ(resolve(), "card 2");
  EXPECT_FALSE(resolver_.mismatched());
}

TEST_F(AssignmentResolverTest, WhatWeWroteCountsEvenIfItIsEditedBeforeItIsSeen) {
  name_card(3);
  resolver_.wrote(pod_.annotations, kKey);
  const auto good = pod_.annotations;
  name_card(0);
  EXPECT_EQ(resolve(), "unset mismatch");
  pod_.annotations = good;
  EXPECT_EQ(resolve(), "card 3");
}

TEST_F(AssignmentResolverTest, WhatWeWroteOnAPodThatIsNotBoundMayBeReplacedByAnotherReplica) {
  name_card(3);
  resolver_.wrote(pod_.annotations, kKey);
  resolver_.forget_wrote();
  name_card(1);
  EXPECT_EQ(resolve(), "card 1");
  resolver_.forget_wrote();
  name_card(3);
  EXPECT_EQ(resolve(), "unset mismatch") << "it is bound";
}

TEST_F(AssignmentResolverTest, APodThatIsCreatedOnItsNodeMayNotNameCards) {
  name_card(2);
  EXPECT_EQ(resolve(true), "unset forged");
  EXPECT_FALSE(resolver_.ours());
  EXPECT_EQ(resolve(), "unset mismatch again") << "it does not count later either";
  pod_.annotations.clear();
  EXPECT_EQ(resolve(), "unset");
  EXPECT_FALSE(resolver_.mismatched());
}

TEST_F(AssignmentResolverTest, WhatTheAuthorWroteNeverCountsButWhatTheBindingBringsDoes) {
  name_card(2);
  EXPECT_TRUE(resolver_.untrusted(pod_, kKey));
  EXPECT_FALSE(resolver_.untrusted(pod_, kKey)) << "told once";
  AssignmentResolver bound_by_another_scheduler = resolver_;
  name_card(0);
  EXPECT_EQ(resolve(), "card 0") << "the binding replaced it";
  resolver_ = bound_by_another_scheduler;
  name_card(2);
  EXPECT_EQ(resolve(), "unset forged again");
  EXPECT_TRUE(resolver_.mismatched());
}

TEST_F(AssignmentResolverTest, OurAnnotationDoesNotAppearOnAPodThatOthersPlaced) {
  speak("nano-gpu/gpu-percent", "100");
  pod_.annotations = {{"nano-gpu/assume", "true"}, {"nano-gpu/container-main", "1"}};
  EXPECT_EQ(resolve(), "card 1");
  EXPECT_FALSE(resolver_.ours());
  name_card(3);
  EXPECT_EQ(resolve(), "card 1 mismatch");
}

TEST_F(AssignmentResolverTest, WhatOthersWroteIsKeptToo) {
  struct Row {
    const char* resource;
    dialect::Annotations first;
    dialect::Annotations then;
  };
  const Row rows[] = {
      {"nano-gpu/gpu-percent",
       {{"nano-gpu/assume", "true"}, {"nano-gpu/container-main", "1"}},
       {{"nano-gpu/assume", "true"}, {"nano-gpu/container-main", "2"}}},
      {"elasticgpu.io/gpu-core",
       {{"elasticgpu.io/assumed", "true"}, {"elasticgpu.io/container-main", "1"}},
       {{"elasticgpu.io/assumed", "true"}, {"elasticgpu.io/container-main", "2"}}},
      {"tencent.com/vcuda-core",
       {{"tencent.com/predicate-gpu-idx-0", "1"}, {"tencent.com/predicate-node", "n"}},
       {{"tencent.com/predicate-gpu-idx-0", "2"}, {"tencent.com/predicate-node", "n"}}},
      {"nvidia.com/vcuda-core",
       {{"nvidia.com/predicate-gpu-idx-0", "1"}, {"nvidia.com/predicate-node", "n"}},
       {{"nvidia.com/predicate-gpu-idx-0", "2"}, {"nvidia.com/predicate-node", "n"}}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.resource);
    resolver_ = {};
    speak(row.resource, "100");
    EXPECT_EQ(resolve(), "unset") << "nobody has said";
    pod_.annotations = row.first;
    EXPECT_EQ(resolve(), "card 1") << "cards may become known later";
    pod_.annotations["tencent.com/gpu-assigned"] = "true";
    EXPECT_EQ(resolve(), "card 1") << "agents write other things";
    pod_.annotations = row.then;
    EXPECT_EQ(resolve(), "unset mismatch");
    EXPECT_EQ(resolve(), "unset mismatch again");
    pod_.annotations = {};
    EXPECT_EQ(resolve(), "unset mismatch");
    pod_.annotations = row.first;
    EXPECT_EQ(resolve(), "card 1");
    EXPECT_FALSE(resolver_.mismatched());
  }
}

TEST_F(AssignmentResolverTest, AnAgentMayGiveOtherCardsThanWereChosenOnce) {
  speak("nvidia.com/vgpu-number", "1");
  pod_.annotations = {{"nvidia.com/pre-allocated", "main[1_GPU-1_100_81920]"}};
  EXPECT_EQ(resolve(), "card 1");
  pod_.annotations["nvidia.com/real-allocated"] = "main[2_GPU-2_100_81920]";
  EXPECT_EQ(resolve(), "card 2");
  pod_.annotations.erase("nvidia.com/pre-allocated");
  EXPECT_EQ(resolve(), "card 2") << "what was chosen before says nothing more";
  pod_.annotations["nvidia.com/real-allocated"] = "main[3_GPU-3_100_81920]";
  EXPECT_EQ(resolve(), "unset mismatch");
}

// A node that loses cards makes the text unreadable, although the text was not edited.
TEST_F(AssignmentResolverTest, ANodeThatChangesIsNoMismatch) {
  name_card(3);
  EXPECT_EQ(resolve(), "card 3");
  node_ = node_with(2);
  EXPECT_EQ(resolve(), "unset unread");
  EXPECT_FALSE(resolver_.mismatched());
  node_ = node_with(4);
  std::swap(node_.cards[0], node_.cards[3]);
  EXPECT_EQ(resolve(), "card 0") << "the same card, at another position";
}

TEST_F(AssignmentResolverTest, ItIsSmall) { EXPECT_LE(sizeof(AssignmentResolver), 32U); }

}  // namespace
}  // namespace stowage::scheduler
