// Agents of compromised nodes send the largest possible reports: their memory is bounded, and it is
// freed after they are removed.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "net/testing/heap.h"
#include "reports/report_batcher.h"
#include "reports/testing/agent_server_fixture.h"

namespace stowage::reports {
namespace {

using namespace std::chrono_literals;
using net::testing::heap_bytes;

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr int kNodes = 3;
constexpr int kLines = 8;  // of each node
constexpr std::size_t kLine = codec::kReportLineMax - 100;

std::string listed(std::size_t bytes, std::size_t max,
                   const std::function<std::string(std::size_t)>& each) {
  std::string text;
  for (std::size_t i = 0; i < max; ++i) {
    std::string one = each(i);
    if (text.size() + one.size() + 1 > bytes) break;
    text += (i == 0 ? "" : ",") + one;
  }
  return text;
}

std::string pods_line(std::size_t bytes, const std::function<std::string(std::size_t)>& pod) {
  return R"({"pods":{"now":[)" + listed(bytes - 40, codec::kReportPodsMax, pod) + "]}}\n";
}

std::string pod(const std::string& name, const std::string& containers) {
  return fmt::format(R"({{"namespace":"ml","name":"{}","containers":[{}]}})", name, containers);
}

std::string with_ids(const std::string& ids) {
  return R"({"name":"main","devices":[{"resource":"nvidia.com/gpu","ids":[)" + ids + "]}]}";
}

struct Row {
  const char* name;
  std::function<std::string(int line)> text;  // with its line break, if any
};

std::vector<Row> rows_of_pods() {
  const auto same = [](const char* one) { return [one](std::size_t) { return std::string(one); }; };
  return {
      {"many pods, others in each line",
       [](int line) {
         return pods_line(kLine, [line](std::size_t i) {
           return pod(fmt::format("p-{}-{}", line, i), with_ids(R"("GPU-0")"));
         });
       }},
      {"pods with long names",
       [](int line) {
         return pods_line(kLine, [line](std::size_t i) {
           return pod(fmt::format("{:0>500}", fmt::format("{}-{}", line, i)), "");
         });
       }},
      {"pods with many containers",
       [=](int line) {
         return pods_line(kLine, [&](std::size_t i) {
           return pod(fmt::format("p-{}-{}", line, i), listed(kLine / 8, 4096, same("{}")));
         });
       }},
      {"containers with many devices",
       [=](int line) {
         return pods_line(kLine, [&](std::size_t i) {
           return pod(fmt::format("p-{}-{}", line, i),
                      R"({"devices":[)" + listed(kLine / 8, 4096, same("{}")) + "]}");
         });
       }},
      {"devices with many ids",
       [=](int line) {
         return pods_line(kLine, [&](std::size_t i) {
           return pod(fmt::format("p-{}-{}", line, i),
                      with_ids(listed(kLine / 8, 4096, same(R"("")"))));
         });
       }},
      {"one pod of 100 KiB in each line, as small as the budget of a line lets through",
       [](int line) {
         return pods_line(100'000, [line](std::size_t i) {
           return pod(fmt::format("p-{}-{}", line, i), with_ids(R"("GPU-0")"));
         });
       }},
  };
}

std::vector<Row> other_rows() {
  return {
      {"many cards with long names",
       [](int line) {
         return R"({"cards":[)" +
                listed(kLine, codec::kReportCardsMax,
                       [line](std::size_t i) {
                         return fmt::format(
                             R"({{"id":"{:0>250}","index":{},"model":"{:0>256}",)"
                             R"("brand":"{:0>256}","busId":"{:0>256}","sickness":"{:0>512}"}})",
                             fmt::format("{}-{}", line, i), i, 1, 2, 3, 4);
                       }) +
                "]}\n";
       }},
      {"loads of cards that are not there",
       [](int line) {
         return R"({"load":[)" +
                listed(kLine, codec::kReportCardsMax,
                       [line](std::size_t i) {
                         return fmt::format(R"({{"card":{}}})", line * 64 + static_cast<int>(i));
                       }) +
                "]}\n";
       }},
      {"names of pods that are gone",
       [](int line) {
         return R"({"pods":{"all":true,"gone":[)" +
                listed(kLine - 100, codec::kReportPodsMax,
                       [line](std::size_t i) {
                         return fmt::format("\"{:0>500}\"", fmt::format("{}-{}", line, i));
                       }) +
                "]}}\n";
       }},
      {"a line that does not end", [](int) { return std::string(kLine, ' '); }},
      {"nonsense", [](int) { return std::string(kLine, 'x') + "\n"; }},
      {"objects in objects", [](int) { return std::string(kLine, '{') + "\n"; }},
      {"lists in lists", [](int) { return R"({"cards":)" + std::string(kLine / 2, '[') + "\n"; }},
      {"empty lines", [](int) { return std::string(kLine, '\n'); }},
      {"little, and then the next connection", [](int) { return std::string("x\n"); }},
  };
}

std::vector<Row> rows() {
  std::vector<Row> all = rows_of_pods();
  for (Row& row : other_rows()) all.push_back(std::move(row));
  return all;
}

struct HostileAgents : testing::AgentServerFixture {
  HostileAgents() {
    batcher =
        std::make_unique<ReportBatcher>(loop, report_cache, ReportBatcherOptions{.every = 10ms},
                                        [this](std::vector<NodeUpdate> batch) { take(batch); });
  }
  // Keeps copies as the consumer of the batches would.
  void take(const std::vector<NodeUpdate>& batch) {
    for (const NodeUpdate& node_update : batch) {
      auto& kept = words[node_update.node];
      for (const std::string& gone : node_update.gone) kept.erase(gone);
      for (const auto& told : node_update.pods) kept.insert_or_assign(told.name, told.allocation);
      if (kept.empty()) words.erase(node_update.node);
    }
  }
  // Connects if necessary and sends, at the pace at which the server reads.
  void say(const std::string& node, const std::string& text) {
    std::unique_ptr<Agent>& agent = agents[node];
    if (!agent || agent->ends > 0) {
      agent = allow_connect("agent@" + node);
      if (!agent->head || agent->head->status != 101) {
        agent.reset();
        return;
      }
    }
    constexpr std::size_t kPiece = std::size_t{64} << 10U;
    for (std::size_t at = 0; at < text.size() && agent->ends == 0; at += kPiece) {
      agent->stream->write(text.substr(at, kPiece));
      (void)soon([&] { return agent->ends > 0 || agent->stream->backlog() == 0; });
      most = std::max(most, heap_bytes());
    }
    kube::testing::run_for(loop, 1ms);
    most = std::max(most, heap_bytes());
  }
  void leave() {
    agents.clear();
    ASSERT_TRUE(soon([&] { return agent_server->counters().streams == 0; }));
    for (int i = 0; i < kNodes; ++i) report_cache.forget("n" + std::to_string(i));
    words.clear();  // like the cluster cache after nodes are deleted
    EXPECT_EQ(batcher->waiting(), 0U);
    ASSERT_TRUE(soon([&] { return server->connections() == 0; }));
  }
  void run(const Row& row) {
    for (int line = 0; line < kLines; ++line) {
      const std::string text = row.text(line);
      for (int node = 0; node < kNodes; ++node) say("n" + std::to_string(node), text);
    }
  }

  std::unique_ptr<ReportBatcher> batcher;
  std::map<std::string, std::map<std::string, dialect::KubeletAllocation>> words;
  std::map<std::string, std::unique_ptr<Agent>> agents;
  std::size_t most = 0;
};

// `generous`: without a limit on the rate of an agent.
void suffer(HostileAgents& test, bool generous) {
  AgentServerOptions options;
  if (generous) options.rate_limiter.burst_bytes = std::int64_t{1} << 40U;
  test.make(options);
  // Allocates the buffers that are kept for the largest line.
  test.say("n0", std::string(kLine, 'x') + "\n");
  test.leave();
  const std::size_t before = heap_bytes();
  for (const Row& row : rows()) {
    SCOPED_TRACE(row.name);
    test.most = 0;
    test.run(row);
    // The budgets of the nodes (which include copies), an incomplete line of each, one report that
    // is being read, and the data of this test's own agents.
    constexpr std::size_t kBound = kNodes * (4 + 2) * kMiB + 3 * codec::kReportBytesMax + 8 * kMiB;
    EXPECT_LE(test.most, before + kBound);
    EXPECT_LE(test.report_cache.counters().bytes, kNodes * 4 * kMiB);
    test.leave();
    EXPECT_EQ(test.report_cache.counters().bytes, 0U);
    EXPECT_EQ(test.agent_server->counters().unfinished_bytes, 0U);
    const std::size_t after = heap_bytes();
    EXPECT_LE(after, before + kMiB) << "the heap is back";
  }
}

TEST_F(HostileAgents, TakeSoMuchAndGiveItBack) { suffer(*this, false); }
TEST_F(HostileAgents, TakeSoMuchEvenIfTheyMaySendWithoutEnd) { suffer(*this, true); }

// Reports of a well-behaved node are accepted all the time.
TEST_F(HostileAgents, DoNotKeepOthersFromBeingHeard) {
  make({});
  const auto honest = allow_connect("agent@honest");
  ASSERT_EQ(honest->head->status, 101);
  int told = 0;
  for (const Row& row : rows()) {
    for (int line = 0; line < 3; ++line) say("n0", row.text(line));
    honest->stream->write(fmt::format("{{\"agent\":\"{}\"}}\n", ++told));
    ASSERT_TRUE(soon([&] {
      const NodeReport* node_report = report_cache.node_report("honest");
      return node_report != nullptr && node_report->agent == std::to_string(told);
    })) << row.name;
  }
  EXPECT_EQ(honest->ends, 0);
}

}  // namespace
}  // namespace stowage::reports
