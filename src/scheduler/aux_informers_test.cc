#include "scheduler/aux_informers.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace stowage::scheduler {
namespace {

using core::AuxKind;
using kube::testing::FakeApiServer;
using kube::testing::refuse;
using kube::testing::reply;
using kube::testing::run_until;
using kube::testing::SeenRequest;
using kube::testing::StreamEnd;
using std::chrono::milliseconds;

std::string object(const std::string& name, const std::string& more = "") {
  return fmt::format(R"({{"metadata":{{"namespace":"ml","name":"{}","resourceVersion":"9"}}{}}})",
                     name, more);
}
std::string event(const char* type, const std::string& json) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, json);
}
FakeApiServer::Answer list(const std::vector<std::string>& items) {
  return reply(200, fmt::format(R"({{"metadata":{{"resourceVersion":"7"}},"items":[{}]}})",
                                fmt::join(items, ",")));
}

class AuxInformersTest : public ::testing::Test {
 protected:
  AuxInformersTest() {
    for (std::size_t i = 0; i < core::kAuxKinds; ++i) {
      script(static_cast<AuxKind>(i), {list({})}, {});
    }
  }

  // Scripts the answers to lists and then to watches of this kind. The last one repeats; a watch
  // that is not scripted stays open.
  void script(AuxKind kind, const std::vector<FakeApiServer::Answer>& lists,
              const std::vector<FakeApiServer::Answer>& watches) {
    const std::string path = path_of(kind);
    lists_[path] = {lists.begin(), lists.end()};
    watches_[path] = {watches.begin(), watches.end()};
    watches_[path].push_back(server_.stream({}, StreamEnd::open));
    server_.script(
        "GET", path,
        {[this, path](const SeenRequest& request, std::shared_ptr<net::Responder> responder) {
          auto& answers = (request.query("watch") == "1" ? watches_ : lists_)[path];
          const FakeApiServer::Answer answer = answers.front();
          if (answers.size() > 1) answers.pop_front();
          answer(request, std::move(responder));
        }});
  }

  void start(net::Duration retry = std::chrono::hours{1}) {
    AuxInformersOptions options{.retry = retry};
    options.reflector.backoff_min = milliseconds{2};
    options.reflector.backoff_max = milliseconds{10};
    client_ = server_.client();
    source_ = std::make_unique<AuxInformers>(
        options, AuxInformers::Deps{
                     .client = *client_,
                     .event_queue = event_queue_,
                     .log = log_,
                     .outages = std::make_shared<kube::Outages>(loop_, log_),
                     .on_synced = [this] { ++synced_; },
                     .on_claim_changed = [this](const std::string& name) { upsert_claim(name); }});
    source_->start();
  }

  void upsert_claim(const std::string& name) {
    const ClaimView* view = source_->claim(name);
    if (view == nullptr) {
      claims_ += name + " gone;";
    } else {
      claims_ += fmt::format("{} {} {} {};", name, view->bound ? "bound" : "free",
                             view->selected_node, view->resource_version);
    }
  }

  // The events in the queue so far, sorted.
  void collect() {
    if (event_queue_.sizes().objects == 0) return;
    const auto messages = event_queue_.take(0);
    for (const auto& message : *messages) {
      const auto& one = std::get<core::Event>(message);
      if (const auto* gone = std::get_if<core::AuxObjectGone>(&one)) {
        reported_.push_back(fmt::format("-{}:{}", static_cast<int>(gone->kind), gone->name));
      } else {
        const auto& now = std::get<core::AuxObjectChanged>(one).now;
        std::string name;
        if (const auto* claim = std::get_if<core::Claim>(&now)) name = claim->name;
        if (const auto* volume = std::get_if<core::Volume>(&now)) name = volume->name;
        reported_.push_back(fmt::format("+{}:{}", now.index(), name));
      }
    }
  }
  [[nodiscard]] bool told(std::vector<std::string> wanted) {
    const bool come = run_until(loop_, [&] {
      collect();
      return reported_.size() >= wanted.size();
    });
    std::sort(reported_.begin(), reported_.end());
    std::sort(wanted.begin(), wanted.end());
    const bool same = come && reported_ == wanted;
    EXPECT_EQ(reported_, wanted);
    reported_.clear();
    return same;
  }
  [[nodiscard]] bool synced() {
    return run_until(loop_, [&] { return source_->synced(); });
  }
  [[nodiscard]] std::size_t logged(std::string_view words) const {
    return static_cast<std::size_t>(std::count_if(
        lines_.begin(), lines_.end(),
        [&](const std::string& line) { return line.find(words) != std::string::npos; }));
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::map<std::string, std::deque<FakeApiServer::Answer>> lists_;
  std::map<std::string, std::deque<FakeApiServer::Answer>> watches_;
  EventQueue event_queue_;
  std::vector<std::string> lines_;
  base::Log log_{{.write = [this](std::string_view line) { lines_.emplace_back(line); }}};
  std::string claims_;
  std::vector<std::string> reported_;
  int synced_ = 0;
  std::unique_ptr<kube::ApiClient> client_;
  std::unique_ptr<AuxInformers> source_;
};

TEST_F(AuxInformersTest, ListsAllKindsAndThenFollowsThem) {
  script(AuxKind::volume, {list({object("a"), object("b")})},
         {server_.stream({event("ADDED", object("c")), event("DELETED", object("a"))},
                         StreamEnd::open)});
  start();
  EXPECT_FALSE(source_->synced());
  EXPECT_EQ(source_->trouble(), "the first list of namespaces is not complete");
  ASSERT_TRUE(synced());
  EXPECT_EQ(source_->trouble(), "");
  EXPECT_TRUE(run_until(loop_, [&] { return source_->counters().changes == 4; }));
  EXPECT_EQ(source_->counters().now[static_cast<std::size_t>(AuxKind::volume)], 2U);
  EXPECT_TRUE(told({"-2:a", "+2:b", "+2:c"})) << "the newest state of each";
  EXPECT_EQ(synced_, 1);
  for (std::size_t i = 0; i < core::kAuxKinds; ++i) {
    EXPECT_GE(server_.seen("GET", path_of(static_cast<AuxKind>(i))).size(), 1U);
  }
}

TEST_F(AuxInformersTest, WhatAListDoesNotNameIsGone) {
  script(AuxKind::volume, {list({object("a"), object("b")}), list({object("b")})},
         {refuse(410, "Expired", "too old")});
  start();
  EXPECT_TRUE(run_until(loop_, [&] {
    return source_->counters().now[static_cast<std::size_t>(AuxKind::volume)] == 1;
  }));
  EXPECT_TRUE(told({"-2:a", "+2:b"}));
}

TEST_F(AuxInformersTest, AKindThatWeCannotHaveCountsAsEmptyAndIsToldOnce) {
  script(AuxKind::storage_capacity, {refuse(404, "NotFound", "no such resource")}, {});
  script(AuxKind::budget, {refuse(403, "Forbidden", "you may not")}, {});
  start(milliseconds{5});
  ASSERT_TRUE(synced());
  const auto counters = source_->counters();
  EXPECT_TRUE(counters.absent[static_cast<std::size_t>(AuxKind::storage_capacity)]);
  EXPECT_TRUE(counters.absent[static_cast<std::size_t>(AuxKind::budget)]);
  EXPECT_FALSE(counters.absent[static_cast<std::size_t>(AuxKind::claim)]);
  const std::string path = path_of(AuxKind::budget);
  EXPECT_TRUE(run_until(loop_, [&] { return server_.seen("GET", path).size() >= 4; }))
      << "it is tried again";
  EXPECT_EQ(logged("what=csistoragecapacities"), 1U);
  EXPECT_EQ(logged("disruption budgets are ignored when pods are evicted"), 1U);
  EXPECT_EQ(synced_, 1);
}

TEST_F(AuxInformersTest, AKindThatComesLaterIsTakenThen) {
  script(AuxKind::volume, {refuse(403, "Forbidden", "not yet"), list({object("a")})}, {});
  start(milliseconds{5});
  EXPECT_TRUE(told({"+2:a"}));
  EXPECT_FALSE(source_->counters().absent[static_cast<std::size_t>(AuxKind::volume)]);
}

TEST_F(AuxInformersTest, WhatIsKnownStaysWhenTheServerNoLongerShowsIt) {
  script(AuxKind::volume, {list({object("a")}), refuse(403, "Forbidden", "no more")},
         {refuse(410, "Expired", "too old")});
  start(milliseconds{5});
  const char* path = path_of(AuxKind::volume);
  EXPECT_TRUE(run_until(loop_, [&] { return server_.seen("GET", path).size() >= 5; }));
  EXPECT_EQ(logged("the API server refuses"), 1U) << "once, however often it is tried";
  EXPECT_TRUE(told({"+2:a"}));
  EXPECT_FALSE(source_->counters().absent[static_cast<std::size_t>(AuxKind::volume)]);
  EXPECT_EQ(source_->counters().now[static_cast<std::size_t>(AuxKind::volume)], 1U);
}

TEST_F(AuxInformersTest, AServerInTroubleIsWaitedFor) {
  script(AuxKind::volume, {refuse(500, "InternalError", "ouch"), list({})}, {});
  start();
  EXPECT_TRUE(run_until(loop_, [&] { return logged("what=persistentvolumes") > 0; }));
  EXPECT_FALSE(source_->synced());
  EXPECT_NE(source_->trouble().find("persistentvolumes"), std::string::npos) << source_->trouble();
  EXPECT_TRUE(synced());
}

TEST_F(AuxInformersTest, ClaimsAreShownToThoseWhoBindThem) {
  const std::string bound =
      R"({"metadata":{"namespace":"ml","name":"c","resourceVersion":"12","uid":"u","annotations":{
          "pv.kubernetes.io/bind-completed":"yes","volume.kubernetes.io/selected-node":"n1"}},
          "spec":{"volumeName":"v"}})";
  std::string line = bound;
  std::replace(line.begin(), line.end(), '\n', ' ');
  script(AuxKind::claim, {list({object("c")})},
         {server_.stream({event("MODIFIED", line), event("MODIFIED", line)}, StreamEnd::open)});
  start();
  ASSERT_TRUE(run_until(loop_, [&] {
    const ClaimView* view = source_->claim("ml/c");
    return view != nullptr && view->bound;
  }));
  EXPECT_EQ(*source_->claim("ml/c"), (ClaimView{.uid = "u",
                                                .resource_version = "12",
                                                .volume = "v",
                                                .selected_node = "n1",
                                                .bound = true}));
  EXPECT_EQ(source_->claim("ml/d"), nullptr);
  EXPECT_TRUE(run_until(loop_, [&] { return source_->counters().changes == 3; }));
  EXPECT_EQ(claims_, "ml/c free  9;ml/c bound n1 12;") << "the same state is not told twice";
}

TEST_F(AuxInformersTest, AClaimThatGoesIsToldToo) {
  script(AuxKind::claim, {list({object("c")})},
         {server_.stream({event("DELETED", object("c"))}, StreamEnd::open)});
  start();
  EXPECT_TRUE(run_until(loop_, [&] { return claims_ == "ml/c free  9;ml/c gone;"; })) << claims_;
  EXPECT_EQ(source_->claim("ml/c"), nullptr);
}

TEST_F(AuxInformersTest, WhatCannotBeReadStaysAsItWas) {
  script(AuxKind::claim, {list({object("c"), R"({"metadata":7})"})},
         {server_.stream({event("MODIFIED", object("c", R"(,"spec":{"accessModes":["Odd"]})")),
                          event("ADDED", object("d"))},
                         StreamEnd::open)});
  start();
  EXPECT_TRUE(run_until(loop_, [&] { return source_->claim("ml/d") != nullptr; }));
  EXPECT_NE(source_->claim("ml/c"), nullptr);
  EXPECT_EQ(source_->counters().unreadable, 2U);
  EXPECT_EQ(logged("is not an access mode"), 1U);
  EXPECT_TRUE(told({"+1:ml/c", "+1:ml/d"}));
}

// A list that contains an unreadable object does not mean that the object was deleted.
TEST_F(AuxInformersTest, AListWithAnObjectThatCannotBeReadTakesNothingAway) {
  const std::string odd = object("c", R"(,"spec":{"accessModes":["Odd"]})");
  script(AuxKind::claim, {list({object("c"), object("d")}), list({odd})},
         {server_.stream({event("ERROR", R"({"kind":"Status","code":410,"reason":"Expired"})")},
                         StreamEnd::clean),
          server_.stream({}, StreamEnd::open)});
  start();
  EXPECT_TRUE(run_until(loop_, [&] { return source_->claim("ml/d") == nullptr && synced(); }));
  EXPECT_NE(source_->claim("ml/c"), nullptr);
}

TEST_F(AuxInformersTest, NothingComesAfterItWasStopped) {
  script(AuxKind::budget, {refuse(404, "NotFound", "no such resource")}, {});
  start(milliseconds{1});
  ASSERT_TRUE(synced());
  source_->stop();
  const std::string path = path_of(AuxKind::budget);
  const std::size_t asked = server_.seen("GET", path).size();
  kube::testing::run_for(loop_, milliseconds{50});
  EXPECT_LE(server_.seen("GET", path).size(), asked + 1) << "one may have been under way";
}

}  // namespace
}  // namespace stowage::scheduler
