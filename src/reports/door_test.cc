#include "reports/door.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "reports/testing/at_door.h"

namespace stowage::reports {
namespace {

using namespace std::chrono_literals;
using kube::testing::run_for;
using testing::AtDoor;
using testing::kTokens;

struct DoorTest : AtDoor {};

TEST_F(DoorTest, LinesGoIntoTheBook) {
  const auto agent = come("agent@n1");
  ASSERT_EQ(agent->head->status, 101);
  agent->stream->write("{\"version\":1,\"node\":\"n1\",\"agent\":\"0.1\"}\n{\"cards\":[{\"id\":");
  ASSERT_TRUE(soon([&] { return book.page("n1") != nullptr; }));
  EXPECT_EQ(book.page("n1")->agent, "0.1");
  agent->stream->write("\"GPU-a\",\"index\":0}]}\n\n");
  ASSERT_TRUE(soon([&] { return book.page("n1")->cards.size() == 1; }));
  EXPECT_EQ(door->counters().streams, 1U);
}

TEST_F(DoorTest, WhoIsNotAnAgentOfANodeIsRefused) {
  const struct {
    const char* token;
    int status;
    const char* words;
  } cases[] = {
      {"somebody@n1", 403, "somebody is not an account of our agents"},
      {"agent", 403, "does not say which node"},
      {"agent@", 403, "does not say which node"},
      {"", 401, "bearer token"},
  };
  for (const auto& [token, status, words] : cases) {
    const auto agent = come(token);
    ASSERT_TRUE(agent->head) << token;
    EXPECT_EQ(agent->head->status, status) << token;
    EXPECT_NE(agent->head->body.find(words), std::string::npos) << agent->head->body;
  }
  EXPECT_EQ(come("agent@n1", "")->head->status, 426);
  EXPECT_EQ(book.counters().nodes, 0U);
  EXPECT_EQ(door->counters().refused, 4U);
}

TEST_F(DoorTest, NobodySpeaksForAnotherNode) {
  const auto agent = come("agent@n1");
  agent->stream->write("{\"version\":1,\"node\":\"n2\"}\n");
  ASSERT_TRUE(soon([&] { return agent->ends == 1; }));
  EXPECT_EQ(book.page("n2"), nullptr);
  EXPECT_NE(lines.find("speaks for node n2"), std::string::npos) << lines;
}

TEST_F(DoorTest, WhatCannotBeReadEndsTheStream) {
  make({.line_bytes_max = 100});
  for (const std::string& line :
       {std::string("nonsense\n"), std::string("{\"load\":[{}]}\n"), std::string(200, 'x')}) {
    const auto agent = come("agent@n1");
    ASSERT_EQ(agent->head->status, 101);
    agent->stream->write(line);
    ASSERT_TRUE(soon([&] { return agent->ends == 1; })) << line;
  }
  EXPECT_EQ(door->counters().unread, 3U);
  EXPECT_EQ(door->counters().streams, 0U);
}

TEST_F(DoorTest, TheOneThatCameLastIsHeard) {
  const auto first = come("agent@n1");
  const auto second = come("agent@n1");
  ASSERT_TRUE(soon([&] { return first->ends == 1; }));
  second->stream->write("{\"agent\":\"2\"}\n");
  ASSERT_TRUE(soon([&] { return book.page("n1") != nullptr; }));
  EXPECT_EQ(door->counters().streams, 1U);
  EXPECT_EQ(second->ends, 0);
}

TEST_F(DoorTest, WhoSaysNothingIsSentAwayAndOthersHearFromUs) {
  make({.patience = 60ms, .beat = 10ms});
  const auto quiet = come("agent@n1");
  const auto busy = come("agent@n2");
  for (int i = 0; i < 20; ++i) {
    busy->stream->write("{}\n");
    run_for(loop, 10ms);
  }
  EXPECT_EQ(quiet->ends, 1);
  EXPECT_EQ(busy->ends, 0);
  EXPECT_GE(busy->heard.size(), 3U);
  EXPECT_EQ(busy->heard.find_first_not_of('\n'), std::string::npos);
  EXPECT_EQ(door->counters().expired, 1U);
}

TEST_F(DoorTest, AReplicaThatDoesNotLeadSendsAgentsOn) {
  const auto before = come("agent@n1");
  place = {.here = false, .url = "https://10.0.0.7:10362"};
  door->send_away();
  ASSERT_TRUE(soon([&] { return before->ends == 1; }));
  const auto agent = come("agent@n1");
  EXPECT_EQ(agent->head->status, 307);
  EXPECT_EQ(net::find_header(agent->head->headers, "location"),
            "https://10.0.0.7:10362/agent/v1/reports");
  place.url.clear();
  EXPECT_EQ(come("agent@n1")->head->status, 503) << "nobody knows who leads";
}

TEST_F(DoorTest, TheAgentOfANodeThatWasForgottenComesAgain) {
  const auto first = come("agent@n1");
  const auto second = come("agent@n2");
  ASSERT_EQ(door->counters().streams, 2U);
  door->send_away("n1");
  door->send_away("nobody");
  ASSERT_TRUE(soon([&] { return first->ends == 1; }));
  EXPECT_EQ(door->counters().streams, 1U);
  EXPECT_EQ(second->ends, 0);
}

TEST_F(DoorTest, HasRoomForSoMany) {
  make({.streams_max = 1});
  const auto first = come("agent@n1");
  EXPECT_EQ(come("agent@n2")->head->status, 503);
  const auto again = come("agent@n1");
  EXPECT_EQ(again->head->status, 101) << "takes its own place";
}

TEST_F(DoorTest, WhatIsTooMuchEndsTheStreamAndIsSaid) {
  Book small({.node_bytes_max = 20'000});
  door.reset();
  door = std::make_unique<Door>(
      DoorOptions{.accounts = {testing::kAccount}, .look = 5ms},
      Door::Ends{.gate = gate, .book = small, .loop = loop, .log = log, .place = [this] {
                   return place;
                 }});
  const auto agent = come("agent@n1");
  std::string line = R"({"pods":{"now":[)";
  for (int i = 0; i < 100; ++i) {
    line += fmt::format(R"({}{{"namespace":"a","name":"p{}"}})", i == 0 ? "" : ",", i);
  }
  agent->stream->write(line + "]}}\n");
  ASSERT_TRUE(soon([&] { return agent->ends == 1; }));
  EXPECT_EQ(door->counters().overfull, 1U);
  EXPECT_NE(lines.find("may take 20000 bytes here"), std::string::npos) << lines;
  EXPECT_GT(small.page("n1")->pods.size(), 5U) << "what there is room for is known";
  door.reset();
}

TEST_F(DoorTest, WhoSendsTooMuchOrComesTooOftenHasToWait) {
  make({.allowance = {.burst_bytes = 10'000, .bytes_per_second = 1'000, .bytes_of_coming = 1'000}});
  const auto agent = come("agent@n1");
  agent->stream->write("{}\n" + std::string(20'000, ' ') + "\n");
  ASSERT_TRUE(soon([&] { return agent->ends == 1; }));
  EXPECT_EQ(come("agent@n1")->head->status, 429);
  EXPECT_EQ(come("agent@n2")->head->status, 101) << "another node";
  int let_in = 0;
  for (int i = 0; i < 30; ++i) let_in += come("agent@n3")->head->status == 101 ? 1 : 0;
  EXPECT_LE(let_in, 12);
  EXPECT_GT(door->counters().overspent, 15U);
  EXPECT_EQ(lines.find("too long"), lines.rfind("too long")) << "said once: " << lines;
}

TEST_F(DoorTest, LinesThatDoNotEndHaveABudgetTogether) {
  make({.streams_max = 10, .unfinished_bytes_max = 100'000});  // an equal part: 10,000
  std::vector<std::unique_ptr<Agent>> agents;
  for (int i = 0; i < 5; ++i) {
    agents.push_back(come("agent@n" + std::to_string(i)));
    agents.back()->stream->write(std::string(40'000, 'x'));
    run_for(loop, 20ms);
  }
  EXPECT_LE(door->counters().unfinished_bytes, 100'000U);
  EXPECT_GE(door->counters().overfull, 2U);
  const auto small = come("agent@small");
  small->stream->write(std::string(2'000, ' '));
  run_for(loop, 20ms);
  EXPECT_EQ(small->ends, 0) << "one that needs little";
  agents.clear();
  ASSERT_TRUE(soon([&] { return door->counters().unfinished_bytes < 10'000; }));
}

TEST_F(DoorTest, GoesWhileAgentsTalkAndAsk) {
  const auto agent = come("agent@n1");
  api.script("POST", kTokens, {api.hold()});
  auto asking = http->open(
      {.target = codec::kReportsPath,
       .headers = {{"Authorization", "Bearer agent@n3"}, {"Upgrade", codec::kReportsProtocol}}},
      {}, {});
  ASSERT_TRUE(soon([&] { return !api.held().empty(); }));
  agent->stream->write("{}\n");
  door.reset();
  make({});
  api.held().front()->send({.status = 201, .body = "{}"});
  ASSERT_TRUE(soon([&] { return agent->ends == 1; }));
}

}  // namespace
}  // namespace stowage::reports
