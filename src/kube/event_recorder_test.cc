#include "kube/event_recorder.h"

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

constexpr const char* kEvents = "/apis/events.k8s.io/v1/namespaces/ns/events";

const WallTime kNow = WallTime{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

EventRequest ask(const std::string& pod, const std::string& note = "no room") {
  return {.regarding = {.ns = "ns", .name = pod, .uid = "u-" + pod},
          .type = EventType::warning,
          .reason = EventReason::failed_scheduling,
          .action = "Scheduling",
          .note = note};
}

EventRequest scheduled(const std::string& pod) {
  return {.regarding = {.ns = "ns", .name = pod, .uid = "u-" + pod},
          .reason = EventReason::scheduled,
          .action = "Binding",
          .note = "assigned " + pod};
}

class EventRecorderTest : public ::testing::Test {
 protected:
  EventRecorder& start(EventRecorderOptions options = {}) {
    options.controller = "stowage-scheduler";
    options.instance = "host-1";
    options.wall_clock = [] { return kNow; };
    client_ = server_.client(client_options_);
    recorder_ = std::make_unique<EventRecorder>(*client_, options);
    return *recorder_;
  }
  [[nodiscard]] bool created(std::uint64_t count) {
    return run_until(loop_, [&] { return recorder_->counters().created >= count; });
  }
  [[nodiscard]] std::vector<SeenRequest> patches() const {
    std::vector<SeenRequest> found;
    for (const SeenRequest& each : server_.seen()) {
      if (each.method == "PATCH") found.push_back(each);
    }
    return found;
  }
  // Where the first event of the pod is patched.
  static std::string event_path(const std::string& pod, std::int64_t plus_nanos = 0) {
    return fmt::format("{}/{}.{:x}", kEvents, pod, unix_nanos(kNow) + plus_nanos);
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  ApiClientOptions client_options_;
  std::unique_ptr<ApiClient> client_;
  std::unique_ptr<EventRecorder> recorder_;
};

TEST_F(EventRecorderTest, WritesAnEvent) {
  server_.script("POST", kEvents, {reply(201)});
  start().record(ask("p"));
  ASSERT_TRUE(created(1));
  EXPECT_EQ(server_.seen().at(0).body,
            fmt::format(R"({{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{{"name":)"
                        R"("p.{:x}","namespace":"ns"}},"eventTime":"2026-01-01T00:00:00.000000Z",)"
                        R"("type":"Warning","reason":"FailedScheduling","action":"Scheduling",)"
                        R"("note":"no room","reportingController":"stowage-scheduler",)"
                        R"("reportingInstance":"host-1","regarding":{{"apiVersion":"v1","kind":)"
                        R"("Pod","namespace":"ns","name":"p","uid":"u-p"}}}})",
                        unix_nanos(kNow)));
}

TEST_F(EventRecorderTest, EventsOfOneMomentHaveDifferentNames) {
  server_.script("POST", kEvents, {reply(201)});
  start().record(ask("p", "one"));
  recorder_->record(ask("p", "two"));
  ASSERT_TRUE(created(2));
  EXPECT_NE(server_.seen().at(0).body.substr(0, 150), server_.seen().at(1).body.substr(0, 150));
}

TEST_F(EventRecorderTest, EventsOfANodeGoToTheDefaultNamespace) {
  server_.script("POST", "/apis/events.k8s.io/v1/namespaces/default/events", {reply(201)});
  start().record({.regarding = {.kind = "Node", .name = "n1"}, .action = "A"});
  EXPECT_TRUE(created(1));
}

TEST_F(EventRecorderTest, LongNotesAreCutBetweenCharacters) {
  server_.script("POST", kEvents, {reply(201)});
  std::string note;
  while (note.size() < 3000) note += "\u00e4";
  start().record(ask("p", note));
  ASSERT_TRUE(created(1));
  const std::string& body = server_.seen().at(0).body;
  const std::size_t from = body.find("\"note\":\"") + 8;
  const std::size_t length = body.find('"', from) - from;
  EXPECT_LE(length, 1024U);
  EXPECT_GE(length, 1000U);
}

TEST_F(EventRecorderTest, RepetitionsBecomeASeriesThatIsPatchedFromTimeToTime) {
  server_.script("POST", kEvents, {reply(201)});
  server_.script("PATCH", event_path("p"), {reply(200)});
  const auto start_time = std::chrono::steady_clock::now();
  start({.series_patch_every = milliseconds{50}});
  for (int i = 0; i < 10; ++i) recorder_->record(ask("p"));  // before the first one is written
  ASSERT_TRUE(run_until(loop_, [&] { return recorder_->counters().patched == 1; }));
  EXPECT_EQ(server_.seen("POST", kEvents).size(), 1U);
  ASSERT_EQ(patches().size(), 1U);
  EXPECT_EQ(patches()[0].header("Content-Type"), "application/merge-patch+json");
  EXPECT_EQ(patches()[0].body,
            R"({"series":{"count":10,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}})");
  recorder_->record(ask("p"));
  recorder_->record(ask("p"));
  ASSERT_TRUE(run_until(loop_, [&] { return recorder_->counters().patched == 2; }));
  EXPECT_GE(std::chrono::steady_clock::now() - start_time, milliseconds{100});
  EXPECT_NE(patches().at(1).body.find("\"count\":12"), std::string::npos);
  EXPECT_EQ(recorder_->counters().merged, 11U);
}

TEST_F(EventRecorderTest, AfterAGapTheSeriesRestarts) {
  server_.script("POST", kEvents, {reply(201)});
  start({.series_gap = milliseconds{10}});
  recorder_->record(ask("p"));
  ASSERT_TRUE(created(1));
  testing::run_for(loop_, milliseconds{30});
  recorder_->record(ask("p"));
  ASSERT_TRUE(created(2));
  EXPECT_EQ(recorder_->counters().merged, 0U);
}

TEST_F(EventRecorderTest, AnEventThatTheServerHasForgottenIsWrittenAgain) {
  server_.script("POST", kEvents, {reply(201)});
  server_.script("PATCH", event_path("p"), {refuse(404, "NotFound", "gone")});
  start({.series_patch_every = milliseconds{1}});
  recorder_->record(ask("p"));
  ASSERT_TRUE(created(1));
  recorder_->record(ask("p"));
  ASSERT_TRUE(created(2));
  EXPECT_EQ(recorder_->counters().failed, 0U);
}

TEST_F(EventRecorderTest, AFailedFirstWriteLeavesNoSeries) {
  server_.script("POST", kEvents, {refuse(403, "Forbidden", "cannot create events"), reply(201)});
  start().record(ask("p"));
  ASSERT_TRUE(run_until(loop_, [&] { return recorder_->counters().failed == 1; }));
  EXPECT_NE(recorder_->counters().last_error.find("cannot create events"), std::string::npos);
  EXPECT_EQ(recorder_->counters().series, 0U);
  recorder_->record(ask("p"));
  EXPECT_TRUE(created(1));
}

TEST_F(EventRecorderTest, LimitsTheTotalRateAndEachObject) {
  server_.script("POST", kEvents, {reply(201)});
  start({.per_second = 0.001, .burst = 5});
  for (int i = 0; i < 20; ++i) recorder_->record(ask(fmt::format("p{}", i)));
  ASSERT_TRUE(created(5));
  EXPECT_EQ(recorder_->counters().dropped, 15U);

  start({.per_object_burst = 3});
  for (int i = 0; i < 10; ++i) recorder_->record(ask("p", fmt::format("note {}", i)));
  recorder_->record(ask("q"));
  ASSERT_TRUE(created(4));
  EXPECT_EQ(recorder_->counters().dropped, 7U);
}

TEST_F(EventRecorderTest, NormalEventsAreAllWrittenWhateverTheRate) {
  server_.script("POST", kEvents, {reply(201)});
  start({.per_second = 0.001, .burst = 1, .series_max = 10});
  for (int i = 0; i < 300; ++i) recorder_->record(scheduled(fmt::format("p{}", i)));
  ASSERT_TRUE(created(300));
  EXPECT_EQ(recorder_->counters().dropped, 0U);
  EXPECT_EQ(recorder_->counters().waiting, 0U);
}

TEST_F(EventRecorderTest, AnEventIsTriedAgainUnderItsNameUntilTheServerHasIt) {
  server_.script("POST", kEvents,
                 {refuse(500, "InternalError", "etcd"), testing::drop(),
                  refuse(409, "AlreadyExists", "the one before was written")});
  start({.rest_min = milliseconds{1}}).record(scheduled("p"));
  ASSERT_TRUE(created(1));
  const auto posts = server_.seen("POST", kEvents);
  ASSERT_EQ(posts.size(), 3U);
  EXPECT_EQ(posts[0].body, posts[2].body);
  EXPECT_EQ(recorder_->counters().retried, 2U);
  EXPECT_EQ(recorder_->counters().failed, 0U);
}

TEST_F(EventRecorderTest, GivesUpOnAnEventThatTheServerNeverTakes) {
  server_.script("POST", kEvents, {refuse(500, "InternalError", "etcd is away")});
  start({.attempts_max = 3, .rest_min = milliseconds{1}}).record(scheduled("p"));
  ASSERT_TRUE(run_until(loop_, [&] { return recorder_->counters().failed == 1; }));
  EXPECT_EQ(server_.seen("POST", kEvents).size(), 3U);
  EXPECT_EQ(recorder_->counters().series, 0U);
  EXPECT_EQ(recorder_->counters().waiting, 0U);
}

TEST_F(EventRecorderTest, TheOldestThatWaitIsDroppedWhenThereAreTooMany) {
  server_.script("POST", kEvents, {server_.hold(), reply(201)});
  start({.waiting_max = 3, .calls_max = 1});
  for (int i = 0; i < 10; ++i) recorder_->record(scheduled(fmt::format("p{}", i)));
  EXPECT_EQ(recorder_->counters().dropped, 6U);
  EXPECT_EQ(recorder_->counters().waiting, 4U);
  ASSERT_TRUE(run_until(loop_, [&] { return server_.held().size() == 1; }));
  server_.held()[0]->send({201, {}, "{}"});
  ASSERT_TRUE(created(4));
  EXPECT_NE(server_.seen().at(3).body.find("\"p9."), std::string::npos);
}

TEST_F(EventRecorderTest, RemembersABoundedNumberOfSeries) {
  server_.script("POST", kEvents, {reply(201)});
  start({.burst = 1000, .series_max = 10});
  for (int i = 0; i < 100; ++i) recorder_->record(ask(fmt::format("p{}", i)));
  ASSERT_TRUE(created(100));
  EXPECT_EQ(recorder_->counters().series, 10U);
}

TEST_F(EventRecorderTest, IsShedBeforeBindsAreDelayed) {
  server_.script("POST", kEvents, {server_.hold()});
  server_.script("GET", "/bind", {reply(200)});
  client_options_ = {.in_flight_max = 2, .events_in_flight_max = 1, .events_waiting_max = 3};
  start();
  for (int i = 0; i < 10; ++i) recorder_->record(ask(fmt::format("p{}", i)));
  bool bound = false;
  client_->call({.target = "/bind", .lane = Lane::bind}, seconds{20},
                [&](const auto& outcome) { bound = outcome.has_value(); });
  ASSERT_TRUE(run_until(loop_, [&] { return bound; }));
  EXPECT_EQ(recorder_->counters().shed, 6U);
  EXPECT_EQ(recorder_->counters().series, 4U);
}

}  // namespace
}  // namespace stowage::kube
