#include "scheduler/kubelet_allocations.h"

#include <variant>

#include <gtest/gtest.h>

namespace stowage::scheduler {
namespace {

dialect::NodeObject node_object(const std::string& name) {
  dialect::NodeObject node;
  node.name = name;
  node.annotations[std::string(dialect::kInventoryAnnotation)] = dialect::inventory_text(
      {{.id = "GPU-0", .index = 0, .memory_mib = 1000}, {.id = "GPU-1", .index = 1}}, {});
  node.allocatable = {{"nvidia.com/gpu", *base::Quantity::parse("2")}};
  node.capacity = node.allocatable;
  return node;
}

class KubeletAllocationsTest : public ::testing::Test {
 protected:
  KubeletAllocationsTest() {
    event_queue_.open();
    (void)nodes_.update(node_object("n"));
    bind("u");
  }

  // A pod ns/p of this uid is bound to n. Its cards are unknown.
  void bind(const std::string& uid) {
    PodCache::Entry& entry = pods_.add(uid, "ns/p");
    pods_.bind(entry, {.ns = "ns", .name = "p", .uid = uid, .node = "n"});
    const core::PodSpec spec{.uid = uid, .containers = {{.name = "main", .gpu = {.count = 1}}}};
    kubelets_.cards().set_cards(entry.cards,
                                {.spec = spec, .node = entry.node, .cards = std::nullopt});
  }
  // "u GPU-1;": the cards named since the last call.
  std::string named() {
    std::string text;
    const auto taken = event_queue_.take_now(1000);
    for (const auto& message : *taken) {
      const auto& cards = std::get<core::CardsNamed>(std::get<core::Event>(message));
      text += cards.uid + " " + cards.cards.containers.at(0).at(0).card + ";";
    }
    return text;
  }

  base::Instant now_{5};
  EventQueue event_queue_;
  std::vector<Notice> notices_;
  OnNotice on_notice_ = [this](const Notice& notice) { notices_.push_back(notice); };
  NodeCache nodes_;
  PodCache pods_;
  KubeletAllocations kubelets_{
      [this] { return now_; },
      {.pods = pods_, .nodes = nodes_, .event_queue = event_queue_, .on_notice = on_notice_}};
};

TEST_F(KubeletAllocationsTest, SendsTheCardsOfAPodOnThisNode) {
  kubelets_.set("n", "ns/p", {{"main", {"GPU-1"}}});
  EXPECT_EQ(named(), "u GPU-1;");
  EXPECT_TRUE(notices_.empty());
}

TEST_F(KubeletAllocationsTest, IgnoresUnknownPodsAndPodsOfOtherNodes) {
  kubelets_.set("m", "ns/p", {{"main", {"GPU-1"}}});
  kubelets_.set("n", "ns/unknown", {{"main", {"GPU-1"}}});
  EXPECT_EQ(named(), "");
}

TEST_F(KubeletAllocationsTest, ReportsADeviceMismatchOnce) {
  PodCache::Entry& entry = *pods_.find("u");
  const std::optional<core::NamedAssignment> assigned{{{{{.card = "GPU-0", .milli = 1000}}}}};
  kubelets_.cards().set_cards(entry.cards, {.spec = {}, .node = entry.node, .cards = assigned});
  kubelets_.set("n", "ns/p", {{"main", {"GPU-1"}}});
  kubelets_.compare(entry);
  EXPECT_EQ(named(), "");
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_EQ(notices_[0].kind, Notice::Kind::device_mismatch);
  EXPECT_EQ(notices_[0].ns + "/" + notices_[0].name, "ns/p");
}

TEST_F(KubeletAllocationsTest, ConfirmsAReportThatIsRepeatedAfterThePodWasReplaced) {
  kubelets_.cards().set_agent_silent("n", false);
  kubelets_.set("n", "ns/p", {{"main", {"GPU-1"}}});
  (void)named();
  kubelets_.cards().forget(pods_.find("u")->cards);
  pods_.erase("u");
  bind("v");
  kubelets_.set("n", "ns/p", {{"main", {"GPU-1"}}});
  kubelets_.confirm();
  EXPECT_EQ(named(), "") << "it may be about the old pod";
  now_.ns += 61'000'000'000;
  kubelets_.confirm();
  EXPECT_EQ(named(), "v GPU-1;");
}

TEST_F(KubeletAllocationsTest, ConfirmsNothingForAPodThatIsGone) {
  kubelets_.cards().set_agent_silent("n", false);
  kubelets_.set("n", "ns/p", {{"main", {"GPU-1"}}});
  pods_.erase("u");
  bind("v");
  kubelets_.compare(*pods_.find("v"));
  pods_.erase("v");
  (void)named();
  now_.ns += 61'000'000'000;
  kubelets_.confirm();
  EXPECT_EQ(named(), "");
}

}  // namespace
}  // namespace stowage::scheduler
