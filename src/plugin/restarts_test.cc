// What restarts of the kubelet, the agent and containers must not change.
#include "net/byte_stream.h"
#include "plugin/testing/plugin_fixture.h"

namespace stowage::plugin {
namespace {

class RestartsTest : public testing::PluginFixture {};

TEST_F(RestartsTest, ARestartOfTheContainerOrTheAgentGivesTheSameCards) {
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  ASSERT_EQ(allocate(container("p")), "");
  EXPECT_EQ(run(container("p")), "GPU-3");
  const std::string before = spec_of(start_container(container("p")));
  plugin_.reset();
  start_plugin();
  ASSERT_TRUE(until([&] { return registered(); }));
  node_.pods_.clear();  // the API server is away
  const auto started = start_container(container("p"));
  EXPECT_EQ(started.error, "");
  EXPECT_EQ(spec_of(started), before);
}

TEST_F(RestartsTest, AnAgentThatWasKilledInAnyStepGivesTheSameCards) {
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  ASSERT_EQ(allocate(container("p")), "");
  plugin_.reset();  // between Allocate and PreStartContainer
  start_plugin();
  ASSERT_TRUE(until([&] { return registered(); }));
  options_.pre_start.settle = std::chrono::hours{1};
  plugin_.reset();  // between the specification and its answer
  start_plugin();
  ASSERT_TRUE(until([&] { return registered(); }));
  bool answered = false;
  kubelet_.pre_start(container("p"), [&](const Started&) { answered = true; });
  ASSERT_TRUE(until([&] { return specs() == 1; }));
  EXPECT_FALSE(answered);
  options_.pre_start.settle = std::chrono::milliseconds{30};
  plugin_.reset();
  start_plugin();
  ASSERT_TRUE(until([&] { return registered(); }));
  EXPECT_EQ(run(container("p")), "GPU-3");
  std::filesystem::remove_all(folder_.path("cdi"));  // the machine has started again
  EXPECT_EQ(run(container("p")), "GPU-3");
}

TEST_F(RestartsTest, AKubeletThatStartsAgainIsRegisteredWithAtOnce) {
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  node_.bind("q", {{"main", {"GPU-4"}}});
  ASSERT_EQ(allocate(container("p")), "");
  ASSERT_EQ(allocate(container("q")), "");
  EXPECT_EQ(run(container("p")), "GPU-3");
  const auto sockets = kubelet_.endpoints();
  kubelet_.stop();
  ASSERT_TRUE(until([&] { return !plugin_->registered(); }));
  kubelet_.start();
  // It does not ask before a start until we have registered: what was answered before must hold.
  const auto skipped = start_container(container("p"));
  EXPECT_TRUE(skipped.skipped);
  EXPECT_EQ(cards_of(skipped), "GPU-3");
  const auto too_early = start_container(container("q"));
  EXPECT_TRUE(too_early.skipped);
  EXPECT_EQ(spec_of(too_early).find("unresolvable"), 0U);  // fails, and is repeated
  const net::Moment began = net::clock_now();
  ASSERT_TRUE(until([&] { return registered(); }));
  EXPECT_LT(net::clock_now() - began, std::chrono::seconds{2});
  EXPECT_EQ(run(container("q")), "GPU-4");
  EXPECT_EQ(kubelet_.endpoints().size(), sockets.size() + 2);
  EXPECT_NE(kubelet_.endpoints().back(), sockets.back());
}

TEST_F(RestartsTest, AKubeletThatIsReplacedWithoutAPauseIsNoticed) {
  start_both();
  for (int i = 0; i < 3; ++i) {
    const int before = kubelet_.registrations();
    const std::uint64_t attempts = plugin_->snapshot().resources[0].attempts;
    kubelet_.stop();
    // Takes the inode of the socket, so that the new one has another.
    std::ofstream(folder_.path("plugins") + "/file" + std::to_string(i)) << "x";
    kubelet_.start();
    ASSERT_TRUE(until([&] { return kubelet_.registrations() >= before + 2 && registered(); }));
    net::testing::run_for(loop_, std::chrono::milliseconds{50});
    EXPECT_TRUE(registered());
    EXPECT_EQ(kubelet_.registrations(), before + 2);  // once for each resource
    EXPECT_EQ(plugin_->snapshot().resources[0].attempts, attempts + 1);
  }
}

// Until 1.36, the end of an old stream disconnects whoever has the resource by then.
TEST_F(RestartsTest, AStreamThatEndsIsReplacedWithoutALoss) {
  start_both();
  for (int i = 0; i < 3; ++i) {
    kubelet_.drop_stream("stowage.dev/attachment");
    ASSERT_TRUE(until([&] { return !plugin_->registered(); }));
    ASSERT_TRUE(until([&] { return registered(); }));
    net::testing::run_for(loop_, std::chrono::milliseconds{100});
    EXPECT_TRUE(registered());
  }
}

TEST_F(RestartsTest, WithoutAStreamItRegistersAgain) {
  kubelet_.ignore_streams(true);
  kubelet_.start();
  start_plugin();
  ASSERT_TRUE(until([&] { return kubelet_.registrations() >= 4; }));
  EXPECT_FALSE(plugin_->registered());
  kubelet_.ignore_streams(false);
  ASSERT_TRUE(until([&] { return registered(); }));
}

TEST_F(RestartsTest, ARefusalIsToldAndTriedAgain) {
  kubelet_.refuse_registrations("the resource name is invalid");
  kubelet_.start();
  start_plugin();
  ASSERT_TRUE(until([&] { return kubelet_.registrations() >= 4; }));
  EXPECT_EQ(plugin_->trouble(),
            "stowage.dev/attachment: the kubelet does not register the plugin: UNKNOWN: the "
            "resource name is invalid");
  kubelet_.refuse_registrations("");
  ASSERT_TRUE(until([&] { return registered(); }));
  EXPECT_GT(changes_, 0);
}

class NewKubeletTest : public testing::PluginFixture {
 protected:
  NewKubeletTest() { kubelet_.set_rules(testing::FakeKubelet::Rules::by_socket); }
};

// From 1.37 on, a socket that is still connected is refused.
TEST_F(NewKubeletTest, EveryRegistrationHasASocketOfItsOwn) {
  start_both();
  plugin_.reset();
  start_plugin();
  ASSERT_TRUE(until([&] { return registered(); }));
  kubelet_.drop_stream("stowage.dev/attachment");
  ASSERT_TRUE(until([&] { return !plugin_->registered(); }));
  ASSERT_TRUE(until([&] { return registered(); }));
  auto sockets = kubelet_.endpoints();
  std::sort(sockets.begin(), sockets.end());
  EXPECT_EQ(std::adjacent_find(sockets.begin(), sockets.end()), sockets.end());
}

TEST_F(RestartsTest, TheKubeletMayComeLater) {
  std::filesystem::remove_all(folder_.path("plugins"));
  start_plugin();
  EXPECT_NE(logged_.find("the kubelet's socket does not exist"), std::string::npos);
  net::testing::run_for(loop_, std::chrono::milliseconds{50});
  std::filesystem::create_directory(folder_.path("plugins"));
  kubelet_.start();
  ASSERT_TRUE(until([&] { return registered(); }));
}

TEST_F(RestartsTest, SocketsOfEarlierStartsAreRemoved) {
  const std::string old = folder_.path("plugins") + "/stowage-attachment-0123456789ab-1.sock";
  const auto left = net::UnixListener::listen(loop_, {.path = old}, [](auto) {});
  ASSERT_TRUE(left);
  start_plugin();
  EXPECT_FALSE(std::filesystem::exists(old));
}

// ---- the same devices for another pod

TEST_F(RestartsTest, TheNextPodWithTheseDevicesHasItsOwnName) {
  options_.devices = 1;
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  node_.bind("q", {{"main", {"GPU-4"}}});
  ASSERT_EQ(allocate(container("p")), "");
  const auto first = start_container(container("p"));
  kubelet_.end_pod("uid-p");
  ASSERT_EQ(allocate(container("q")), "");
  const auto second = start_container(container("q"));
  EXPECT_NE(first.cdi_devices, second.cdi_devices);
  EXPECT_EQ(cards_of(first), "GPU-3");
  EXPECT_EQ(cards_of(second), "GPU-4");
}

// A pod that has ended may stay in the file beside its successor.
TEST_F(RestartsTest, APodThatHasEndedDoesNotHinderItsSuccessor) {
  options_.devices = 1;
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  node_.bind("q", {{"main", {"GPU-4"}}});
  ASSERT_EQ(allocate(container("p")), "");
  EXPECT_EQ(run(container("p")), "GPU-3");
  const testing::StoredEntry old = kubelet_.stored().at(0);
  kubelet_.end_pod("uid-p");
  ASSERT_EQ(allocate(container("q")), "");
  kubelet_.write(testing::checkpoint_text({old, kubelet_.stored().at(0)}));
  node_.pods_.erase("uid-p");
  EXPECT_EQ(run(container("q")), "GPU-4");
}

// ---- the sweep

TEST_F(RestartsTest, WhatBelongedToPodsThatAreGoneIsRemoved) {
  options_.sweep_every = std::chrono::milliseconds{20};
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  node_.bind("q", {{"main", {"GPU-4"}}});
  ASSERT_EQ(allocate(container("p")), "");
  ASSERT_EQ(allocate(container("q")), "");
  ASSERT_EQ(run(container("p")), "GPU-3");
  ASSERT_EQ(run(container("q")), "GPU-4");
  net::testing::run_for(loop_, std::chrono::milliseconds{100});
  EXPECT_EQ(specs(), 2U);
  node_.pods_.erase("uid-p");  // gone from the API server, but not from the kubelet
  net::testing::run_for(loop_, std::chrono::milliseconds{100});
  EXPECT_EQ(specs(), 2U);
  kubelet_.end_pod("uid-p");
  kubelet_.write("not a checkpoint");
  net::testing::run_for(loop_, std::chrono::milliseconds{100});
  EXPECT_EQ(specs(), 2U);
  kubelet_.write_checkpoint();
  ASSERT_TRUE(until([&] { return specs() == 1; }));
  EXPECT_EQ(run(container("q")), "GPU-4");
  EXPECT_EQ(plugin_->snapshot().records, 1U);
  // A pod that was allocated and then refused: its name goes after a while.
  ASSERT_EQ(allocate(container("r")), "");
  kubelet_.end_pod("uid-r");
  kubelet_.write_checkpoint();
  net::testing::run_for(loop_, std::chrono::milliseconds{100});
  EXPECT_EQ(plugin_->snapshot().records, 2U);
  now_unix_ += 301;
  ASSERT_TRUE(until([&] { return plugin_->snapshot().records == 1; }));
}

TEST_F(RestartsTest, AfterTheLossOfTheStateAPodIsRefusedWithASentence) {
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  ASSERT_EQ(allocate(container("p")), "");
  plugin_.reset();
  std::filesystem::remove_all(folder_.path("state"));
  start_plugin();
  ASSERT_TRUE(until([&] { return registered(); }));
  EXPECT_NE(run(container("p")).find("its state was lost; delete the pod"), std::string::npos);
  EXPECT_EQ(specs(), 0U);
}

TEST_F(RestartsTest, AFolderThatCannotBeWrittenIsTold) {
  start_both();
  node_.bind("p", {{"main", {"GPU-3"}}});
  ASSERT_EQ(allocate(container("p")), "");
  std::filesystem::remove_all(folder_.path("cdi"));
  std::ofstream(folder_.path("cdi")) << "a file";
  EXPECT_NE(run(container("p")).find("cannot create the folder"), std::string::npos);
  std::filesystem::remove(folder_.path("cdi"));
  EXPECT_EQ(run(container("p")), "GPU-3");
}

}  // namespace
}  // namespace stowage::plugin
