#include "scheduler/pre_allocation_reaper.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json_writer.h"
#include "dialect/dialect.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fixed_keys.h"

namespace stowage::scheduler {
namespace {

using kube::testing::FakeApiServer;
using kube::testing::refuse;
using kube::testing::reply;
using kube::testing::run_for;
using kube::testing::run_until;
using std::chrono::milliseconds;

constexpr const char* kPath = "/api/v1/namespaces/ns/pods/p";

std::string pod_json(const std::string& uid, const std::string& node) {
  return fmt::format(
      R"({{"metadata":{{"namespace":"ns","name":"p","uid":"{}","resourceVersion":"7"}},)"
      R"("spec":{{"nodeName":"{}","schedulerName":"other","containers":[{{"name":"c"}}]}}}})",
      uid, node);
}

// On no node, with a pre-allocation on it.
std::string pre_allocated_json(const std::string& version, const std::string& condition = "") {
  return fmt::format(
      R"({{"metadata":{{"namespace":"ns","name":"p","uid":"u","resourceVersion":"{}",)"
      R"("annotations":{{"tencent.com/predicate-node":"n","tencent.com/predicate-gpu-idx-0":"1",)"
      R"("stowage.dev/gpus":"{{}}","mine":"stays"}}}},"spec":{{"schedulerName":"other",)"
      R"("containers":[{{"name":"c","resources":{{"limits":{{"tencent.com/vcuda-core":)"
      R"("100"}}}}}}]}},)"
      R"("status":{{"conditions":[{}]}}}})",
      version, condition);
}

// The same with a signed pre-allocation of the first card of the node.
std::string signed_json(const kube::Keyring& keys, const core::NodeSpec& node) {
  dialect::PodObject pod{.ns = "ns", .name = "p", .uid = "u", .scheduler = "other"};
  dialect::ContainerObject container{.name = "c"};
  container.limits = {{"tencent.com/vcuda-core", *base::Quantity::parse("100")}};
  container.requests = container.limits;
  pod.containers = {container};
  auto answer = dialect::answer({.object = pod,
                                 .pod = *dialect::to_spec(pod, {}),
                                 .node = node,
                                 .cards = {.containers = {{{.card = 0, .milli = 1000}}}},
                                 .unix_nanos = 1})
                    .annotations;
  kube::seal(
      keys,
      {.object = pod, .node = "n", .purpose = dialect::Purpose::pre_allocation, .unix_nanos = 1},
      answer);
  base::JsonWriter json(base::JsonWriter::Style::compact);
  json.begin_object();
  for (const auto& [key, text] : answer) json.key(key).value(text);
  json.end_object();
  return fmt::format(
      R"({{"metadata":{{"namespace":"ns","name":"p","uid":"u","resourceVersion":"7",)"
      R"("annotations":{}}},"spec":{{"schedulerName":"other","containers":[{{"name":"c",)"
      R"("resources":{{"limits":{{"tencent.com/vcuda-core":"100"}}}}}}]}}}})",
      json.take());
}

constexpr const char* kRefusedAt20 =
    R"({"type":"PodScheduled","status":"False","reason":"SchedulerError",)"
    R"("lastTransitionTime":"1970-01-01T00:00:20Z"})";
constexpr std::int64_t kSecond = 1'000'000'000;

class PreAllocationReaperTest : public ::testing::Test {
 protected:
  PreAllocationReaperTest() {
    dialect::PodObject pod{.ns = "ns", .name = "p", .uid = "u", .scheduler = "other"};
    pod.containers = {dialect::ContainerObject{.name = "c"}};
    cluster_cache_.upsert_pod(pod);
  }

  void watch(net::Duration lasts = {}) {
    reaper_.watch({.uid = "u",
                   .pod = {.ns = "ns", .name = "p"},
                   .made = 10 * kSecond,
                   .until = loop_.now() + lasts});
  }
  std::string events() {
    std::string text;
    const auto taken = event_queue_.take_now(100);
    for (const auto& message : *taken) {
      const auto& event = std::get<core::Event>(message);
      if (std::holds_alternative<core::HoldEnded>(event)) text += "ended;";
      if (std::holds_alternative<core::PodGone>(event)) text += "gone;";
      if (const auto* e = std::get_if<core::PodSeenBound>(&event)) text += "on " + e->node + ";";
    }
    return text;
  }
  // What the engine gets if the server answers so.
  std::string told(FakeApiServer::Answer answer) {
    server_.script("GET", kPath, {std::move(answer)});
    watch();
    EXPECT_TRUE(run_until(loop_, [&] { return reaper_.size() == 0; }));
    return events();
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::unique_ptr<kube::ApiClient> client_ = server_.client();
  kube::PodAccess pods_{*client_};
  EventQueue event_queue_;
  ClusterCache cluster_cache_{
      built_in_profiles(),
      event_queue_,
      [](const Notice& /*unused*/) {},
      {.unix_nanos = [] { return std::int64_t{0}; }, .now = [] { return base::Instant{}; }}};
  PreAllocationReaper reaper_{
      {.look_every = milliseconds{2}, .again = milliseconds{20}},
      {.cluster_cache = cluster_cache_, .event_queue = event_queue_, .pods = pods_, .loop = loop_}};
};

TEST_F(PreAllocationReaperTest, AHoldEndsByWhatThePodIsLikeThen) {
  EXPECT_EQ(told(reply(200, pod_json("u", ""))), "ended;");
  EXPECT_EQ(told(reply(200, pod_json("another", "n"))), "gone;");
  EXPECT_EQ(told(kube::testing::not_found("pods", "p")), "gone;");
  EXPECT_EQ(told(reply(200, pod_json("u", "n"))), "on n;") << "bound, and we had not heard of it";
}

// The watch was broken: kube-scheduler asked about the pod, which came and went meanwhile.
TEST_F(PreAllocationReaperTest, APodThatAListLacksIsLookedUp) {
  watch(std::chrono::hours{1});
  reaper_.listed();
  run_for(loop_, milliseconds{10});
  EXPECT_TRUE(server_.seen().empty()) << "the roster has it";
  cluster_cache_.remove_pod("u");
  (void)events();
  server_.script("GET", kPath, {kube::testing::not_found("pods", "p")});
  reaper_.listed();
  ASSERT_TRUE(run_until(loop_, [&] { return reaper_.size() == 0; }));
  EXPECT_EQ(events(), "gone;");
}

TEST_F(PreAllocationReaperTest, APodThatIsNewerThanTheListKeepsItsCards) {
  watch(std::chrono::hours{1});
  cluster_cache_.remove_pod("u");
  server_.script("GET", kPath, {reply(200, pre_allocated_json("7"))});
  reaper_.listed();
  ASSERT_TRUE(run_until(loop_, [&] { return !server_.seen().empty(); }));
  run_for(loop_, milliseconds{10});
  EXPECT_EQ(reaper_.size(), 1U);
}

TEST_F(PreAllocationReaperTest, ItIsNotLookedUpBeforeItsTimeAndUntilThereIsAnAnswer) {
  server_.script("GET", kPath, {refuse(403, "Forbidden", "no"), reply(200, pod_json("u", ""))});
  watch(milliseconds{50});
  run_for(loop_, milliseconds{10});
  EXPECT_TRUE(server_.seen().empty());
  ASSERT_TRUE(run_until(loop_, [&] { return reaper_.size() == 0; }));
  EXPECT_EQ(server_.seen().size(), 2U);
  EXPECT_EQ(events(), "ended;");
}

// kube-scheduler may bind the pod by its annotation: other pods get the cards only after it is
// removed.
TEST_F(PreAllocationReaperTest, APreAllocationIsTakenOffThePodBeforeItsCardsAreGiven) {
  server_.script("GET", kPath, {reply(200, pre_allocated_json("7"))});
  server_.script("PATCH", kPath, {server_.hold()});
  watch();
  ASSERT_TRUE(run_until(loop_, [&] { return !server_.held().empty(); }));
  const auto patch = server_.seen("PATCH", kPath).at(0);
  EXPECT_EQ(
      patch.body,
      R"({"metadata":{"uid":"u","resourceVersion":"7","annotations":{"stowage.dev/gpus":null,)"
      R"("tencent.com/predicate-gpu-idx-0":null,"tencent.com/predicate-node":null}}})");
  EXPECT_EQ(events(), "") << "not before it is done";
  server_.held().front()->send({.status = 200, .headers = {}, .body = "{}"});
  ASSERT_TRUE(run_until(loop_, [&] { return reaper_.size() == 0; }));
  EXPECT_EQ(events(), "ended;");
  EXPECT_EQ(reaper_.taken_off(), 1U);
}

// The author of the pod could remove it as well: other replicas rely on the signature.
TEST_F(PreAllocationReaperTest, ThatItWasTakenOffIsSigned) {
  const kube::Keys keys = kube::testing::keys_from_seed("ours");
  ASSERT_FALSE(cluster_cache_.use_keys(keys));
  server_.script("GET", kPath, {reply(200, pre_allocated_json("7"))});
  server_.script("PATCH", kPath, {reply(200, "{}")});
  watch();
  ASSERT_TRUE(run_until(loop_, [&] { return reaper_.size() == 0; }));
  const std::string body = server_.seen("PATCH", kPath).at(0).body;
  const std::string key = R"("stowage.dev/signature":")";
  const auto at = body.find(key);
  ASSERT_NE(at, std::string::npos) << body;
  const auto begin = at + key.size();
  dialect::PodObject pod{.uid = "u"};
  pod.annotations["stowage.dev/signature"] = body.substr(begin, body.find('"', begin) - begin);
  EXPECT_TRUE(kube::withdrawn_at(*keys, pod)) << body;
}

TEST_F(PreAllocationReaperTest, ABindThatCameBeforeThePreAllocationWasTakenOffWins) {
  server_.script("GET", kPath,
                 {reply(200, pre_allocated_json("7")), reply(200, pod_json("u", "n"))});
  server_.script("PATCH", kPath, {refuse(409, "Conflict", "the object has been modified")});
  watch();
  ASSERT_TRUE(run_until(loop_, [&] { return reaper_.size() == 0; }));
  EXPECT_EQ(events(), "on n;");
  EXPECT_EQ(server_.seen("PATCH", kPath).size(), 1U) << "looked up again, not written again";
}

TEST_F(PreAllocationReaperTest, APatchWithAnUnknownEndIsLookedUp) {
  server_.script("GET", kPath,
                 {reply(200, pre_allocated_json("7")), reply(200, pod_json("u", ""))});
  server_.script("PATCH", kPath, {refuse(403, "Forbidden", "no")});
  watch();
  ASSERT_TRUE(run_until(loop_, [&] { return reaper_.size() == 0; }));
  EXPECT_EQ(events(), "ended;") << "no promise stands on it";
}

TEST_F(PreAllocationReaperTest, APreAllocationEndsEarlyWhenItsSchedulerHasGivenThePodUp) {
  server_.script("GET", kPath, {reply(200, pre_allocated_json("7", kRefusedAt20))});
  server_.script("PATCH", kPath, {reply(200, "{}")});
  watch(std::chrono::hours{1});
  dialect::PodObject pod{.ns = "ns", .name = "p", .uid = "u", .scheduler = "other"};
  pod.unscheduled_reason = "Unschedulable";
  for (const char* since : {"", "1970-01-01T00:00:09Z", "1970-01-01T00:00:10Z"}) {
    pod.unscheduled_since = since;
    reaper_.saw(pod);
  }
  run_for(loop_, milliseconds{20});
  EXPECT_TRUE(server_.seen().empty()) << "that was before, or nobody can tell";
  pod.unscheduled_since = "1970-01-01T00:00:20Z";
  reaper_.saw(pod);
  ASSERT_TRUE(run_until(loop_, [&] { return reaper_.size() == 0; }));
  EXPECT_EQ(events(), "ended;");
}

// A pre-allocation that names GPU-a, which was the node's card 0.
TEST_F(PreAllocationReaperTest, APreAllocationIsTakenOffWhenItsIndexesMeanOtherCards) {
  const kube::Keys keys = kube::testing::keys_from_seed("ours");
  ASSERT_FALSE(cluster_cache_.use_keys(keys));
  const auto see_cards = [&](const std::vector<std::string>& ids) {
    dialect::NodeObject node{.name = "n"};
    std::vector<core::Card> cards;
    for (const std::string& id : ids) {
      cards.push_back({.id = id, .index = static_cast<std::int32_t>(cards.size())});
    }
    node.allocatable = {{"pods", *base::Quantity::parse("110")}};
    node.annotations["stowage.dev/gpu-inventory"] = dialect::inventory_text(cards, {});
    cluster_cache_.upsert_node(node);
  };
  cluster_cache_.pre_allocations().on_other_cards(
      [&](const std::string& node) { reaper_.cards_changed(node); });
  see_cards({"GPU-a", "GPU-b"});
  server_.script("GET", kPath, {reply(200, signed_json(*keys, *cluster_cache_.nodes().find("n")))});
  server_.script("PATCH", kPath, {reply(200, "{}")});
  reaper_.watch({.uid = "u",
                 .pod = {.ns = "ns", .name = "p"},
                 .made = 10 * kSecond,
                 .until = loop_.now() + std::chrono::hours{1},
                 .node = "n"});
  see_cards({"GPU-a", "GPU-b", "GPU-c"});
  ASSERT_TRUE(run_until(loop_, [&] { return server_.seen("GET", kPath).size() == 1; }));
  run_for(loop_, milliseconds{20});
  EXPECT_EQ(reaper_.size(), 1U) << "it has the same index";
  see_cards({"GPU-b", "GPU-a"});
  ASSERT_TRUE(run_until(loop_, [&] { return reaper_.size() == 0; }));
  EXPECT_EQ(events(), "ended;");
  EXPECT_EQ(reaper_.taken_off(), 1U);
}

TEST_F(PreAllocationReaperTest, AKnownPreAllocationIsLookedUpSoonerIfItIsSaidToEndSooner) {
  server_.script("GET", kPath, {reply(200, pre_allocated_json("7"))});
  watch(std::chrono::hours{1});
  watch(std::chrono::hours{2});
  run_for(loop_, milliseconds{20});
  EXPECT_TRUE(server_.seen().empty());
  watch();
  ASSERT_TRUE(run_until(loop_, [&] { return !server_.seen().empty(); }));
  run_for(loop_, milliseconds{20});
  EXPECT_EQ(reaper_.size(), 1U) << "what is known of it counts";
}

TEST_F(PreAllocationReaperTest, WhatWasSeenIsLookedUpBeforeItCounts) {
  server_.script("GET", kPath, {reply(200, pre_allocated_json("7"))});
  watch(std::chrono::hours{1});
  dialect::PodObject pod{.ns = "ns", .name = "p", .uid = "u", .scheduler = "other"};
  pod.unscheduled_reason = "Unschedulable";
  pod.unscheduled_since = "1970-01-01T00:00:20Z";
  reaper_.saw(pod);
  ASSERT_TRUE(run_until(loop_, [&] { return !server_.seen().empty(); }));
  run_for(loop_, milliseconds{50});
  EXPECT_EQ(server_.seen().size(), 1U);
  EXPECT_EQ(events(), "");
  EXPECT_EQ(reaper_.size(), 1U);
}

TEST_F(PreAllocationReaperTest, WhatIsForgottenMeanwhileEndsNothing) {
  server_.script("GET", kPath, {server_.hold()});
  watch();
  ASSERT_TRUE(run_until(loop_, [&] { return !server_.held().empty(); }));
  reaper_.forget("u");
  watch(std::chrono::hours{1});  // a new pre-allocation
  server_.held().front()->send({.status = 200, .headers = {}, .body = pod_json("u", "")});
  run_for(loop_, milliseconds{50});
  EXPECT_EQ(events(), "");
  EXPECT_EQ(reaper_.size(), 1U);
}

TEST_F(PreAllocationReaperTest, APodThatWasSeenOnItsNodeIsNotLookedUp) {
  dialect::PodObject pod{.ns = "ns", .name = "p", .uid = "u", .node = "n"};
  cluster_cache_.upsert_pod(pod);
  watch();
  ASSERT_TRUE(run_until(loop_, [&] { return reaper_.size() == 0; }));
  EXPECT_TRUE(server_.seen().empty());
}

}  // namespace
}  // namespace stowage::scheduler
