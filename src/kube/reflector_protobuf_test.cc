// The reflector with a server that supports protobuf, and with one that does not.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codec/testing/protobuf_out.h"
#include "kube/reflector.h"
#include "kube/testing/fake_api_server.h"

namespace stowage::kube {
namespace {

using codec::testing::bytes;
using codec::testing::envelope;
using codec::testing::frame;
using codec::testing::integer;
using std::chrono::milliseconds;
using testing::FakeApiServer;
using testing::run_until;
using testing::SeenRequest;

using Words = std::vector<std::string>;

constexpr const char* kPath = "/api/v1/pods";
constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";
constexpr const char* kProtobufWatch = "application/vnd.kubernetes.protobuf;stream=watch";

std::string pod(const std::string& name, int version) {
  return bytes(1, bytes(1, name) + bytes(6, fmt::format("{}", version)));
}
std::string json(const std::string& name, int version) {
  return fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}}}})", name, version);
}
std::string list(const std::vector<std::string>& pods, int version, const std::string& more = "") {
  std::string message = bytes(1, bytes(2, fmt::format("{}", version)) + bytes(3, more));
  for (const std::string& each : pods) message += bytes(2, each);
  return envelope("PodList", message);
}
std::string event(const char* type, const std::string& pod_message) {
  return frame(codec::testing::watch_event(type, envelope("Pod", pod_message)));
}
std::string status(int code, const std::string& reason) {
  return envelope("Status", bytes(2, "Failure") + bytes(3, "words") + bytes(4, reason) +
                                integer(6, static_cast<std::uint64_t>(code)));
}
std::string error_event(int code, const std::string& reason) {
  return frame(codec::testing::watch_event("ERROR", status(code, reason)));
}

class Diary : public ReflectorSink {
 public:
  void on_list_begin() override { words.emplace_back("["); }
  void on_item(std::string_view text) override { words.push_back("=" + std::string(text)); }
  void on_list_end(std::string_view version) override {
    words.push_back("]" + std::string(version));
  }
  void on_event(WatchType type, std::string_view text) override {
    const char* sign = type == WatchType::added ? "+" : type == WatchType::modified ? "~" : "-";
    words.push_back(sign + std::string(text));
  }
  void on_status(const ReflectorStatus& status) override { statuses.push_back(status); }
  void on_bad_line(const std::string& error) override { bad_lines.push_back(error); }

  Words words;
  Words bad_lines;
  std::vector<ReflectorStatus> statuses;
};

class ReflectorProtobufTest : public ::testing::Test {
 protected:
  struct Reply {
    std::string body;
    std::string type = kProtobuf;
    int code = 200;
  };

  // Lists are answered in order and the last answer repeats. So are watches, which stay open after
  // these pieces.
  void script(const std::vector<Reply>& lists, const std::vector<Words>& watches,
              const std::string& watch_type = kProtobufWatch) {
    server_.script("GET", kPath,
                   {[this, lists, watches, watch_type](const SeenRequest& request,
                                                       std::shared_ptr<net::Responder> to) {
                     accepts_.push_back(request.header("Accept"));
                     if (request.query("watch") != "1") {
                       const Reply& reply = lists[std::min(lists_++, lists.size() - 1)];
                       testing::reply(reply.code, reply.body, {{"Content-Type", reply.type}})(
                           request, std::move(to));
                       return;
                     }
                     watch_versions_.push_back(request.query("resourceVersion"));
                     const Words& pieces = watches[std::min(watches_++, watches.size() - 1)];
                     to->begin({200, {{"Content-Type", watch_type}}, ""});
                     for (const std::string& piece : pieces) {
                       to->write(std::make_shared<const std::string>(piece));
                     }
                     open_.push_back(std::move(to));
                   }});
  }

  void start(ReflectorOptions options = {}) {
    options.path = kPath;
    options.protobuf = true;
    options.backoff_min = milliseconds{2};
    options.backoff_max = milliseconds{10};
    client_ = server_.client();
    reflector_ = std::make_unique<Reflector>(*client_, options, diary_);
    reflector_->start();
  }

  [[nodiscard]] bool words_are(const Words& wanted) {
    const bool come = run_until(loop_, [&] { return diary_.words.size() >= wanted.size(); });
    EXPECT_EQ(diary_.words, wanted);
    return come && diary_.words == wanted;
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::size_t lists_ = 0;
  std::size_t watches_ = 0;
  Words accepts_;
  Words watch_versions_;
  std::vector<std::shared_ptr<net::Responder>> open_;
  Diary diary_;
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<Reflector> reflector_;
};

TEST_F(ReflectorProtobufTest, ListsInPagesThenWatches) {
  const std::string watch =
      event("ADDED", pod("d", 8)) + event("MODIFIED", pod("a", 9)) + event("DELETED", pod("b", 10));
  script({{list({pod("a", 1), pod("b", 2)}, 7, "more")}, {list({pod("c", 3)}, 7)}},
         {{watch.substr(0, 30), watch.substr(30, 50), watch.substr(80)}});
  start();
  ASSERT_TRUE(words_are({"[", "=" + json("a", 1), "=" + json("b", 2), "=" + json("c", 3), "]7",
                         "+" + json("d", 8), "~" + json("a", 9), "-" + json("b", 10)}));
  EXPECT_EQ(watch_versions_, Words{"7"});
  for (const std::string& accept : accepts_) {
    EXPECT_EQ(accept, "application/vnd.kubernetes.protobuf,application/json");
  }
  EXPECT_EQ(reflector_->resource_version(), "10");
  EXPECT_EQ(reflector_->counters().events, 3U);
}

TEST_F(ReflectorProtobufTest, TakesJsonFromAServerThatHasNothingElse) {
  script({{R"({"metadata":{"resourceVersion":"5"},"items":[)" + json("a", 1) + "]}",
           "application/json"}},
         {{R"({"type":"ADDED","object":)" + json("b", 6) + "}\n"}}, "application/json");
  start();
  ASSERT_TRUE(words_are({"[", "=" + json("a", 1), "]5", "+" + json("b", 6)}));
  EXPECT_EQ(reflector_->resource_version(), "6");
}

TEST_F(ReflectorProtobufTest, BookmarksMoveTheVersion) {
  script({{list({}, 5)}}, {{event("ADDED", pod("a", 6)) + event("BOOKMARK", pod("", 9))}});
  start();
  ASSERT_TRUE(words_are({"[", "]5", "+" + json("a", 6)}));
  EXPECT_TRUE(run_until(loop_, [&] { return reflector_->resource_version() == "9"; }));
  EXPECT_EQ(reflector_->counters().bookmarks, 1U);
}

TEST_F(ReflectorProtobufTest, AVersionThatHasExpiredIsFollowedByAList) {
  script({{list({}, 5)}, {list({pod("a", 7)}, 8)}},
         {{error_event(410, "Expired")}, {event("ADDED", pod("b", 9))}});
  start();
  ASSERT_TRUE(words_are({"[", "]5", "[", "=" + json("a", 7), "]8", "+" + json("b", 9)}));
  EXPECT_EQ(reflector_->counters().expired, 1U);
  EXPECT_EQ(watch_versions_, (Words{"5", "8"}));
}

TEST_F(ReflectorProtobufTest, OtherErrorsEndTheWatchWithTheServersWords) {
  script({{list({}, 5)}}, {{error_event(500, "InternalError")}, {event("ADDED", pod("b", 9))}});
  start();
  ASSERT_TRUE(words_are({"[", "]5", "+" + json("b", 9)}));
  EXPECT_EQ(watch_versions_, (Words{"5", "5"}));
  const bool said = std::any_of(diary_.statuses.begin(), diary_.statuses.end(), [](const auto& s) {
    return s.error.find("500 InternalError: words") != std::string::npos;
  });
  EXPECT_TRUE(said);
}

TEST_F(ReflectorProtobufTest, PassesOverFramesThatCannotBeRead) {
  const std::string broken =
      frame(codec::testing::watch_event("ADDED", envelope("Pod", bytes(1, integer(1, 5)))));
  script({{list({}, 5)}}, {{frame("nonsense") + broken + frame("") + frame(std::string(5000, 'x')) +
                            frame(codec::testing::watch_event("ADDED", envelope("Secret", ""))) +
                            event("ADDED", pod("a", 6))}});
  start({.line_bytes_max = 4096});
  ASSERT_TRUE(words_are({"[", "]5", "+" + json("a", 6)}));
  EXPECT_EQ(
      diary_.bad_lines,
      (Words{"watch /api/v1/pods: an event is skipped: malformed protobuf",
             "watch /api/v1/pods: an event is skipped: metadata.name: expected a string",
             "watch /api/v1/pods: an event is skipped: type: \"\" is not a type of watch event",
             "watch /api/v1/pods: an event is skipped: an event is longer than 4096 bytes",
             "watch /api/v1/pods: an event is skipped: the protobuf form of \"Secret\" is not "
             "supported"}));
  EXPECT_EQ(reflector_->resource_version(), "6");
}

TEST_F(ReflectorProtobufTest, AListThatMakesNoSenseIsAskedForAgain) {
  script({{status(403, "Forbidden"), kProtobuf, 403},
          {"k8s"},
          {envelope("SecretList", bytes(1, bytes(2, "5")))},
          {list({pod("a", 1), bytes(1, integer(1, 5))}, 5)},
          {list({pod("a", 1)}, 5)}},
         {{}});
  start();
  ASSERT_TRUE(words_are({"[", "[", "[", "[", "=" + json("a", 1), "[", "=" + json("a", 1), "]5"}));
  Words errors;
  for (const ReflectorStatus& each : diary_.statuses) {
    if (each.phase == ReflectorPhase::disconnected) errors.push_back(each.error);
  }
  EXPECT_EQ(
      errors,
      (Words{"cannot list /api/v1/pods: 403 Forbidden: words; grant that right with a "
             "role binding",
             "cannot list /api/v1/pods: the reply is invalid: it does not begin with the prefix of "
             "Kubernetes protobuf",
             "cannot list /api/v1/pods: the reply is invalid: the protobuf form of \"Secret\" is "
             "not supported",
             "cannot list /api/v1/pods: the reply is invalid: metadata.name: expected a string"}));
}

}  // namespace
}  // namespace stowage::kube
