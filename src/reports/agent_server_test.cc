#include "reports/agent_server.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "reports/testing/agent_server_fixture.h"

namespace stowage::reports {
namespace {

using namespace std::chrono_literals;
using kube::testing::run_for;
using testing::AgentServerFixture;
using testing::kTokens;

struct AgentServerTest : AgentServerFixture {};

TEST_F(AgentServerTest, LinesGoIntoTheBook) {
  const auto agent = allow_connect("agent@n1");
  ASSERT_EQ(agent->head->status, 101);
  agent->stream->write("{\"version\":1,\"node\":\"n1\",\"agent\":\"0.1\"}\n{\"cards\":[{\"id\":");
  ASSERT_TRUE(soon([&] { return report_cache.node_report("n1") != nullptr; }));
  EXPECT_EQ(report_cache.node_report("n1")->agent, "0.1");
  agent->stream->write("\"GPU-a\",\"index\":0}]}\n\n");
  ASSERT_TRUE(soon([&] { return report_cache.node_report("n1")->cards.size() == 1; }));
  EXPECT_EQ(agent_server->counters().streams, 1U);
}

TEST_F(AgentServerTest, WhoIsNotAnAgentOfANodeIsRefused) {
  const struct {
    const char* token;
    int status;
    const char* words;
  } cases[] = {
      {"somebody@n1", 403, "somebody is not in agents.allowedUsers"},
      {"agent", 403, "does not name the node"},
      {"agent@", 403, "does not name the node"},
      {"", 401, "bearer token"},
  };
  for (const auto& [token, status, words] : cases) {
    const auto agent = allow_connect(token);
    ASSERT_TRUE(agent->head) << token;
    EXPECT_EQ(agent->head->status, status) << token;
    EXPECT_NE(agent->head->body.find(words), std::string::npos) << agent->head->body;
  }
  EXPECT_EQ(allow_connect("agent@n1", "")->head->status, 426);
  EXPECT_EQ(report_cache.counters().nodes, 0U);
  EXPECT_EQ(agent_server->counters().refused, 4U);
}

TEST_F(AgentServerTest, NoAgentReportsForAnotherNode) {
  const auto agent = allow_connect("agent@n1");
  agent->stream->write("{\"version\":1,\"node\":\"n2\"}\n");
  ASSERT_TRUE(soon([&] { return agent->ends == 1; }));
  EXPECT_EQ(report_cache.node_report("n2"), nullptr);
  EXPECT_NE(lines.find("reports for node n2"), std::string::npos) << lines;
}

TEST_F(AgentServerTest, WhatCannotBeReadEndsTheStream) {
  make({.line_bytes_max = 100});
  for (const std::string& line :
       {std::string("nonsense\n"), std::string("{\"load\":[{}]}\n"), std::string(200, 'x')}) {
    const auto agent = allow_connect("agent@n1");
    ASSERT_EQ(agent->head->status, 101);
    agent->stream->write(line);
    ASSERT_TRUE(soon([&] { return agent->ends == 1; })) << line;
  }
  EXPECT_EQ(agent_server->counters().unread, 3U);
  EXPECT_EQ(agent_server->counters().streams, 0U);
}

TEST_F(AgentServerTest, TheOneThatCameLastIsHeard) {
  const auto first = allow_connect("agent@n1");
  const auto second = allow_connect("agent@n1");
  ASSERT_TRUE(soon([&] { return first->ends == 1; }));
  second->stream->write("{\"agent\":\"2\"}\n");
  ASSERT_TRUE(soon([&] { return report_cache.node_report("n1") != nullptr; }));
  EXPECT_EQ(agent_server->counters().streams, 1U);
  EXPECT_EQ(second->ends, 0);
}

TEST_F(AgentServerTest, WhoSaysNothingIsSentAwayAndOthersHearFromUs) {
  make({.patience = 60ms, .beat = 10ms});
  const auto quiet = allow_connect("agent@n1");
  const auto busy = allow_connect("agent@n2");
  for (int i = 0; i < 20; ++i) {
    busy->stream->write("{}\n");
    run_for(loop, 10ms);
  }
  EXPECT_EQ(quiet->ends, 1);
  EXPECT_EQ(busy->ends, 0);
  EXPECT_GE(busy->heard.size(), 3U);
  EXPECT_EQ(busy->heard.find_first_not_of('\n'), std::string::npos);
  EXPECT_EQ(agent_server->counters().expired, 1U);
}

TEST_F(AgentServerTest, AReplicaThatDoesNotLeadSendsAgentsOn) {
  const auto before = allow_connect("agent@n1");
  place = {.here = false, .url = "https://10.0.0.7:10362"};
  agent_server->send_away();
  ASSERT_TRUE(soon([&] { return before->ends == 1; }));
  const auto agent = allow_connect("agent@n1");
  EXPECT_EQ(agent->head->status, 307);
  EXPECT_EQ(net::find_header(agent->head->headers, "location"),
            "https://10.0.0.7:10362/agent/v1/reports");
  place.url.clear();
  EXPECT_EQ(allow_connect("agent@n1")->head->status, 503) << "nobody knows who leads";
}

TEST_F(AgentServerTest, TheAgentOfANodeThatWasForgottenComesAgain) {
  const auto first = allow_connect("agent@n1");
  const auto second = allow_connect("agent@n2");
  ASSERT_EQ(agent_server->counters().streams, 2U);
  agent_server->send_away("n1");
  agent_server->send_away("nobody");
  ASSERT_TRUE(soon([&] { return first->ends == 1; }));
  EXPECT_EQ(agent_server->counters().streams, 1U);
  EXPECT_EQ(second->ends, 0);
}

TEST_F(AgentServerTest, LimitsTheNumberOfStreams) {
  make({.streams_max = 1});
  const auto first = allow_connect("agent@n1");
  EXPECT_EQ(allow_connect("agent@n2")->head->status, 503);
  const auto again = allow_connect("agent@n1");
  EXPECT_EQ(again->head->status, 101) << "takes its own place";
}

TEST_F(AgentServerTest, WhatIsTooMuchEndsTheStreamAndIsSaid) {
  ReportCache small({.node_bytes_max = 20'000});
  agent_server.reset();
  agent_server = std::make_unique<AgentServer>(
      AgentServerOptions{.accounts = {testing::kAccount}, .look = 5ms},
      AgentServer::Deps{
          .auth = auth, .report_cache = small, .loop = loop, .log = log, .place = [this] {
            return place;
          }});
  const auto agent = allow_connect("agent@n1");
  std::string line = R"({"pods":{"now":[)";
  for (int i = 0; i < 100; ++i) {
    line += fmt::format(R"({}{{"namespace":"a","name":"p{}"}})", i == 0 ? "" : ",", i);
  }
  agent->stream->write(line + "]}}\n");
  ASSERT_TRUE(soon([&] { return agent->ends == 1; }));
  EXPECT_EQ(agent_server->counters().overfull, 1U);
  EXPECT_NE(lines.find("may take at most 20000 bytes"), std::string::npos) << lines;
  EXPECT_GT(small.node_report("n1")->pods.size(), 5U) << "what there is room for is known";
  agent_server.reset();
}

TEST_F(AgentServerTest, WhoSendsTooMuchOrComesTooOftenHasToWait) {
  make({.rate_limiter = {
            .burst_bytes = 10'000, .bytes_per_second = 1'000, .bytes_of_coming = 1'000}});
  const auto agent = allow_connect("agent@n1");
  agent->stream->write("{}\n" + std::string(20'000, ' ') + "\n");
  ASSERT_TRUE(soon([&] { return agent->ends == 1; }));
  EXPECT_EQ(allow_connect("agent@n1")->head->status, 429);
  EXPECT_EQ(allow_connect("agent@n2")->head->status, 101) << "another node";
  int let_in = 0;
  for (int i = 0; i < 30; ++i) let_in += allow_connect("agent@n3")->head->status == 101 ? 1 : 0;
  EXPECT_LE(let_in, 12);
  EXPECT_GT(agent_server->counters().overspent, 15U);
  EXPECT_EQ(lines.find("too long"), lines.rfind("too long")) << "said once: " << lines;
}

TEST_F(AgentServerTest, LinesThatDoNotEndHaveABudgetTogether) {
  make({.streams_max = 10, .unfinished_bytes_max = 100'000});  // an equal part: 10,000
  std::vector<std::unique_ptr<Agent>> agents;
  for (int i = 0; i < 5; ++i) {
    agents.push_back(allow_connect("agent@n" + std::to_string(i)));
    agents.back()->stream->write(std::string(40'000, 'x'));
    run_for(loop, 20ms);
  }
  EXPECT_LE(agent_server->counters().unfinished_bytes, 100'000U);
  EXPECT_GE(agent_server->counters().overfull, 2U);
  const auto small = allow_connect("agent@small");
  small->stream->write(std::string(2'000, ' '));
  run_for(loop, 20ms);
  EXPECT_EQ(small->ends, 0) << "one that needs little";
  agents.clear();
  ASSERT_TRUE(soon([&] { return agent_server->counters().unfinished_bytes < 10'000; }));
}

TEST_F(AgentServerTest, GoesWhileAgentsTalkAndAsk) {
  const auto agent = allow_connect("agent@n1");
  api.script("POST", kTokens, {api.hold()});
  auto asking = http->open(
      {.target = codec::kReportsPath,
       .headers = {{"Authorization", "Bearer agent@n3"}, {"Upgrade", codec::kReportsProtocol}}},
      {}, {});
  ASSERT_TRUE(soon([&] { return !api.held().empty(); }));
  agent->stream->write("{}\n");
  agent_server.reset();
  make({});
  api.held().front()->send({.status = 201, .body = "{}"});
  ASSERT_TRUE(soon([&] { return agent->ends == 1; }));
}

}  // namespace
}  // namespace stowage::reports
