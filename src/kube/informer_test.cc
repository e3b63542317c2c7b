#include "kube/informer.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "codec/kubernetes.h"
#include "kube/testing/fake_api_server.h"

namespace stowage::kube {
namespace {

using std::chrono::milliseconds;
using testing::FakeApiServer;
using testing::refuse;
using testing::reply;
using testing::run_for;
using testing::run_until;
using testing::SeenRequest;
using testing::StreamEnd;

constexpr const char* kPath = "/apis/example.com/v1/widgets";

std::string widget(const std::string& name, const std::string& more = "") {
  return fmt::format(R"({{"metadata":{{"name":"{}"}}{}}})", name, more);
}
std::string unreadable_widget(const std::string& name) { return widget(name, R"(,"bad":1)"); }
const std::string kNameless = R"({"bad":1})";
std::string event(const char* type, const std::string& json) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, json);
}
const std::string kExpired = event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired"})");
FakeApiServer::Answer list(const std::vector<std::string>& items) {
  return reply(200, fmt::format(R"({{"metadata":{{"resourceVersion":"7"}},"items":[{}]}})",
                                fmt::join(items, ",")));
}

struct Widget {
  std::string name;
};

// Records its callbacks: "[", "|" and "]" for a list, "+name", "-name", "?name".
class Diary final : public InformerHandler<Widget> {
 public:
  Result<Widget> decode(std::string_view json) override {
    if (json.find("bad") != std::string_view::npos) return fail("bad");
    return Widget{decoder_.identity(json).name};
  }
  std::string key(const Widget& widget) override { return widget.name; }
  Result<std::string> key_of(std::string_view json) override {
    std::string name = decoder_.identity(json).name;
    if (name.empty()) return fail("no name");
    return name;
  }
  void updated(Widget widget) override { note("+" + widget.name); }
  void deleted(const Deleted& widget) override {
    note("-" + widget.key + (widget.by_list ? " by list" : "") +
         (widget.was_read ? "" : " unread"));
  }
  void unreadable(const Unreadable& widget) override { note("?" + widget.key + " " + widget.why); }
  void unreadable_event(const std::string& why) override { note("!" + why.substr(0, 7)); }
  void list_began() override { note("["); }
  void list_read() override { note("|"); }
  void list_ended() override { note("]"); }
  void absent(const std::string& /*why*/) override { note("absent"); }
  void status_changed(const ReflectorStatus& /*status*/) override { ++statuses; }

  void note(std::string word) {
    words.push_back(std::move(word));
    if (on_note) on_note(words.back());
  }

  std::vector<std::string> words;
  int statuses = 0;
  std::function<void(const std::string&)> on_note;

 private:
  codec::Decoder decoder_;
};

class InformerTest : public ::testing::Test {
 protected:
  // Scripts the answers to lists and to watches. The last one repeats; a watch that is not scripted
  // stays open.
  void script(const std::vector<FakeApiServer::Answer>& lists,
              const std::vector<std::vector<std::string>>& watches) {
    lists_ = {lists.begin(), lists.end()};
    for (const auto& pieces : watches) watches_.push_back(server_.stream(pieces, StreamEnd::open));
    watches_.push_back(server_.stream({}, StreamEnd::open));
    server_.script("GET", kPath,
                   {[this](const SeenRequest& request, std::shared_ptr<net::Responder> responder) {
                     auto& answers = request.query("watch") == "1" ? watches_ : lists_;
                     const FakeApiServer::Answer answer = answers.front();
                     if (answers.size() > 1) answers.pop_front();
                     answer(request, std::move(responder));
                   }});
  }

  Informer<Widget>& start(std::optional<net::Duration> retry_absent = {}) {
    client_ = server_.client();
    InformerOptions options{.reflector = {.path = kPath},
                            .outages = outages_,
                            .what = "widgets",
                            .retry_absent = retry_absent};
    options.reflector.backoff_min = milliseconds{2};
    options.reflector.backoff_max = milliseconds{10};
    options.reflector.relist_every = milliseconds{20};
    informer_ = std::make_unique<Informer<Widget>>(*client_, options, diary_);
    informer_->start();
    return *informer_;
  }

  [[nodiscard]] bool words_are(const std::vector<std::string>& wanted) {
    const bool come = run_until(loop_, [&] { return diary_.words.size() >= wanted.size(); });
    EXPECT_EQ(diary_.words, wanted);
    return come && diary_.words == wanted;
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::deque<FakeApiServer::Answer> lists_;
  std::deque<FakeApiServer::Answer> watches_;
  std::vector<std::string> logged_;
  base::Log log_{{.write = [this](std::string_view line) { logged_.emplace_back(line); }}};
  std::shared_ptr<Outages> outages_ = std::make_shared<Outages>(loop_, log_);
  Diary diary_;
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<Informer<Widget>> informer_;
};

TEST_F(InformerTest, HandsOnWhatListsAndWatchesBring) {
  script({list({widget("a"), widget("b")})},
         {{event("ADDED", widget("c")), event("MODIFIED", widget("a")),
           event("DELETED", widget("b")), event("DELETED", widget("x"))}});
  const auto& informer = start();
  EXPECT_FALSE(informer.synced());
  ASSERT_TRUE(words_are({"[", "+a", "+b", "|", "]", "+c", "+a", "-b", "-x unread"}));
  EXPECT_TRUE(informer.synced());
  EXPECT_EQ(informer.size(), 2U);
  EXPECT_EQ(informer.counters().events, 4U);
  EXPECT_GT(diary_.statuses, 0);
}

TEST_F(InformerTest, WhatAListDoesNotNameIsDeletedInOrder) {
  script({list({widget("d"), widget("a"), widget("c")}), list({widget("c")}), list({widget("c")})},
         {{event("ADDED", widget("b")), kExpired}, {kExpired}});
  start();
  ASSERT_TRUE(words_are({"[", "+d", "+a", "+c", "|", "]", "+b",                          //
                         "[", "+c", "|", "-a by list", "-b by list", "-d by list", "]",  //
                         "[", "+c", "|", "]"}));
  EXPECT_EQ(informer_->size(), 1U);
}

TEST_F(InformerTest, WhatCannotBeReadStaysUntilAListLacksIt) {
  script({list({widget("a")}), list({unreadable_widget("a"), unreadable_widget("b")}),
          list({widget("b")})},
         {{kExpired}, {kExpired}});
  start();
  ASSERT_TRUE(words_are({"[", "+a", "|", "]",                //
                         "[", "?a bad", "?b bad", "|", "]",  //
                         "[", "+b", "|", "-a by list", "]"}));
}

TEST_F(InformerTest, WhatWasNeverReadIsDeletedAsSuch) {
  script({list({unreadable_widget("a"), unreadable_widget("b")}), list({})},
         {{event("DELETED", widget("a")), kExpired}});
  start();
  ASSERT_TRUE(words_are({"[", "?a bad", "?b bad", "|", "]", "-a unread",  //
                         "[", "|", "-b by list unread", "]"}));
  EXPECT_EQ(informer_->size(), 0U);
}

TEST_F(InformerTest, AListWithANamelessObjectDeletesNothing) {
  script({list({widget("a")}), list({kNameless}), list({})}, {{kExpired}, {kExpired}});
  start();
  ASSERT_TRUE(words_are({"[", "+a", "|", "]",     //
                         "[", "? bad", "|", "]",  //
                         "[", "|", "-a by list", "]"}));
}

TEST_F(InformerTest, AnEventThatCannotBeReadIsMadeGoodByAList) {
  script({list({widget("a")}), list({widget("b")})}, {{"nonsense\n"}});
  start();
  ASSERT_TRUE(words_are({"[", "+a", "|", "]", "!watch /", "[", "+b", "|", "-a by list", "]"}));
}

TEST_F(InformerTest, ADeletionThatCannotBeReadIsMadeGoodByAList) {
  script({list({widget("a")}), list({})}, {{event("DELETED", kNameless)}});
  start();
  ASSERT_TRUE(words_are({"[", "+a", "|", "]", "!no name", "[", "|", "-a by list", "]"}));
}

TEST_F(InformerTest, AnUnreadableObjectOfAWatchAsksForNoList) {
  script({list({widget("a")})},
         {{event("MODIFIED", unreadable_widget("a")), event("ADDED", widget("b"))}});
  start();
  ASSERT_TRUE(words_are({"[", "+a", "|", "]", "?a bad", "+b"}));
  run_for(loop_, milliseconds{50});
  EXPECT_EQ(informer_->counters().lists, 1U);
}

TEST_F(InformerTest, WhatIsExpectedOutlivesTheListThatIsUnderWay) {
  script({list({widget("a")}), list({widget("a")})}, {{kExpired}});
  diary_.on_note = [&](const std::string& word) {
    if (word == "+a" && diary_.words.size() == 2) informer_->expect("e");
  };
  start();
  ASSERT_TRUE(words_are({"[", "+a", "|", "]", "[", "+a", "|", "-e by list", "]"}));
}

TEST_F(InformerTest, ListsAgainWhenAsked) {
  script({list({widget("a")}), list({widget("b")})}, {});
  start();
  ASSERT_TRUE(words_are({"[", "+a", "|", "]"}));
  informer_->relist();
  ASSERT_TRUE(words_are({"[", "+a", "|", "]", "[", "+b", "|", "-a by list", "]"}));
}

TEST_F(InformerTest, ReportsOutages) {
  script({refuse(503, "ServiceUnavailable", "later"), list({})}, {});
  start();
  ASSERT_TRUE(run_until(loop_, [&] { return outages_->away() == 1; }));
  EXPECT_FALSE(informer_->synced());
  EXPECT_FALSE(informer_->status().error.empty());
  ASSERT_TRUE(run_until(loop_, [&] { return outages_->away() == 0; }));
  EXPECT_TRUE(informer_->synced());
}

TEST_F(InformerTest, AResourceThatTheServerLacksMayCountAsEmpty) {
  script({refuse(404, "NotFound", "no such resource"), refuse(403, "Forbidden", "not you"),
          list({widget("a")})},
         {});
  start(milliseconds{5});
  ASSERT_TRUE(run_until(loop_, [&] { return informer_->is_absent(); }));
  EXPECT_TRUE(informer_->synced());
  EXPECT_EQ(outages_->away(), 0U);
  ASSERT_TRUE(words_are({"[", "absent", "[", "[", "+a", "|", "]"}));
  EXPECT_FALSE(informer_->is_absent());
}

TEST_F(InformerTest, OtherwiseItIsWaitedFor) {
  script({refuse(404, "NotFound", "no such resource")}, {});
  start();
  ASSERT_TRUE(run_until(loop_, [&] { return informer_->counters().lists >= 3; }));
  EXPECT_FALSE(informer_->synced());
  EXPECT_FALSE(informer_->is_absent());
}

TEST_F(InformerTest, NothingIsToldAfterAStop) {
  script({refuse(404, "NotFound", "no such resource"), list({widget("a")})}, {});
  start(milliseconds{5});
  ASSERT_TRUE(run_until(loop_, [&] { return informer_->is_absent(); }));
  informer_->stop();
  run_for(loop_, milliseconds{30});
  EXPECT_EQ(diary_.words, (std::vector<std::string>{"[", "absent"}));
}

}  // namespace
}  // namespace stowage::kube
