#include "agent/plugin_view.h"

#include <optional>

#include <gtest/gtest.h>

#include "agent/testing/fake_kubelet.h"
#include "agent/testing/pod_messages.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fixed_keys.h"

namespace stowage::agent {
namespace {

using kube::testing::FakeApiServer;
using kube::testing::reply;
using kube::testing::run_until;

TEST(HoldersIn, OnlyOurResourcesWithAllTheirDevices) {
  const std::vector<PodDevices> pods{
      {.pod = {.ns = "ml", .name = "p"},
       .containers = {
           {.name = "a",
            .devices = {{.resource = "nvidia.com/gpu", .ids = {"GPU-1"}},
                        {.resource = "stowage.dev/attachment", .ids = {"b"}, .numa = {1}},
                        {.resource = "stowage.dev/attachment", .ids = {"a", "b"}, .numa = {0}}}},
           {.name = "b", .devices = {{.resource = "stowage.dev/init-attachment", .ids = {"c"}}}},
           {.name = "c", .devices = {{.resource = "stowage.dev/gpu", .ids = {"d"}}}}}}};
  EXPECT_EQ(holders_in(pods),
            (std::vector<plugin::Holder>{{.ns = "ml",
                                          .pod = "p",
                                          .container = "a",
                                          .resource = "stowage.dev/attachment",
                                          .ids = {"a", "b"}},
                                         {.ns = "ml",
                                          .pod = "p",
                                          .container = "b",
                                          .resource = "stowage.dev/init-attachment",
                                          .ids = {"c"}}}));
}

TEST(NodeCards, HaveTheNumbersOfACdiSpecification) {
  CardsSnapshot snapshot;
  EXPECT_FALSE(node_cards(snapshot).known);
  snapshot.trouble = "no driver";
  EXPECT_EQ(node_cards(snapshot).trouble, "the cards of the node cannot be read: no driver");
  snapshot.known = true;
  snapshot.inventory.cards = {
      {.id = "GPU-a", .index = 3, .minor = 5},
      {.id = "MIG-b", .index = 4, .mig = gpu::Mig{.parent = "GPU-c", .position = 2}}};
  const plugin::NodeCards cards = node_cards(snapshot);
  EXPECT_TRUE(cards.known);
  ASSERT_EQ(cards.names.size(), 2U);
  EXPECT_EQ(cards.names[0].number, "3");
  EXPECT_EQ(cards.names[0].device_minor, 5);
  EXPECT_EQ(cards.names[1].number, "4:2");
  EXPECT_FALSE(cards.names[1].device_minor);
}

class PluginViewTest : public ::testing::Test {
 protected:
  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::unique_ptr<kube::ApiClient> client_ = server_.client();
  base::Log log_{{.write = [](std::string_view) {}}};
  NodePods pods_{*client_, "n1", 1, log_};
  kube::testing::FixedKeys keys_{kube::testing::keys_from_seed("a")};
  testing::FakeKubelet kubelet_;
  PodResources resources_{loop_, kubelet_, {}};
  PluginView view_{
      {.client = *client_, .pods = pods_, .keys = keys_, .resources = &resources_, .cards = [] {
         return plugin::NodeCards{};
       }}};
};

// A list that has begun may be older than what the caller knows.
TEST_F(PluginViewTest, CallersDuringAListShareTheNextOne) {
  std::vector<std::size_t> answers;
  const auto list = [&] {
    view_.list_holders([&](const Result<std::vector<plugin::Holder>>& holders) {
      answers.push_back(holders ? holders->size() : 99);
    });
  };
  list();
  list();
  list();
  EXPECT_EQ(kubelet_.total(), 1U);
  kubelet_.answer("");
  EXPECT_EQ(answers, (std::vector<std::size_t>{0}));
  EXPECT_EQ(kubelet_.total(), 2U);
  kubelet_.answer(testing::pod(
      "ml", "p", testing::container("a", testing::devices("stowage.dev/attachment", {"x"}))));
  EXPECT_EQ(answers, (std::vector<std::size_t>{0, 1, 1}));
  list();
  kubelet_.fail(grpc::Code::unavailable, "gone");
  EXPECT_EQ(answers.back(), 99U);
  EXPECT_EQ(kubelet_.total(), 3U);
}

TEST_F(PluginViewTest, APodIsReadByItsName) {
  server_.script("GET", "/api/v1/namespaces/ml/pods/p",
                 {reply(200, R"({"kind":"Pod","metadata":{"namespace":"ml","name":"p","uid":"u"},)"
                             R"("spec":{"containers":[{"name":"main"}]}})"),
                  reply(403, R"({"kind":"Status","code":403,"message":"no"})")});
  std::optional<Result<dialect::PodObject>> pod;
  const auto fetch = [&] {
    pod.reset();
    view_.fetch_pod({.ns = "ml", .name = "p"}, [&](auto result) { pod = std::move(result); });
    EXPECT_TRUE(run_until(loop_, [&] { return pod.has_value(); }));
  };
  fetch();
  ASSERT_TRUE(*pod) << pod->error().message;
  EXPECT_EQ((*pod)->uid, "u");
  fetch();
  EXPECT_FALSE(*pod);
}

}  // namespace
}  // namespace stowage::agent
