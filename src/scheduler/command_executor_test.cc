#include "scheduler/command_executor.h"

#include <fmt/format.h>

#include "scheduler/testing/command_executor_fixture.h"

namespace stowage::scheduler::testing {
namespace {

TEST_F(CommandExecutorTest, TheConditionSaysThatNoNodeCouldHelp) {
  start();
  const core::ReasonCount spent{.code = core::ReasonCode::quota, .nodes = 1};
  execute(core::Refuse{.uid = "uid-p", .refusal = {.nodes = 1, .counts = {spent}}});
  ASSERT_TRUE(called("PATCH", kPodStatus));
  EXPECT_NE(server_.seen("PATCH", kPodStatus)[0].body.find("QuotaExceeded"), std::string::npos);
}

const core::Evict kEvict{.uid = "uid-victim", .by = "uid-p", .node = "n1"};

TEST_F(CommandExecutorTest, AVictimIsMarkedThenDeletedAndToldWhy) {
  server_.script("PATCH", kStatus, {reply(200)});
  server_.script("DELETE", kVictim, {reply(200)});
  start();
  execute(kEvict);
  ASSERT_TRUE(called("DELETE", kVictim));
  EXPECT_EQ(calls(), "PATCH status;DELETE victim;");
  const std::string mark = server_.seen("PATCH", kStatus).at(0).body;
  EXPECT_NE(mark.find(R"("type":"DisruptionTarget","status":"True")"), std::string::npos) << mark;
  EXPECT_NE(mark.find("preempted for pod ns/p"), std::string::npos) << mark;
  EXPECT_EQ(server_.seen("DELETE", kVictim).at(0).body,
            R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"uid-victim"}})");
  EXPECT_TRUE(has_event("Preempted by pod uid-p on node n1"));
  EXPECT_EQ(command_executor_->counters().evictions.deleted, 1U);
  EXPECT_EQ(event_queue_.sizes().replies, 0U) << "the watch tells the engine that it goes";
}

TEST_F(CommandExecutorTest, AVictimThatHasGoneIsFine) {
  start();
  server_.script("PATCH", kStatus, {kube::testing::not_found("pods", "victim")});
  server_.script("GET", kVictim, {kube::testing::not_found("pods", "victim")});
  execute(kEvict);
  ASSERT_TRUE(run_until(loop_, [&] { return command_executor_->counters().evictions.gone == 1; }));
  EXPECT_EQ(calls(), "PATCH status;GET victim;");
  execute(core::Evict{.uid = "nobody", .by = "uid-p", .node = "n1"});
  EXPECT_EQ(event_queue_.sizes().replies, 0U);
  EXPECT_EQ(command_executor_->counters().evictions.under_way, 0U);
}

// Without a reply that the victim stays, the engine would count its share as about to be freed for
// ever.
TEST_F(CommandExecutorTest, AVictimOfWhichAProxySaysNotFoundIsNotTakenForGone) {
  start();
  server_.script("PATCH", kStatus, {reply(200)});
  server_.script("DELETE", kVictim, {reply(404, "404 page not found")});
  execute(kEvict);
  EXPECT_EQ(told(), "stays uid-victim;");
  server_.script("DELETE", kVictim, {kube::testing::not_found("pods", "victim")});
  server_.script("GET", kVictim, {reply(200, "{}")});
  execute(kEvict);
  EXPECT_EQ(told(), "stays uid-victim;");
  EXPECT_EQ(command_executor_->counters().evictions.gone, 0U);
  EXPECT_EQ(command_executor_->counters().evictions.failed, 2U);
}

TEST_F(CommandExecutorTest, AVictimThatCannotBeDeletedStaysAndTheEngineIsTold) {
  start();
  server_.script("PATCH", kStatus, {refuse(403, "Forbidden", "no right")});
  execute(kEvict);
  execute(kEvict);
  EXPECT_EQ(told(), "stays uid-victim;");
  EXPECT_EQ(calls(), "PATCH status;") << "once, and not deleted without a mark";
  server_.script("PATCH", kStatus, {drop(), reply(200)});
  server_.script("DELETE", kVictim, {refuse(500, "InternalError", "oops")});
  execute(kEvict);
  EXPECT_EQ(told(), "stays uid-victim;");
  EXPECT_GT(server_.seen("DELETE", kVictim).size(), 1U) << "tried again before";
  EXPECT_EQ(command_executor_->counters().evictions.failed, 2U);
}

// A conflict may mean another pod of that name, which the watch reports, or may be temporary.
TEST_F(CommandExecutorTest, AVictimWhoseDeletionIsInConflictStaysUntilTheWatchTells) {
  start();
  server_.script("PATCH", kStatus, {refuse(409, "Conflict", "uid mismatch")});
  server_.script("DELETE", kVictim, {refuse(409, "Conflict", "uid mismatch")});
  execute(kEvict);
  EXPECT_EQ(told(), "stays uid-victim;");
  EXPECT_EQ(command_executor_->counters().evictions.under_way, 0U);
}

TEST_F(CommandExecutorTest, OfSeveralNominationsTheNewestIsWritten) {
  server_.script("PATCH", kPodStatus, {server_.hold(), reply(200)});
  start();
  execute(core::Nominate{.uid = "uid-p", .node = "n1", .cards = 5, .wanted = 8});
  ASSERT_TRUE(run_until(loop_, [&] { return !server_.held().empty(); }));
  execute(core::Nominate{.uid = "uid-p", .node = "n2", .preempts = true});
  execute(core::Nominate{.uid = "uid-p", .node = ""});
  server_.held().front()->send({.status = 200});
  ASSERT_TRUE(
      run_until(loop_, [&] { return command_executor_->counters().nominations.written == 2; }));
  const auto seen = server_.seen("PATCH", kPodStatus);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_NE(seen[0].body.find(R"("nominatedNodeName":"n1")"), std::string::npos);
  EXPECT_NE(seen[1].body.find(R"("nominatedNodeName":null)"), std::string::npos);
  EXPECT_TRUE(
      has_event("capacity on n1 is reserved for the pod as it becomes free: 5 of 8 GPU cards"));
  EXPECT_TRUE(has_event("evicting pods of lower priority from n2"));
  EXPECT_EQ(command_executor_->counters().nominations.replaced, 1U);
}

TEST_F(CommandExecutorTest, ANominationThatCannotBeWrittenIsLoggedAndLeft) {
  server_.script("PATCH", kPodStatus, {refuse(403, "Forbidden", "no right")});
  start();
  execute(core::Nominate{.uid = "uid-p", .node = "n1"});
  ASSERT_TRUE(
      run_until(loop_, [&] { return command_executor_->counters().nominations.failed == 1; }));
  EXPECT_NE(logged_.find("no right"), std::string::npos);
  execute(core::Nominate{.uid = "nobody", .node = "n1"});
  EXPECT_EQ(server_.seen("PATCH", kPodStatus).size(), 1U);
}

TEST_F(CommandExecutorTest, EveryQuestionToAPickerIsAnswered) {
  start();
  execute(core::AskPicker{.uid = "uid-p", .generation = 3, .candidates = {{.node = "n1"}}});
  EXPECT_EQ(told(), "picked uid-p 3 '';") << "the profile has none";
  execute(core::AskPicker{.uid = "nobody", .generation = 4, .candidates = {{.node = "n1"}}});
  EXPECT_EQ(told(), "picked nobody 4 '';");
  const auto config = server_.config();
  profiles_[0].picker =
      PickerOptions{.url = fmt::format("http://127.0.0.1:{}/pick", config.server.port),
                    .timeout = std::chrono::seconds{30}};
  server_.script("POST", "/pick", {reply(200, R"({"node":"n2"})")});
  start();
  execute(core::AskPicker{
      .uid = "uid-p", .generation = 5, .candidates = {{.node = "n1"}, {.node = "n2"}}});
  EXPECT_EQ(told(), "picked uid-p 5 'n2';");
  EXPECT_NE(server_.seen("POST", "/pick").at(0).body.find(R"("namespace":"ns","name":"p")"),
            std::string::npos);
  EXPECT_EQ(command_executor_->counters().pickers.at("stowage").picked, 1U);
}

// A user who may read the victim may not be allowed to read pods of other namespaces.
TEST_F(CommandExecutorTest, APodOfAnotherNamespaceIsNotNamed) {
  server_.script("PATCH", kStatus, {reply(200)});
  server_.script("DELETE", kVictim, {reply(200)});
  auto theirs = pod_object("secret-project");
  theirs.ns = "their-team";
  theirs.uid = "uid-t";
  cluster_cache_.upsert_pod(theirs);
  start();
  execute(core::Evict{.uid = "uid-victim", .by = "uid-t", .node = "n1"});
  EXPECT_TRUE(has_event("Preempted by pod uid-t on node n1"));
  execute(core::CardConflict{
      .uid = "uid-victim", .with = "uid-t", .node = "n1", .card = "n1/0", .evict = true});
  EXPECT_TRUE(has_event("cannot hold both this pod and a pod of another namespace"));
  ASSERT_TRUE(called("DELETE", kVictim, 2));
  const auto marks = server_.seen("PATCH", kStatus);
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_NE(marks[0].body.find("preempted for a pod of another namespace"), std::string::npos);
  EXPECT_NE(marks[1].body.find("given to a pod of another namespace"), std::string::npos);
  for (const auto& seen : server_.seen()) {
    EXPECT_EQ(seen.body.find("their-team"), std::string::npos) << seen.body;
    EXPECT_EQ(seen.body.find("secret-project"), std::string::npos) << seen.body;
  }
}

const core::CardConflict kConflict{
    .uid = "uid-victim", .with = "uid-p", .node = "n1", .card = "n1/0", .evict = true};

TEST_F(CommandExecutorTest, TheLaterOfTwoPodsWithOneShareIsToldAndEvicted) {
  server_.script("PATCH", kStatus, {reply(200)});
  server_.script("DELETE", kVictim, {reply(200)});
  start();
  execute(kConflict);
  EXPECT_TRUE(has_event("card n1/0 of node n1 cannot hold both this pod and pod ns/p"));
  ASSERT_TRUE(called("DELETE", kVictim));
  EXPECT_EQ(calls(), "PATCH status;DELETE victim;");
  EXPECT_NE(server_.seen("PATCH", kStatus).at(0).body.find("was given to pod ns/p before"),
            std::string::npos);
  ASSERT_TRUE(
      run_until(loop_, [&] { return command_executor_->counters().evictions.deleted == 1; }));
  EXPECT_EQ(command_executor_->counters().conflicts, 1U);
  EXPECT_EQ(server_.seen("POST", kEvents).size(), 1U) << "nobody was preempted";
}

TEST_F(CommandExecutorTest, AConflictMayBeToldAndNoMore) {
  start();
  core::CardConflict conflict = kConflict;
  conflict.evict = false;
  execute(conflict);
  EXPECT_TRUE(has_event("is not evicted"));
  EXPECT_EQ(calls(), "");
  EXPECT_EQ(command_executor_->counters().conflicts, 1U);
}

TEST_F(CommandExecutorTest, WhoStandsDownFinishesNoEviction) {
  server_.script("PATCH", kStatus, {reply(200)});
  start();
  execute(kEvict);
  command_executor_->stand_down();
  execute(kEvict);
  execute(kConflict);
  ASSERT_TRUE(called("PATCH", kStatus));
  run_for(loop_, milliseconds{20});
  EXPECT_EQ(calls(), "PATCH status;");
  EXPECT_EQ(command_executor_->counters().evictions.under_way, 0U);
}

TEST_F(CommandExecutorTest, AExternalThatWasClaimedAfterWeStoodDownIsLetGo) {
  start();
  command_executor_->stand_down();
  std::string error;
  command_executor_->bind_external({.ask = {.ns = "ns", .name = "p", .uid = "uid-p", .node = "n1"},
                                    .done = [&](const std::string& why) { error = why; }});
  EXPECT_EQ(error, "this replica no longer leads; try again");
  EXPECT_EQ(told(), "failed uid-p;");
  EXPECT_EQ(calls(), "");
}

TEST_F(CommandExecutorTest, EditedAnnotationsAreToldInAnEventByTheLeader) {
  start();
  const Notice notice{
      .kind = Notice::Kind::annotation_mismatch, .ns = "ns", .name = "p", .text = "was edited"};
  command_executor_->stand_down();
  command_executor_->report(notice);
  command_executor_->lead();
  command_executor_->report(notice);
  EXPECT_TRUE(has_event("AnnotationMismatch"));
  EXPECT_TRUE(has_event("was edited"));
  EXPECT_EQ(server_.seen("POST", kEvents).size(), 1U);
}

// The cards of the node may change between the decision and the bind, which may wait long for
// volumes.
TEST_F(CommandExecutorTest, TheCardThatWasReservedIsWrittenWhereverItIsNow) {
  start();
  auto pod = pod_object("p");
  pod.containers[0].limits = {{"nvidia.com/gpu", *base::Quantity::parse("1")}};
  cluster_cache_.upsert_pod(pod);
  const auto has = [this](const std::vector<std::string>& ids) {
    cluster_cache_.upsert_node(node_with("n1", ids));
    (void)event_queue_.take(100);
  };
  has({"GPU-a", "GPU-b"});
  const core::Bind bind{
      .uid = "uid-p", .node = "n1", .cards = {{{{.card = "GPU-b", .milli = 1000}}}}};
  has({"GPU-b", "GPU-c"});
  execute(bind);
  EXPECT_EQ(told(), "done uid-p;");
  const std::string body = server_.seen("POST", kBinding).at(0).body;
  EXPECT_NE(body.find("GPU-b"), std::string::npos) << body;
  EXPECT_EQ(body.find("GPU-c"), std::string::npos) << body;
  has({"GPU-a", "GPU-c"});
  execute(bind);
  EXPECT_EQ(told(), "failed uid-p;") << "the card has gone: the pod is judged again";
  EXPECT_EQ(server_.seen("POST", kBinding).size(), 1U) << "nothing is written";
}

}  // namespace
}  // namespace stowage::scheduler::testing
