#include "metricsapi/watch.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"
#include "kube/watch_lines.h"
#include "metricsapi/testing/node_reports.h"
#include "net/http_client.h"
#include "net/testing/raw_socket.h"

namespace stowage::metricsapi {
namespace {

using namespace std::chrono_literals;
using kube::testing::run_for;
using kube::testing::run_until;
using testing::card;
using testing::Desk;
using testing::pod;

constexpr const char* kPods = "/apis/metrics.nvidia.com/v1alpha1/podresources";
constexpr const char* kGpus = "/apis/metrics.nvidia.com/v1alpha1/gpuinfos";
constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";

struct WatchTest : ::testing::Test {
  WatchTest() { make({}, {}); }

  void make(WatchLimits limits, WatchCacheOptions options) {
    limits.look = 5ms;
    http.reset();
    server.reset();
    watchers.reset();
    watch_cache =
        std::make_unique<WatchCache>(options, desk.report_cache, [this] { return desk.now; });
    watchers = std::make_unique<Watchers>(limits, loop, *watch_cache);
    server = net::HttpServer::listen(loop, {},
                                     [this](const net::ServerRequest& request, auto responder) {
                                       const auto ask = read_ask(request.http);
                                       if (!ask || !watchers->add(*ask, responder)) {
                                         responder->send({.status = 429});
                                       }
                                     })
                 .value();
    http = std::make_unique<net::HttpClient>(
        loop, net::HttpClientOptions{.server = {.host = "127.0.0.1", .port = server->port()}});
  }

  struct Reader {
    std::unique_ptr<net::HttpClient::Stream> stream;
    int status = 0;
    std::string bytes;
    std::size_t count = 0;  // of lines
    int ends = 0;
    // Blanks between lines are signs of life.
    [[nodiscard]] std::vector<std::string> lines() const {
      std::vector<std::string> all;
      kube::WatchLines cut(std::size_t{1} << 20U);
      cut.feed(bytes);
      std::string_view line;
      while (cut.next(line) == kube::WatchLines::Next::line) {
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        all.emplace_back(line);
      }
      return all;
    }
  };
  std::unique_ptr<Reader> watch(const std::string& target, const std::string& accept = "*/*") {
    auto reader = std::make_unique<Reader>();
    Reader* at = reader.get();
    reader->stream = http->open(
        {.target = target, .headers = {{"Accept", accept}}}, {},
        {.head = [at](const auto& head) { at->status = head.status; },
         .data =
             [at](std::string_view data) {
               at->bytes += data;
               at->count += static_cast<std::size_t>(std::count(data.begin(), data.end(), '\n'));
             },
         .end = [at](const auto&) { ++at->ends; }});
    EXPECT_TRUE(soon([&] { return at->status != 0; }));
    return reader;
  }
  [[nodiscard]] bool soon(const std::function<bool()>& met) { return run_until(loop, met); }
  [[nodiscard]] std::string version() const { return std::to_string(watch_cache->version()); }

  Desk desk;
  net::EventLoop loop;
  std::unique_ptr<WatchCache> watch_cache;
  std::unique_ptr<Watchers> watchers;
  std::unique_ptr<net::HttpServer> server;
  std::unique_ptr<net::HttpClient> http;
};

// A list {p1}; p2 starts; p1 is deleted.
TEST_F(WatchTest, TheOriginalsSequence) {
  desk.cards("n1", {card("g1", 0, "Tesla T4"), card("g2", 1, "Tesla T4")});
  desk.pods("n1", {pod("d", "p1", {"g1"})}, true);
  const auto reader = watch(std::string(kPods) + "?watch=true");
  ASSERT_TRUE(soon([&] { return reader->lines().size() == 1; }));
  desk.pods("n1", {pod("d", "p2", {"g2"})});
  ASSERT_TRUE(soon([&] { return reader->lines().size() == 2; }));
  desk.gone("n1", {"d/p1"});
  ASSERT_TRUE(soon([&] { return reader->lines().size() == 3; }));
  const auto device = [](const std::string& id, int bus) {
    return R"("containers_device":[{"container_name":"c","device_info":[{"device_id":")" + id +
           R"(","device_brand":"Tesla","device_model":"tesla t4","device_busid":"0000:0)" +
           std::to_string(bus) + R"(:00.0","device_node":"n1"}]}])";
  };
  const auto line = [](const std::string& type, const std::string& name, const std::string& more) {
    return std::vector<std::string>{
        R"({"Type":")" + type + R"(","Object":{"kind":"PodResource","apiVersion":"v1alpha1",)",
        R"("spec":{"pod_name":")" + name + R"(","pod_namespace":"d")" + more + "},\"status\":"};
  };
  const std::vector<std::vector<std::string>> wanted = {line("SYNCED", "p1", "," + device("g1", 0)),
                                                        line("SYNCED", "p2", "," + device("g2", 1)),
                                                        line("DELETED", "p1", "")};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (const std::string& part : wanted[i]) {
      EXPECT_NE(reader->lines()[i].find(part), std::string::npos)
          << reader->lines()[i] << " lacks " << part;
    }
  }
}

TEST_F(WatchTest, KubernetesEventsFromAVersionOn) {
  desk.cards("n1", {card("g1", 0, "T4")});
  const auto reader = watch(std::string(kGpus) + "?watch=true&resourceVersion=" + version());
  desk.cards("n2", {});
  ASSERT_TRUE(soon([&] { return reader->lines().size() == 1; }));
  EXPECT_TRUE(reader->lines()[0].starts_with(
      R"({"type":"ADDED","object":{"kind":"GpuInfo","apiVersion":"metrics.nvidia.com/v1alpha1",)"
      R"("metadata":{"name":"n2","resourceVersion":")" +
      version() + "\"}"))
      << reader->lines()[0];
  desk.pods("n1", {pod("d", "p", {"g1"})});
  ASSERT_TRUE(soon([&] { return reader->lines().size() == 2; }));
  EXPECT_TRUE(reader->lines()[1].starts_with(R"({"type":"MODIFIED","object":{"kind":"GpuInfo")"));
  desk.report_cache.forget("n1");
  ASSERT_TRUE(soon([&] { return reader->lines().size() == 3; }));
  EXPECT_TRUE(reader->lines()[2].starts_with(R"({"type":"DELETED","object":{"kind":"GpuInfo")"));
}

TEST_F(WatchTest, EverythingFirstIfNoVersionIsNamed) {
  for (const char* node : {"n3", "n1", "n2"}) desk.update(node);
  desk.pass(5s);
  desk.update("n3");
  const auto reader = watch(std::string(kGpus) +
                            "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&"
                            "resourceVersionMatch=NotOlderThan");
  ASSERT_TRUE(soon([&] { return reader->lines().size() == 4; }));
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(reader->lines()[i].starts_with(R"({"type":"ADDED",)"));
  EXPECT_EQ(
      reader->lines()[3],
      R"({"type":"BOOKMARK","object":{"kind":"GpuInfo",)"
      R"("apiVersion":"metrics.nvidia.com/v1alpha1","metadata":{"resourceVersion":")" +
          version() +
          R"(","creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}}}})");
}

TEST_F(WatchTest, TablesHaveTheirColumnsOnce) {
  desk.update("n1");
  const auto reader = watch(std::string(kGpus) + "?watch=true&resourceVersion=0", kTable);
  ASSERT_TRUE(soon([&] { return reader->lines().size() == 1; }));
  desk.update("n2");
  ASSERT_TRUE(soon([&] { return reader->lines().size() == 2; }));
  EXPECT_NE(reader->lines()[0].find(R"("columnDefinitions":[{"name":"Name")"), std::string::npos);
  EXPECT_TRUE(reader->lines()[1].starts_with(
      R"({"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{)"));
  EXPECT_NE(reader->lines()[1].find(R"("columnDefinitions":null,"rows":[{"cells":["n2")"),
            std::string::npos);
}

TEST_F(WatchTest, NamesAreSelected) {
  const auto reader =
      watch(std::string(kGpus) + "?watch=true&fieldSelector=metadata.name%3Dn2&resourceVersion=0");
  for (const char* node : {"n1", "n2", "n3"}) desk.update(node);
  ASSERT_TRUE(soon([&] { return !reader->lines().empty(); }));
  run_for(loop, 30ms);
  ASSERT_EQ(reader->lines().size(), 1U);
  EXPECT_NE(reader->lines()[0].find(R"("name":"n2")"), std::string::npos);
}

TEST_F(WatchTest, WhoComesWithAVersionThatIsNotKnownIsToldSo) {
  make({}, {.gone_max = 1});
  desk.cards("n1", {card("g1", 0, "T4")});
  const std::string old = version();
  for (const char* name : {"a", "b"}) {
    desk.pods("n1", {pod("d", name, {"g1"})});
    desk.gone("n1", {std::string("d/") + name});
  }
  const std::string future = std::to_string(watch_cache->version() + 1'000'000);
  for (const std::string& from : {std::string("5"), old, future}) {
    const auto reader = watch(std::string(kPods) + "?watch=true&resourceVersion=" + from);
    ASSERT_TRUE(soon([&] { return reader->ends == 1; })) << from;
    ASSERT_EQ(reader->lines().size(), 1U);
    EXPECT_TRUE(reader->lines()[0].starts_with(
        R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1",)"));
    EXPECT_NE(reader->lines()[0].find(R"("reason":"Expired","code":410)"), std::string::npos);
  }
  EXPECT_EQ(watchers->counters().lagged, 3U);
  const auto fine = watch(std::string(kPods) + "?watch=true&resourceVersion=" + version());
  run_for(loop, 20ms);
  EXPECT_EQ(fine->ends, 0);
}

// A watcher that reads nothing neither delays others nor uses growing memory. When it has missed a
// deletion, its watch ends.
TEST_F(WatchTest, ASlowOneFallsBehindAlone) {
  make({.backlog_max = 64 << 10}, {.gone_max = 50});
  std::vector<codec::ReportedCard> cards;
  for (int i = 0; i < 64; ++i) cards.push_back(card("GPU-" + std::string(40, 'x'), i, "Tesla T4"));
  for (int i = 0; i < 64; ++i) cards[static_cast<std::size_t>(i)].id += std::to_string(i);
  const auto quick = watch(std::string(kGpus) + "?watch=true&resourceVersion=" + version());
  auto slow = net::testing::RawSocket::connect(server->port());
  slow.set_receive_buffer(4096);
  slow.send("GET " + std::string(kGpus) + "?watch=true&resourceVersion=" + version() +
            " HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(soon([&] { return watchers->counters().open == 2; }));
  // More than the buffers of both ends of a connection hold.
  constexpr int kNodes = 200;
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kNodes; ++i) {
      cards[0].healthy = round % 2 == 0;
      desk.cards("node-" + std::to_string(i), cards);
    }
    const std::size_t wanted =
        static_cast<std::size_t>(kNodes) * (static_cast<std::size_t>(round) + 1);
    ASSERT_TRUE(soon([&] { return quick->count == wanted; })) << round;
  }
  EXPECT_EQ(watchers->counters().open, 2U) << "behind, but it has missed nothing";
  for (int i = 0; i < kNodes; ++i) {
    desk.report_cache.forget("node-" + std::to_string(i));
    const std::size_t wanted = static_cast<std::size_t>(kNodes * kRounds + i + 1);
    if (i % 40 != 39) continue;
    ASSERT_TRUE(soon([&] { return quick->count == wanted; }));
  }
  ASSERT_TRUE(soon([&] { return watchers->counters().open == 1; }));
  EXPECT_EQ(watchers->counters().lagged, 1U);
  EXPECT_EQ(quick->ends, 0);
}

TEST_F(WatchTest, SignsOfLifeAndBookmarks) {
  make({.beat = 20ms, .bookmark = 60ms}, {});
  const auto original = watch(std::string(kPods) + "?watch=true");
  const auto marked = watch(std::string(kPods) + "?watch=true&allowWatchBookmarks=true&resource" +
                            "Version=" + version());
  ASSERT_TRUE(soon([&] { return !marked->lines().empty(); }));
  EXPECT_EQ(marked->lines()[0],
            R"({"type":"BOOKMARK","object":{"kind":"PodResource",)"
            R"("apiVersion":"metrics.nvidia.com/v1alpha1","metadata":{"resourceVersion":")" +
                version() + R"(","creationTimestamp":null}}})");
  ASSERT_TRUE(soon([&] { return original->bytes.size() >= 2; }));
  EXPECT_EQ(original->bytes.find_first_not_of(' '), std::string::npos);
}

TEST_F(WatchTest, EndsWhenItsTimeIsUp) {
  make({.timeout = 30ms}, {});
  const auto original = watch(std::string(kPods) + "?watch=true");
  const auto kubernetes = watch(std::string(kPods) + "?watch=true&resourceVersion=0");
  ASSERT_TRUE(soon([&] { return kubernetes->ends == 1; }));
  run_for(loop, 50ms);
  EXPECT_EQ(original->ends, 0) << "for ever";
  const auto asked = watch(std::string(kPods) + "?watch=true&timeoutSeconds=1");
  ASSERT_TRUE(soon([&] { return asked->ends == 1; }));
}

TEST_F(WatchTest, TheNumberOfWatchesIsLimited) {
  make({.watchers_max = 2}, {});
  auto first = watch(std::string(kPods) + "?watch=true");
  const auto second = watch(std::string(kPods) + "?watch=true");
  EXPECT_EQ(watch(std::string(kPods) + "?watch=true")->status, 429);
  first.reset();
  ASSERT_TRUE(soon([&] { return watchers->counters().open == 1; }));
  EXPECT_EQ(watch(std::string(kPods) + "?watch=true")->status, 200);
  EXPECT_EQ(watchers->counters().refused, 1U);
}

TEST_F(WatchTest, AreSentAway) {
  const auto reader = watch(std::string(kPods) + "?watch=true");
  watchers->send_away();
  ASSERT_TRUE(soon([&] { return reader->ends == 1; }));
  EXPECT_EQ(watchers->counters().open, 0U);
  const auto other = watch(std::string(kPods) + "?watch=true");
  watchers.reset();
  desk.update("n1");
  ASSERT_TRUE(soon([&] { return other->ends == 1; }));
}

// Many watchers with the same request: each gets all data, in turns of limited size.
TEST_F(WatchTest, ManyGetTheSame) {
  make({.turn_bytes = 4096}, {});
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 20; ++i) readers.push_back(watch(std::string(kGpus) + "?watch=true"));
  for (int i = 0; i < 200; ++i) desk.update("n" + std::to_string(i));
  for (const auto& reader : readers) {
    ASSERT_TRUE(soon([&] { return reader->count == 200; }));
    EXPECT_EQ(reader->lines(), readers[0]->lines());
  }
}

}  // namespace
}  // namespace stowage::metricsapi
