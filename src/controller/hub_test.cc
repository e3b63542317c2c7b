// The hub on its own thread, with agents that connect and disconnect, while the controller's loop
// sets leaders and nodes: mainly for the thread sanitizer (tests/threads).
#include "controller/hub.h"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"
#include "net/http_client.h"
#include "net/testing/loops.h"

namespace stowage::controller {
namespace {

using namespace std::chrono_literals;
using kube::testing::FakeApiServer;
using net::testing::run_until;

constexpr const char* kTokens = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr int kAgents = 8;

// A token "n1" is that of the agent on node n1.
void review(const kube::testing::SeenRequest& request,
            const std::shared_ptr<net::Responder>& responder) {
  constexpr std::string_view kKey = R"("token":")";
  const std::size_t at = request.body.find(kKey) + kKey.size();
  const std::string node = request.body.substr(at, request.body.find('"', at) - at);
  responder->send(
      {.status = 201,
       .body = fmt::format(
           R"({{"status":{{"authenticated":true,"audiences":["stowage.dev"],"user":{{"username":)"
           R"("system:serviceaccount:kube-system:stowage-agent","extra":)"
           R"({{"authentication.kubernetes.io/node-name":["{}"]}}}}}}}})",
           node)});
}

// Agents on their own loop and thread, which reconnect whenever they are disconnected.
class Agents {
 public:
  explicit Agents(std::uint16_t port) {
    thread_.on([&] {
      http_ = std::make_unique<net::HttpClient>(
          thread_.loop(), net::HttpClientOptions{.server = {.host = "127.0.0.1", .port = port}});
      timer_ = std::make_unique<net::Timer>(thread_.loop());
      streams_.resize(kAgents);
      report();
    });
  }
  ~Agents() {
    thread_.on([&] {
      timer_.reset();
      streams_.clear();
      http_.reset();
    });
  }

 private:
  void come(int number) {
    net::Headers headers{{"Authorization", fmt::format("Bearer n{}", number)},
                         {"Upgrade", std::string(codec::kReportsProtocol)}};
    auto& stream = streams_[static_cast<std::size_t>(number)];
    stream = http_->open({.target = codec::kReportsPath, .headers = std::move(headers)}, {},
                         {.head = [](const net::HttpResponse&) {},
                          .data = [](std::string_view) {},
                          .end =
                              [this, number](const auto&) {
                                thread_.loop().post([this, number] {
                                  if (!streams_.empty())
                                    streams_[static_cast<std::size_t>(number)].reset();
                                });
                              }});
    stream->write(
        fmt::format("{{\"version\":1,\"node\":\"n{0}\",\"agent\":\"0.1\"}}\n"
                    "{{\"cards\":[{{\"id\":\"GPU-{0}\",\"index\":0}}]}}\n",
                    number));
  }
  void report() {
    for (int i = 0; i < kAgents; ++i) {
      const auto& stream = streams_[static_cast<std::size_t>(i)];
      if (!stream) {
        come(i);
      } else {
        stream->write(fmt::format("{{\"cards\":[{{\"id\":\"GPU-{}\",\"index\":0}}]}}\n", i));
      }
    }
    timer_->start(5ms, [this] { report(); });
  }

  net::testing::LoopThread thread_;
  std::unique_ptr<net::HttpClient> http_;
  std::unique_ptr<net::Timer> timer_;
  std::vector<std::unique_ptr<net::HttpClient::Stream>> streams_;
};

TEST(Hub, AgentsReportWhileLeadersAndNodesChange) {
  net::testing::LoopThread api_thread;
  std::unique_ptr<FakeApiServer> api;
  api_thread.on([&] {
    api = std::make_unique<FakeApiServer>(api_thread.loop());
    api->script("POST", kTokens, {review});
  });
  net::EventLoop loop;
  std::size_t batches = 0;
  std::size_t lines = 0;
  base::Log log{{.write = [&](std::string_view /*line*/) { ++lines; }}};
  Hub::Options options;
  options.agents.listen = "127.0.0.1:0";
  options.cluster = api->config();
  auto hub = Hub::create(
      options, {.loop = loop,
                .log = log,
                .take =
                    [&](const std::vector<reports::NodeUpdate>& node_update) {
                      batches += node_update.size();
                    },
                .ask = [](extender::Verb, const std::string&, const extender::Answer&) {}});
  ASSERT_TRUE(hub) << hub.error().message;
  (*hub)->start();
  {
    const Agents agents((*hub)->port());
    int round = 0;
    bool here_once = false;
    net::Timer timer(loop);
    std::function<void()> act = [&] {
      ++round;
      log.info("round");
      (*hub)->set_leader({.here = round % 50 != 49, .url = "http://127.0.0.1:1"});
      const std::vector<core::Card> cards{{.id = "GPU-0", .index = 0}};
      const std::string node = fmt::format("n{}", round % (kAgents + 2));
      round % 7 == 0 ? (*hub)->forget(node) : (*hub)->set_cards(node, cards);
      if (round % 40 == 0) (*hub)->set_all_cards({{"n0", cards}, {"n1", cards}});
      here_once = here_once || (*hub)->snapshot().report_cache.nodes > 0;
      timer.start(2ms, act);
    };
    act();
    EXPECT_TRUE(run_until(loop, [&] { return batches >= 50 && round >= 300 && here_once; }))
        << batches << " parcels, " << round << " rounds";
    timer.cancel();
  }
  hub->reset();
  api_thread.on([&] { api.reset(); });
}

}  // namespace
}  // namespace stowage::controller
