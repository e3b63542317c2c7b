// The scheduler as it runs in production, with the engine on its own thread, while other threads
// put events, ask and read: mainly for the thread sanitizer (tests/threads).
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/fixed_keys.h"
#include "net/testing/loops.h"
#include "scheduler/scheduler.h"

namespace stowage::scheduler {
namespace {

using namespace std::chrono_literals;
using kube::testing::FakeApiServer;
using kube::testing::reply;

constexpr int kNodes = 4;
constexpr int kPods = 60;

std::string node_json(int number) {
  return fmt::format(
      R"({{"metadata":{{"name":"n{0}","uid":"node{0}"}},"spec":{{}},"status":{{"allocatable":)"
      R"({{"cpu":"64","memory":"64Gi","pods":"200","nvidia.com/gpu":"8"}}}}}})",
      number);
}

std::string pod_json(int number) {
  return fmt::format(
      R"({{"metadata":{{"name":"p{0}","namespace":"ns","uid":"u{0}"}},"spec":{{"schedulerName":)"
      R"("stowage","containers":[{{"name":"c","resources":{{"limits":{{"nvidia.com/gpu":"{1}"}})"
      R"(}}}}]}}}})",
      number, number % 2 + 1);
}

std::string list_json(int count, std::string (*item)(int)) {
  std::string items;
  for (int i = 0; i < count; ++i) items += (i == 0 ? "" : ",") + item(i);
  return R"({"metadata":{"resourceVersion":"1"},"items":[)" + items + "]}";
}

// Lists once, then a watch that stays open.
std::vector<FakeApiServer::Answer> listed(FakeApiServer& server, const std::string& list) {
  return {reply(200, list), server.stream({}, kube::testing::StreamEnd::open)};
}

// Everything that lives on the loop's thread.
struct House {
  explicit House(net::EventLoop& loop) : server(loop) {
    server.script("GET", "/api/v1/nodes", listed(server, list_json(kNodes, node_json)));
    server.script("GET", "/api/v1/pods", listed(server, list_json(kPods, pod_json)));
    for (int i = 0; i < kPods; ++i) {
      server.script("POST", fmt::format("/api/v1/namespaces/ns/pods/p{}/binding", i), {reply(201)});
    }
    client = server.client();
    SchedulerOptions options;
    options.keys =
        std::make_shared<kube::testing::FixedKeys>(kube::testing::keys_from_seed("test"));
    options.profiles = {{.name = "stowage"}};
    options.quota.enabled = false;
    options.binds_max = 4;
    scheduler = std::make_unique<Scheduler>(*client, std::move(options), log);
    scheduler->start();
  }

  FakeApiServer server;
  base::Log log{{.write = [](std::string_view /*line*/) {}}};
  std::unique_ptr<kube::ApiClient> client;
  std::unique_ptr<Scheduler> scheduler;
};

// Reports of agents and timers come from other threads while the engine decides.
void disturb(EventQueue& event_queue, const std::atomic<bool>& end) {
  for (std::uint64_t round = 0; !end; ++round) {
    event_queue.put_reply(core::Tick{.parked = round % 16 == 0});
    event_queue.put_silence({.node = fmt::format("n{}", round % kNodes), .silent = round % 3 == 0});
    event_queue.ask([](const EventQueue::EngineAccess& access) {
      EXPECT_LE(access.engine.ledger().nodes().count(), std::size_t{kNodes});
    });
    (void)event_queue.sizes();
    std::this_thread::sleep_for(100us);
  }
}

TEST(SchedulerThreads, PodsAreBoundWhileOthersPutAskAndLook) {
  net::testing::LoopThread thread;
  std::unique_ptr<House> house;
  thread.on([&] { house = std::make_unique<House>(thread.loop()); });
  std::atomic<bool> end = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] { disturb(house->scheduler->shared().event_queue, end); });
  }
  std::uint64_t bound = 0;
  // 32 cards: at most as many pods as fit are bound, and the rest is refused.
  for (int i = 0; i < 2000 && bound < 20; ++i) {
    thread.on([&] {
      bound = house->scheduler->snapshot().binder.bound;
      house->scheduler->record_decision("ns/p1", [](const Result<std::string>&) {});
    });
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_GE(bound, 20U);
  end = true;
  for (auto& other : others) other.join();
  std::promise<void> stopped;
  thread.on([&] { house->scheduler->stop(1s, [&] { stopped.set_value(); }); });
  stopped.get_future().wait();
  thread.on([&] { house.reset(); });
}

TEST(SchedulerThreads, APreAllocationThatIsBeingWrittenDelaysTheEnd) {
  net::EventLoop loop;
  House house(loop);
  house.server.script("PATCH", "/api/v1/namespaces/ns/pods/p", {house.server.hold()});
  house.scheduler->shared().pods.write_fenced(
      {.ns = "ns", .name = "p"},
      {.uid = "u", .annotations = {{"a", "1"}}, .labels = {}, .resource_version = "7"}, {},
      [](const std::string& /*error*/) {});
  ASSERT_TRUE(kube::testing::run_until(loop, [&] { return house.server.held().size() == 1; }));
  EXPECT_GT(house.scheduler->open_until(), loop.now());
  bool stopped = false;
  house.scheduler->stop(20s, [&] { stopped = true; });
  kube::testing::run_for(loop, 50ms);
  EXPECT_FALSE(stopped);
  house.server.held()[0]->send({200, {}, "{}"});
  ASSERT_TRUE(kube::testing::run_until(loop, [&] { return stopped; }));
  EXPECT_LE(house.scheduler->open_until(), loop.now());
}

}  // namespace
}  // namespace stowage::scheduler
