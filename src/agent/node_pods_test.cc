#include "agent/node_pods.h"

#include <gtest/gtest.h>

#include "agent/usage.h"
#include "kube/testing/fake_api_server.h"

namespace stowage::agent {
namespace {

using kube::testing::FakeApiServer;
using kube::testing::refuse;
using kube::testing::reply;
using kube::testing::run_until;
using kube::testing::StreamEnd;

constexpr const char* kPods = "/api/v1/pods";

std::vector<core::Card> two_cards() {
  return {{.id = "GPU-a", .index = 0, .memory_mib = 1000},
          {.id = "GPU-b", .index = 1, .memory_mib = 1000}};
}

// Half of card 1, as the controller binds it.
std::string half(const std::string& name, const std::string& phase = "Running") {
  return R"({"metadata":{"namespace":"ml","name":")" + name + R"(","uid":"uid-)" + name +
         R"(","resourceVersion":"5","annotations":{"stowage.dev/gpus":)"
         R"("{\"version\":1,\"node\":\"n1\",\"containers\":{\"main\":[{\"id\":\"GPU-b\",)"
         R"(\"index\":1,\"milli\":500,\"memoryMiB\":400}]}}"}},"spec":{"nodeName":"n1",)"
         R"("schedulerName":"stowage","containers":[{"name":"main","resources":{"limits":)"
         R"({"stowage.dev/gpu-core":"50","stowage.dev/gpu-memory":"400"},"requests":)"
         R"({"stowage.dev/gpu-core":"50","stowage.dev/gpu-memory":"400"}}}]},)"
         R"("status":{"phase":")" +
         phase + R"(","containerStatuses":[{"name":"main","containerID":"containerd://id-)" + name +
         R"("}]}})";
}

std::string list_of(const std::string& items) {
  return R"({"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[)" + items + "]}";
}

struct NodePodsTest : ::testing::Test {
  void serve(const std::vector<FakeApiServer::Answer>& answers) {
    server.script("GET", kPods, answers);
    pods.start();
  }

  net::EventLoop loop;
  FakeApiServer server{loop};
  std::unique_ptr<kube::ApiClient> client = server.client();
  std::string logged;
  base::Log log{{.write = [this](std::string_view line) { logged += line; }}};
  NodePods pods{*client, "n1", 1, log};
};

TEST_F(NodePodsTest, KnowsWhatWasGivenAndWhoseAContainerIs) {
  serve({reply(200, list_of(half("p") + "," + half("done", "Succeeded"))),
         server.stream({}, StreamEnd::open)});
  ASSERT_TRUE(run_until(loop, [&] { return pods.trouble().empty(); }));
  EXPECT_EQ(server.seen("GET", kPods).at(0).query("fieldSelector"), "spec.nodeName=n1");
  EXPECT_EQ(server.seen("GET", kPods).at(0).query("resourceVersion"), "0") << "from its cache";
  const Given given = pods.given(two_cards());
  EXPECT_EQ(given.cards,
            (std::map<std::string, CardGiven>{{"GPU-b", {.milli = 500, .memory_mib = 400}}}));
  EXPECT_EQ(given.grants, (std::vector<Grant>{{.ns = "ml",
                                               .pod = "p",
                                               .container = "main",
                                               .card = "GPU-b",
                                               .milli = 500,
                                               .memory_mib = 400}}));
  ASSERT_NE(pods.container("id-p"), nullptr);
  EXPECT_EQ(*pods.container("id-p"), (ContainerName{.ns = "ml", .pod = "p", .container = "main"}));
  EXPECT_EQ(pods.container("id-done"), nullptr);
  EXPECT_TRUE(pods.given({}).grants.empty()) << "cards that the node has no more";
}

TEST_F(NodePodsTest, FollowsPodsThatComeAndGo) {
  serve({reply(200, list_of(half("p"))),
         server.stream({R"({"type":"ADDED","object":)" + half("q") + "}\n" +
                        R"({"type":"DELETED","object":)" + half("p") + "}\n"},
                       StreamEnd::open)});
  ASSERT_TRUE(run_until(loop, [&] { return pods.container("id-q") != nullptr; }));
  EXPECT_EQ(pods.container("id-p"), nullptr);
  EXPECT_EQ(pods.size(), 1U);
}

TEST_F(NodePodsTest, SaysThatItMayNotLook) {
  serve({refuse(403, "Forbidden", "pods are not yours")});
  ASSERT_TRUE(run_until(loop, [&] { return logged.find("limits of containers") < logged.size(); }));
  EXPECT_NE(pods.trouble().find("403"), std::string::npos) << pods.trouble();
}

TEST(Usage, AddsUpByContainerAndCard) {
  const ContainerName main{.ns = "ml", .pod = "p", .container = "main"};
  std::vector<gpu::CardSample> samples(3);
  samples[0].id = "GPU-a";
  samples[0].processes = {{.pid = 1, .memory_mib = 100}, {.pid = 2, .memory_mib = 50}};
  samples[1].id = "GPU-b";
  samples[1].processes = {{.pid = 1, .memory_mib = 10}, {.pid = 9}};
  samples[2].id = "GPU-c";  // does not report it
  const auto usage =
      usage_of(samples, [&](std::uint32_t pid) { return pid == 9 ? nullptr : &main; });
  EXPECT_EQ(usage,
            (std::vector<Usage>{{.who = {}, .card = "GPU-b", .memory_mib = 0, .processes = 1},
                                {.who = main, .card = "GPU-a", .memory_mib = 150, .processes = 2},
                                {.who = main, .card = "GPU-b", .memory_mib = 10, .processes = 1}}));
}

}  // namespace
}  // namespace stowage::agent
