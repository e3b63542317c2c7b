#include "scheduler/picker.h"

#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace stowage::scheduler {
namespace {

using kube::testing::drop;
using kube::testing::FakeApiServer;
using kube::testing::reply;
using kube::testing::run_for;
using kube::testing::run_until;
using std::chrono::milliseconds;
using std::chrono::seconds;

class PickerTest : public ::testing::Test {
 protected:
  PickerTest() {
    options_.url = fmt::format("http://127.0.0.1:{}/pick", server_.config().server.port);
    options_.timeout = seconds{30};
    options_.pause = std::chrono::hours{1};
  }
  Picker& picker() {
    if (!picker_) picker_ = std::make_unique<Picker>(loop_, options_, "mine", log_);
    return *picker_;
  }
  void ask_only() {
    picker().ask({.json = "{}", .offered = {"a", "b"}},
                 [this](const std::string& node) { answers_.push_back(node); });
  }
  // The node, or "-" for the policy's own choice.
  std::string ask() {
    const std::size_t before = answers_.size();
    ask_only();
    EXPECT_TRUE(run_until(loop_, [&] { return answers_.size() > before; }));
    return answers_.back().empty() ? "-" : answers_.back();
  }
  std::uint64_t count(NotPicked why) {
    return picker().counters().not_picked[static_cast<std::size_t>(why)];
  }
  void answer(std::vector<FakeApiServer::Answer> answers) {
    server_.script("POST", "/pick", std::move(answers));
  }
  [[nodiscard]] std::size_t logged(std::string_view words) const {
    std::size_t found = 0;
    for (std::size_t at = logged_.find(words); at != std::string::npos;
         at = logged_.find(words, at + 1)) {
      ++found;
    }
    return found;
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::string logged_;
  base::Log log_{{.write = [this](std::string_view line) { logged_ += line; }}};
  PickerOptions options_;
  std::unique_ptr<Picker> picker_;
  std::vector<std::string> answers_;
};

TEST_F(PickerTest, TheNodeThatItNamesIsTheAnswer) {
  answer({reply(200, R"({"node":"b"})"), reply(200, R"({"node":""})")});
  EXPECT_EQ(ask(), "b");
  EXPECT_EQ(ask(), "-");
  EXPECT_EQ(server_.seen().at(0).header("Content-Type"), "application/json");
  EXPECT_EQ(count(NotPicked::no_opinion), 1U);
  EXPECT_EQ(picker().counters().answers, 2U);
  EXPECT_EQ(picker().counters().in_flight, 0U);
}

TEST_F(PickerTest, WhatCannotBeUsedLeavesThePodToThePolicy) {
  struct Row {
    const char* name;
    FakeApiServer::Answer answer;
    NotPicked why;
  };
  const Row rows[] = {
      {"a node that was not offered", reply(200, R"({"node":"c"})"), NotPicked::bad_answer},
      {"rubbish", reply(200, "hello"), NotPicked::bad_answer},
      {"no body", reply(200, ""), NotPicked::bad_answer},
      {"another status", reply(201, R"({"node":"a"})"), NotPicked::bad_answer},
      {"an error", reply(500, "oops"), NotPicked::bad_answer},
      {"more than it may say", reply(200, std::string(100'000, 'x')), NotPicked::unreachable},
      {"no answer at all", drop(), NotPicked::unreachable},
  };
  for (const auto& row : rows) {
    picker_.reset();
    answer({row.answer});
    EXPECT_EQ(ask(), "-") << row.name;
    EXPECT_EQ(count(row.why), 1U) << row.name;
  }
}

TEST_F(PickerTest, NoPodWaitsLongerThanTheTimeLimit) {
  options_.timeout = milliseconds{20};
  answer({server_.hold()});
  EXPECT_EQ(ask(), "-");
  EXPECT_EQ(count(NotPicked::timed_out), 1U);
}

TEST_F(PickerTest, APickerThatIsNotThereIsNoHarm) {
  server_.stop();
  EXPECT_EQ(ask(), "-");
  EXPECT_EQ(count(NotPicked::unreachable), 1U);
  options_.url = "unix:/nonexistent/picker.sock";
  picker_.reset();
  EXPECT_EQ(ask(), "-");
  EXPECT_EQ(count(NotPicked::unreachable), 1U);
}

TEST_F(PickerTest, NoMoreQuestionsAreUnderWayThanAllowed) {
  options_.in_flight_max = 2;
  answer({server_.hold()});
  ask_only();
  ask_only();
  ask_only();
  EXPECT_EQ(answers_.size(), 1U) << "the third is answered at once";
  EXPECT_EQ(count(NotPicked::busy), 1U);
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 2; }));
  for (const auto& held : server_.held()) held->send({.status = 200, .body = R"({"node":"a"})"});
  EXPECT_TRUE(run_until(loop_, [&] { return answers_.size() == 3; }));
}

TEST_F(PickerTest, AfterFailuresInARowItIsLeftAlone) {
  options_.failures_max = 3;
  answer({reply(500), reply(500), reply(200, R"({"node":"a"})"), reply(500)});
  for (int i = 0; i < 6; ++i) (void)ask();
  EXPECT_TRUE(picker().counters().paused);
  EXPECT_EQ(picker().counters().asked, 6U) << "a success in between starts the count anew";
  ask_only();
  EXPECT_EQ(answers_.size(), 7U) << "at once";
  EXPECT_EQ(count(NotPicked::paused), 1U);
  EXPECT_EQ(picker().counters().asked, 6U);
  EXPECT_EQ(logged("picker gets no requests"), 1U) << logged_;
}

TEST_F(PickerTest, AfterAPauseOneQuestionFindsOutWhetherItWorksAgain) {
  options_.failures_max = 1;
  options_.pause = milliseconds{1};
  answer({reply(500), reply(500), reply(200, R"({"node":"a"})")});
  (void)ask();
  ASSERT_TRUE(run_until(loop_, [&] {
    if (!picker().counters().paused) return true;
    ask_only();
    return false;
  }));
  EXPECT_EQ(picker().counters().asked, 3U) << "one at a time";
  EXPECT_EQ(picker().counters().picked, 1U);
  EXPECT_EQ(logged("picker gets no requests"), 1U) << logged_;
  EXPECT_EQ(logged("picker works again"), 1U) << logged_;
}

TEST_F(PickerTest, NoCallbackComesAfterItsEnd) {
  answer({server_.hold()});
  ask_only();
  ASSERT_TRUE(run_until(loop_, [&] { return !server_.held().empty(); }));
  picker_.reset();
  run_for(loop_, milliseconds{10});
  EXPECT_TRUE(answers_.empty());
}

TEST(PickerUrl, IsHttpOrASocket) {
  EXPECT_TRUE(parse_picker_url("http://127.0.0.1:8900/pick"));
  EXPECT_TRUE(parse_picker_url("unix:/run/picker.sock"));
  for (const char* bad : {"", "https://a/pick", "unix:picker.sock", "127.0.0.1:80", "http://"}) {
    EXPECT_FALSE(parse_picker_url(bad)) << bad;
  }
}

}  // namespace
}  // namespace stowage::scheduler
