// How the scheduler handles lists and watches that it cannot read completely.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json_writer.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fixed_keys.h"
#include "scheduler/scheduler.h"

namespace stowage::scheduler {
namespace {

using namespace std::chrono_literals;
using kube::testing::FakeApiServer;
using kube::testing::reply;
using kube::testing::run_until;
using kube::testing::SeenRequest;
using kube::testing::StreamEnd;

constexpr const char* kNodesPath = "/api/v1/nodes";
constexpr const char* kPodsPath = "/api/v1/pods";

std::string watched_node(const std::string& name) {
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","uid":"{0}"}},"spec":{{}},"status":{{"allocatable":)"
      R"({{"cpu":"64","memory":"64Gi","pods":"200","nvidia.com/gpu":"8"}}}}}})",
      name);
}
std::string bound_pod(const std::string& name) {
  return fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"ns","uid":"{0}"}},"spec":{{"nodeName":"a",)"
      R"("containers":[{{"name":"c","resources":{{"limits":{{"nvidia.com/gpu":"1"}}}}}}]}}}})",
      name);
}
// An object with the same identity that is neither a readable pod nor a readable node.
std::string unreadable(const std::string& name) {
  return fmt::format(R"({{"metadata":{{"name":"{0}","namespace":"ns","uid":"{0}"}},"spec":7}})",
                     name);
}
const std::string kNameless = R"({"metadata":{"labels":{}},"spec":7})";

FakeApiServer::Answer list(const std::vector<std::string>& items) {
  std::string joined;
  for (const std::string& item : items) joined += (joined.empty() ? "" : ",") + item;
  return reply(200, R"({"metadata":{"resourceVersion":"1"},"items":[)" + joined + "]}");
}
std::string event(const char* type, const std::string& json) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, json);
}
const std::string kExpired = event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired"})");

struct SchedulerWatchTest : ::testing::Test {
  // Scripts lists and watches in order; the last one repeats.
  void script(const char* path, std::vector<FakeApiServer::Answer> lists,
              const std::vector<std::vector<std::string>>& watches) {
    std::vector<FakeApiServer::Answer> streams;
    for (const auto& pieces : watches) streams.push_back(server.stream(pieces, StreamEnd::open));
    const auto next = std::make_shared<std::array<std::size_t, 2>>();
    server.script("GET", path,
                  {[lists = std::move(lists), streams, next](const SeenRequest& request,
                                                             std::shared_ptr<net::Responder> to) {
                    const bool watch = !request.query("watch").empty();
                    const auto& answers = watch ? streams : lists;
                    const std::size_t number = (*next)[watch ? 1 : 0]++;
                    answers[std::min(number, answers.size() - 1)](request, std::move(to));
                  }});
  }
  void start(net::Duration relist_every = 20ms,
             std::shared_ptr<kube::KeySource> keys = std::make_shared<kube::testing::FixedKeys>(
                 kube::testing::keys_from_seed("test"))) {
    client = server.client();
    SchedulerOptions options;
    options.keys = std::move(keys);
    options.profiles = {{.name = "stowage"}};
    options.quota.enabled = false;
    options.reflector.backoff_min = 2ms;
    options.reflector.relist_every = relist_every;
    scheduler = std::make_unique<Scheduler>(*client, std::move(options), log);
    scheduler->start();
  }
  [[nodiscard]] ClusterCache::Sizes sizes() const {
    return scheduler->shared().cluster_cache.sizes();
  }
  [[nodiscard]] std::uint64_t lists_of_pods() const { return scheduler->snapshot().pods.lists; }
  [[nodiscard]] std::uint64_t lists_of_nodes() const { return scheduler->snapshot().nodes.lists; }

  net::EventLoop loop;
  FakeApiServer server{loop};
  std::string lines;
  base::Log log{{.write = [this](std::string_view line) { lines += line; }}};
  std::unique_ptr<kube::ApiClient> client;
  std::unique_ptr<Scheduler> scheduler;
};

// Nodes and pods at the same time, and pods twice: each is listed once more.
TEST_F(SchedulerWatchTest, EveryLostEventIsMadeGoodByAList) {
  script(kNodesPath, {list({watched_node("a")})}, {{"no json\n"}, {}});
  script(kPodsPath, {list({bound_pod("p"), bound_pod("q")}), list({bound_pod("p")}), list({})},
         {{"no json\n"}, {"no json\n"}, {}});
  start();
  EXPECT_TRUE(run_until(loop, [&] { return lists_of_nodes() == 2 && lists_of_pods() == 3; }))
      << lists_of_nodes() << " lists of nodes, " << lists_of_pods() << " of pods";
  EXPECT_TRUE(run_until(loop, [&] { return sizes().pods == 0; }));
}

TEST_F(SchedulerWatchTest, APodThatCanNoLongerBeReadStaysCharged) {
  script(kNodesPath, {list({watched_node("a")})}, {{}});
  script(kPodsPath,
         {list({bound_pod("p"), bound_pod("q"), bound_pod("r")}), list({unreadable("p")})},
         {{event("MODIFIED", unreadable("q")), kExpired}, {}});
  start();
  ASSERT_TRUE(run_until(loop, [&] { return lists_of_pods() == 2 && sizes().pods == 1; }));
  EXPECT_EQ(scheduler->shared().cluster_cache.pods().name_of("p"), "ns/p");
  EXPECT_EQ(sizes().bound, 1U);
  EXPECT_NE(lines.find("ns/p"), std::string::npos) << lines;
}

TEST_F(SchedulerWatchTest, AnUnreadablePodThatIsDeletedIsGone) {
  script(kNodesPath, {list({watched_node("a")})}, {{}});
  script(kPodsPath, {list({bound_pod("p")})}, {{event("DELETED", unreadable("p"))}});
  start();
  EXPECT_TRUE(run_until(loop, [&] { return sizes().pods == 0 && lists_of_pods() == 1; }));
}

// A deletion that does not name its pod: the list tells which one.
TEST_F(SchedulerWatchTest, ADeletionWithoutANameIsRepairedByAList) {
  script(kNodesPath, {list({watched_node("a")})}, {{event("DELETED", kNameless)}, {}});
  script(kPodsPath, {list({bound_pod("p")}), list({})}, {{event("DELETED", kNameless)}, {}});
  start();
  EXPECT_TRUE(run_until(loop, [&] { return sizes().pods == 0 && lists_of_nodes() == 2; }));
}

// It may be any of the pods, so none counts as deleted.
TEST_F(SchedulerWatchTest, AListWithANamelessPodTakesNothingAway) {
  script(kNodesPath, {list({watched_node("a")}), list({kNameless})}, {{kExpired}, {}});
  script(kPodsPath, {list({bound_pod("p")}), list({kNameless})}, {{kExpired}, {}});
  start();
  ASSERT_TRUE(run_until(loop, [&] { return lists_of_pods() == 2 && lists_of_nodes() == 2; }));
  kube::testing::run_for(loop, 20ms);
  EXPECT_EQ(sizes().pods, 1U);
  EXPECT_EQ(sizes().nodes, 1U);
}

TEST_F(SchedulerWatchTest, ANodeThatCanNoLongerBeReadStays) {
  script(kNodesPath, {list({watched_node("a"), watched_node("b")}), list({unreadable("a")})},
         {{kExpired}, {}});
  script(kPodsPath, {list({})}, {{}});
  start();
  ASSERT_TRUE(run_until(loop, [&] { return lists_of_nodes() == 2 && sizes().nodes == 1; }));
  EXPECT_NE(scheduler->shared().cluster_cache.nodes().find("a"), nullptr);
}

// Keys that are looked up when the test says so.
class LateKeys final : public kube::KeySource {
 public:
  explicit LateKeys(kube::Keys first) : keys_(std::move(first)) {}
  [[nodiscard]] kube::Keys keys() const override { return keys_; }
  [[nodiscard]] std::string trouble() const override { return {}; }
  void begin() override {}
  std::uint64_t look_soon() override { return wanted = looked_ + 1; }
  [[nodiscard]] std::uint64_t looked() const override { return looked_; }
  void look(const kube::Keys& found) {
    keys_ = found;
    ++looked_;
  }
  std::uint64_t wanted = 0;

 private:
  kube::Keys keys_;
  std::uint64_t looked_ = 0;
};

// A pod whose cards are signed by another replica.
std::string signed_pod(const std::string& name, const kube::Keys& keys) {
  dialect::PodObject pod;
  pod.uid = name;
  dialect::Annotations answer{{"stowage.dev/gpus", "{}"}};
  kube::seal(*keys, {.object = pod, .node = "a"}, answer);
  std::string json = bound_pod(name);
  json.insert(json.find("\"uid\""),
              fmt::format(R"("annotations":{{"stowage.dev/gpus":"{{}}",)"
                          R"("stowage.dev/signature":"{}"}},)",
                          base::json_escaped(answer["stowage.dev/signature"])));
  return json;
}

TEST_F(SchedulerWatchTest, NothingIsDecidedBeforeAnUnknownKeyWasLookedFor) {
  const kube::Keys old = kube::testing::keys_from_seed("test");
  const kube::Keys fresh = kube::testing::keys_from_seed("rotated");
  for (const bool comes : {true, false}) {
    const auto keys = std::make_shared<LateKeys>(old);
    script(kNodesPath, {list({watched_node("a")})}, {{}});
    script(kPodsPath, {list({signed_pod("p", fresh)})}, {{event("ADDED", signed_pod("q", fresh))}});
    start(20ms, keys);
    ASSERT_TRUE(run_until(loop, [&] { return sizes().pods == 2; }));
    EXPECT_EQ(keys->wanted, 1U);
    kube::testing::run_for(loop, 20ms);
    EXPECT_TRUE(scheduler->ready());
    EXPECT_FALSE(scheduler->deciding());
    EXPECT_NE(scheduler->trouble().find("signed by unknown keys"), std::string::npos);
    auto both = std::make_shared<kube::Keyring>(*old);
    both->known.insert(fresh->known.begin(), fresh->known.end());
    keys->look(comes ? both : old);
    ASSERT_TRUE(run_until(loop, [&] { return scheduler->deciding(); }));
    EXPECT_EQ(lists_of_pods(), comes ? 2U : 1U) << "pods are judged anew, by other keys";
    EXPECT_EQ(scheduler->trouble(), "");
    scheduler.reset();
  }
}

// Many watches and one server: a few lines in the log, not one for each attempt of each watch.
TEST_F(SchedulerWatchTest, AServerThatIsAwayTakesFewLines) {
  script(kNodesPath, {list({watched_node("a")})}, {{}});
  script(kPodsPath, {list({})}, {{}});
  start();
  ASSERT_TRUE(run_until(loop, [&] { return scheduler->ready(); }));
  lines.clear();
  server.stop();
  ASSERT_TRUE(run_until(loop, [&] { return scheduler->snapshot().pods.failures > 8; }));
  std::size_t count = 0;
  for (std::size_t at = lines.find("is unavailable"); at != std::string::npos; ++count) {
    at = lines.find("is unavailable", at + 1);
  }
  EXPECT_EQ(count, 1U) << lines;
  EXPECT_LE(std::count(lines.begin(), lines.end(), '\n'), 4) << lines;
}

}  // namespace
}  // namespace stowage::scheduler
