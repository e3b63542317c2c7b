#include "kube/reflector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace stowage::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FakeApiServer;
using testing::refuse;
using testing::reply;
using testing::run_until;
using testing::SeenRequest;
using testing::StreamEnd;

std::string object(const std::string& name, int version) {
  return fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}}}})", name, version);
}
std::string event(const char* type, const std::string& json) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, json);
}
std::string bookmark(int version) { return event("BOOKMARK", object("", version)); }
std::string error_event(int code, const std::string& reason) {
  return event("ERROR", testing::status_json(code, reason, "words"));
}
std::string list_json(const std::vector<std::string>& items, int version,
                      const std::string& more = "") {
  return fmt::format(R"({{"kind":"PodList","metadata":{{"resourceVersion":"{}","continue":"{}"}},)"
                     R"("items":[{}]}})",
                     version, more, fmt::join(items, ","));
}

// Records its callbacks, one word each: "[" and "]5" for a list, "=json" for an item.
class Diary : public ReflectorSink {
 public:
  void on_list_begin() override { note("["); }
  void on_item(std::string_view json) override { note("=" + std::string(json)); }
  void on_list_end(std::string_view version) override { note("]" + std::string(version)); }
  void on_event(WatchType type, std::string_view json) override {
    const char* sign = type == WatchType::added ? "+" : type == WatchType::modified ? "~" : "-";
    note(sign + std::string(json));
  }
  void on_status(const ReflectorStatus& status) override { statuses.push_back(status); }
  void on_bad_line(const std::string& error) override { bad_lines.push_back(error); }

  void note(std::string word) {
    words.push_back(std::move(word));
    if (on_note) on_note(words.back());
  }

  std::vector<std::string> words;
  std::vector<std::string> bad_lines;
  std::vector<ReflectorStatus> statuses;
  std::function<void(const std::string&)> on_note;
};

constexpr const char* kPath = "/api/v1/pods";

class ReflectorTest : public ::testing::Test {
 protected:
  // List and watch share the path: the query tells them apart.
  void script(std::vector<FakeApiServer::Answer> lists,
              std::vector<FakeApiServer::Answer> watches) {
    lists_ = {lists.begin(), lists.end()};
    watches_ = {watches.begin(), watches.end()};
    server_.script("GET", kPath,
                   {[this](const SeenRequest& request, std::shared_ptr<net::Responder> responder) {
                     const bool watch = request.query("watch") == "1";
                     auto& answers = watch ? watches_ : lists_;
                     (watch ? watch_asks_ : list_asks_).push_back(request);
                     const FakeApiServer::Answer answer = answers.front();
                     if (answers.size() > 1) answers.pop_front();
                     answer(request, std::move(responder));
                   }});
  }

  Reflector& start(ReflectorOptions options = {}) {
    options.path = kPath;
    options.backoff_min = std::min<net::Duration>(options.backoff_min, milliseconds{2});
    options.backoff_max = milliseconds{10};
    client_ = server_.client();
    reflector_ = std::make_unique<Reflector>(*client_, options, diary_);
    reflector_->start();
    return *reflector_;
  }

  [[nodiscard]] bool words_are(const std::vector<std::string>& wanted) {
    const bool come = run_until(loop_, [&] { return diary_.words.size() >= wanted.size(); });
    EXPECT_EQ(diary_.words, wanted);
    return come && diary_.words == wanted;
  }
  [[nodiscard]] bool is_live() {
    return run_until(loop_, [&] { return reflector_->status().phase == ReflectorPhase::live; });
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::deque<FakeApiServer::Answer> lists_;
  std::deque<FakeApiServer::Answer> watches_;
  std::vector<SeenRequest> list_asks_;
  std::vector<SeenRequest> watch_asks_;
  Diary diary_;
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<Reflector> reflector_;
};

TEST_F(ReflectorTest, ListsInPagesThenWatchesFromTheListsVersion) {
  script({reply(200, list_json({object("a", 1), object("b", 2)}, 7, "to ken")),
          reply(200, list_json({object("c", 3)}, 7))},
         {server_.stream({event("ADDED", object("d", 8)), event("MODIFIED", object("a", 9)),
                          event("DELETED", object("b", 10))},
                         StreamEnd::open)});
  start({.field_selector = "status.phase!=Failed", .label_selector = "a=b", .page_limit = 2});
  ASSERT_TRUE(words_are({"[", "=" + object("a", 1), "=" + object("b", 2), "=" + object("c", 3),
                         "]7", "+" + object("d", 8), "~" + object("a", 9), "-" + object("b", 10)}));
  ASSERT_EQ(list_asks_.size(), 2U);
  EXPECT_EQ(list_asks_[0].query("limit"), "2");
  EXPECT_EQ(list_asks_[0].query("continue"), "");
  EXPECT_EQ(list_asks_[0].query("fieldSelector"), "status.phase!=Failed");
  EXPECT_EQ(list_asks_[0].query("labelSelector"), "a=b");
  EXPECT_EQ(list_asks_[1].query("continue"), "to ken");
  ASSERT_EQ(watch_asks_.size(), 1U);
  EXPECT_EQ(watch_asks_[0].query("resourceVersion"), "7");
  EXPECT_EQ(watch_asks_[0].query("allowWatchBookmarks"), "true");
  EXPECT_EQ(watch_asks_[0].query("fieldSelector"), "status.phase!=Failed");
  const int length = std::stoi(watch_asks_[0].query("timeoutSeconds"));
  EXPECT_GE(length, 300);
  EXPECT_LE(length, 600);
  EXPECT_EQ(reflector_->resource_version(), "10");
  EXPECT_EQ(reflector_->status().phase, ReflectorPhase::live);
  EXPECT_TRUE(reflector_->status().synced);
}

TEST_F(ReflectorTest, OthersOnTheLoopDoNotWaitForAWholePage) {
  std::vector<std::string> items;
  for (int i = 0; i < 500; ++i) items.push_back(object(fmt::format("p{}", i), i + 1));
  script({reply(200, list_json(items, 500))}, {server_.stream({}, StreamEnd::open)});
  std::size_t seen = 0;  // number of words when another task, posted after the first item, had its
                         // turn
  diary_.on_note = [&](const std::string&) {
    if (diary_.words.size() == 2) loop_.post([&] { seen = diary_.words.size(); });
  };
  start();
  ASSERT_TRUE(is_live());
  EXPECT_EQ(diary_.words.size(), 502U);
  EXPECT_EQ(diary_.words.back(), "]500");
  EXPECT_GE(seen, 2U);
  EXPECT_LE(seen, 101U);
}

TEST_F(ReflectorTest, ACleanEndIsFollowedByAWatchFromTheLastVersion) {
  script({reply(200, list_json({}, 5))},
         {server_.stream({event("ADDED", object("a", 6))}, StreamEnd::clean),
          server_.stream({bookmark(9)}, StreamEnd::clean),
          server_.stream({event("ADDED", object("b", 10))}, StreamEnd::open)});
  start();
  ASSERT_TRUE(words_are({"[", "]5", "+" + object("a", 6), "+" + object("b", 10)}));
  ASSERT_EQ(watch_asks_.size(), 3U);
  EXPECT_EQ(watch_asks_[1].query("resourceVersion"), "6");
  EXPECT_EQ(watch_asks_[2].query("resourceVersion"), "9");
  EXPECT_EQ(reflector_->counters().lists, 1U);
  EXPECT_EQ(reflector_->counters().bookmarks, 1U);
  EXPECT_EQ(reflector_->counters().failures, 0U);
  for (const ReflectorStatus& status : diary_.statuses) {
    EXPECT_NE(status.phase, ReflectorPhase::disconnected);
  }
}

TEST_F(ReflectorTest, EventsAreWholeHoweverTheBytesAreCut) {
  const std::string text = event("ADDED", object("a", 6)) + event("ADDED", object("b", 7));
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size(); at += 7) pieces.push_back(text.substr(at, 7));
  script({reply(200, list_json({}, 5))}, {server_.stream(pieces, StreamEnd::open)});
  start();
  ASSERT_TRUE(words_are({"[", "]5", "+" + object("a", 6), "+" + object("b", 7)}));
  EXPECT_EQ(reflector_->resource_version(), "7");
}

TEST_F(ReflectorTest, AConnectionThatDropsInTheMiddleOfALineLosesNothing) {
  const std::string half = event("ADDED", object("b", 7)).substr(0, 20);
  script({reply(200, list_json({}, 5))},
         {server_.stream({event("ADDED", object("a", 6)), half}, StreamEnd::drop),
          server_.stream({event("ADDED", object("b", 7))}, StreamEnd::open)});
  start();
  ASSERT_TRUE(words_are({"[", "]5", "+" + object("a", 6), "+" + object("b", 7)}));
  EXPECT_EQ(watch_asks_.at(1).query("resourceVersion"), "6");
  EXPECT_EQ(reflector_->counters().failures, 1U);
  bool seen = false;
  for (const ReflectorStatus& status : diary_.statuses) {
    seen = seen || (status.phase == ReflectorPhase::disconnected && !status.error.empty());
  }
  EXPECT_TRUE(seen);
  ASSERT_TRUE(is_live());
  EXPECT_EQ(reflector_->status().error, "");
}

TEST_F(ReflectorTest, ListsAgainWhenItsVersionHasExpired) {
  struct Row {
    const char* name;
    FakeApiServer::Answer answer;
  };
  for (const Row& row :
       {Row{"as a reply", refuse(410, "Expired", "too old resource version")},
        Row{"inside the stream", server_.stream({error_event(410, "Expired")}, StreamEnd::open)}}) {
    diary_ = {};
    script({reply(200, list_json({object("a", 1)}, 5)), reply(200, list_json({object("b", 2)}, 9))},
           {row.answer, server_.stream({}, StreamEnd::open)});
    watch_asks_.clear();
    start();
    ASSERT_TRUE(words_are({"[", "=" + object("a", 1), "]5", "[", "=" + object("b", 2), "]9"}))
        << row.name;
    ASSERT_TRUE(is_live()) << row.name;
    EXPECT_EQ(watch_asks_.at(1).query("resourceVersion"), "9") << row.name;
    EXPECT_EQ(reflector_->counters().failures, 0U) << row.name;
    reflector_.reset();
  }
}

TEST_F(ReflectorTest, AServerThatAlwaysExpiresIsNotAskedWithoutAPause) {
  script({reply(200, list_json({}, 5))}, {refuse(410, "Expired", "no")});
  start();
  ASSERT_TRUE(run_until(loop_, [&] { return reflector_->counters().expired >= 6; }));
  EXPECT_GE(reflector_->counters().failures, 4U);
}

TEST_F(ReflectorTest, AListThatExpiresBetweenPagesRestartsAndThenInOnePiece) {
  const FakeApiServer::Answer first = reply(200, list_json({object("a", 1)}, 5, "next"));
  const FakeApiServer::Answer expired = refuse(410, "Expired", "the continue token is too old");
  script({first, expired, first, expired, reply(200, list_json({object("a", 1)}, 8))},
         {server_.stream({}, StreamEnd::open)});
  start();
  ASSERT_TRUE(words_are(
      {"[", "=" + object("a", 1), "[", "=" + object("a", 1), "[", "=" + object("a", 1), "]8"}));
  EXPECT_EQ(list_asks_.at(2).query("continue"), "");
  EXPECT_EQ(list_asks_.at(2).query("limit"), "500");
  EXPECT_EQ(list_asks_.at(4).query("limit"), "0");
}

TEST_F(ReflectorTest, AFailedListIsTriedAgainAndThePhaseSaysWhy) {
  script({testing::drop(), refuse(403, "Forbidden", "pods is forbidden"), reply(200, "no json"),
          reply(200, R"({"items":[]})"), reply(200, list_json({}, 5))},
         {server_.stream({}, StreamEnd::open)});
  start();
  ASSERT_TRUE(is_live());
  std::string errors;
  for (const ReflectorStatus& status : diary_.statuses) {
    if (status.phase == ReflectorPhase::disconnected) errors += status.error + "\n";
    EXPECT_FALSE(status.synced && status.phase != ReflectorPhase::live);
  }
  EXPECT_NE(errors.find("cannot list /api/v1/pods: 403 Forbidden: pods is forbidden; grant"),
            std::string::npos)
      << errors;
  EXPECT_NE(errors.find("it has no resourceVersion"), std::string::npos) << errors;
  EXPECT_EQ(reflector_->counters().lists, 5U);
  EXPECT_EQ(reflector_->counters().failures, 4U);
}

TEST_F(ReflectorTest, AnErrorInTheStreamIsFollowedByAPauseAndAWatchFromTheLastVersion) {
  script({reply(200, list_json({}, 5))},
         {server_.stream({event("ADDED", object("a", 6)), error_event(500, "InternalError")},
                         StreamEnd::open),
          refuse(504, "Timeout", "Too large resource version"),
          server_.stream({event("ADDED", object("b", 7))}, StreamEnd::open)});
  start();
  ASSERT_TRUE(words_are({"[", "]5", "+" + object("a", 6), "+" + object("b", 7)}));
  EXPECT_EQ(watch_asks_.at(1).query("resourceVersion"), "6");
  EXPECT_EQ(watch_asks_.at(2).query("resourceVersion"), "6");
  EXPECT_EQ(reflector_->counters().failures, 2U);
  EXPECT_EQ(reflector_->counters().lists, 1U);
}

TEST_F(ReflectorTest, WatchesThatNeverBringAnythingEndInANewList) {
  script({reply(200, list_json({}, 500)), reply(200, list_json({}, 3))},
         {refuse(504, "Timeout", "x"), refuse(504, "Timeout", "x"), refuse(504, "Timeout", "x"),
          refuse(504, "Timeout", "x"), refuse(504, "Timeout", "x"),
          server_.stream({}, StreamEnd::open)});
  start();
  ASSERT_TRUE(words_are({"[", "]500", "[", "]3"}));
  ASSERT_TRUE(is_live());
  EXPECT_EQ(watch_asks_.back().query("resourceVersion"), "3");
}

TEST_F(ReflectorTest, AVersionThatTheServerDoesNotUnderstandEndsInANewList) {
  script({reply(200, list_json({}, 500)), reply(200, list_json({}, 3))},
         {refuse(400, "BadRequest", "invalid version"), server_.stream({}, StreamEnd::open)});
  start();
  ASSERT_TRUE(words_are({"[", "]500", "[", "]3"}));
}

TEST_F(ReflectorTest, WatchesThatEndAtOnceArePaused) {
  script({reply(200, list_json({}, 5))}, {server_.stream({}, StreamEnd::clean)});
  start();
  ASSERT_TRUE(run_until(loop_, [&] { return reflector_->counters().failures >= 3; }));
}

TEST_F(ReflectorTest, ABadLineIsReportedAndPassedOver) {
  const std::string huge = event("ADDED", object(std::string(2000, 'x'), 6));
  script({reply(200, list_json({}, 5))}, {server_.stream({"not json\n",
                                                          R"({"type":"NEWS","object":{}})"
                                                          "\n",
                                                          huge, event("ADDED", object("a", 7))},
                                                         StreamEnd::open)});
  start({.line_bytes_max = 1000});
  ASSERT_TRUE(words_are({"[", "]5", "+" + object("a", 7)}));
  ASSERT_EQ(diary_.bad_lines.size(), 3U);
  EXPECT_EQ(diary_.bad_lines[2],
            "watch /api/v1/pods: an event is skipped: an event is longer than 1000 bytes");
  EXPECT_EQ(reflector_->counters().bad_lines, 3U);
}

TEST_F(ReflectorTest, ASilentWatchIsReopened) {
  script({reply(200, list_json({}, 5))},
         {server_.stream({}, StreamEnd::open),
          server_.stream({event("ADDED", object("a", 6))}, StreamEnd::open)});
  start({.watch_min = milliseconds{20},
         .watch_max = milliseconds{20},
         .silence_grace = milliseconds{20}});
  ASSERT_TRUE(words_are({"[", "]5", "+" + object("a", 6)}));
  EXPECT_EQ(watch_asks_.at(0).query("timeoutSeconds"), "1");
}

TEST_F(ReflectorTest, ListsAgainWhenAsked) {
  script({reply(200, list_json({}, 5)), reply(200, list_json({}, 6))},
         {server_.stream({}, StreamEnd::open)});
  start();
  ASSERT_TRUE(is_live());
  diary_.on_note = [&](const std::string& word) {
    if (word == "]6") diary_.on_note = nullptr;
  };
  reflector_->relist();
  ASSERT_TRUE(words_are({"[", "]5", "[", "]6"}));
  ASSERT_TRUE(is_live());
}

// A lost event is always made up for, at once or later.
TEST_F(ReflectorTest, AListThatIsAskedForTooSoonIsPutOff) {
  script({reply(200, list_json({}, 5)), reply(200, list_json({}, 6)), reply(200, list_json({}, 7)),
          reply(200, list_json({}, 8))},
         {server_.stream({}, StreamEnd::open)});
  start({.relist_every = milliseconds{300}});
  ASSERT_TRUE(is_live());
  const auto began = loop_.now();
  reflector_->relist_soon();
  ASSERT_TRUE(words_are({"[", "]5", "[", "]6"}));
  ASSERT_TRUE(is_live());
  for (int i = 0; i < 10; ++i) reflector_->relist_soon();
  testing::run_for(loop_, milliseconds{50});
  EXPECT_EQ(diary_.words.size(), 4U) << "not at once";
  ASSERT_TRUE(words_are({"[", "]5", "[", "]6", "[", "]7"}));
  EXPECT_GE(loop_.now() - began, milliseconds{300});
  testing::run_for(loop_, milliseconds{400});
  EXPECT_EQ(diary_.words.size(), 6U) << "once for all of them";
  reflector_->relist_soon();
  reflector_->stop();
  testing::run_for(loop_, milliseconds{20});
  EXPECT_EQ(diary_.words.size(), 6U);
}

TEST_F(ReflectorTest, MayBeStoppedOrDestroyedInAnyCallback) {
  for (const std::string& moment :
       {std::string("["), "=" + object("a", 1), std::string("]5"), "+" + object("b", 6)}) {
    for (const bool destroy : {false, true}) {
      diary_ = {};
      script({reply(200, list_json({object("a", 1), object("c", 1)}, 5))},
             {server_.stream({event("ADDED", object("b", 6)) + event("ADDED", object("d", 7))},
                             StreamEnd::open)});
      start();
      bool stopped = false;
      diary_.on_note = [&](const std::string& word) {
        EXPECT_FALSE(stopped) << word;
        if (word != moment) return;
        stopped = true;
        if (destroy) {
          reflector_.reset();
        } else {
          reflector_->stop();
        }
      };
      ASSERT_TRUE(run_until(loop_, [&] { return stopped; })) << moment;
      testing::run_for(loop_, milliseconds{20});
      EXPECT_EQ(diary_.words.back(), moment);
      diary_.on_note = nullptr;
      reflector_.reset();
    }
  }
}

}  // namespace
}  // namespace stowage::kube
