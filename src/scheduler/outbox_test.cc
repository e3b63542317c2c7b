#include "scheduler/outbox.h"

#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"

namespace stowage::scheduler {
namespace {

using kube::testing::drop;
using kube::testing::FakeApiServer;
using kube::testing::refuse;
using kube::testing::reply;
using kube::testing::run_for;
using kube::testing::run_until;
using std::chrono::milliseconds;

constexpr const char* kVictim = "/api/v1/namespaces/ns/pods/victim";
constexpr const char* kStatus = "/api/v1/namespaces/ns/pods/victim/status";
constexpr const char* kPodStatus = "/api/v1/namespaces/ns/pods/p/status";
constexpr const char* kBinding = "/api/v1/namespaces/ns/pods/p/binding";
constexpr const char* kClaim = "/api/v1/namespaces/ns/persistentvolumeclaims/data";
constexpr const char* kMore = "/api/v1/namespaces/ns/persistentvolumeclaims/more";
constexpr const char* kVolume = "/api/v1/persistentvolumes/v1";
constexpr const char* kEvents = "/apis/events.k8s.io/v1/namespaces/ns/events";

dialect::NodeObject node_object(const std::string& name) {
  dialect::NodeObject node;
  node.name = name;
  node.allocatable = {{"cpu", *base::Quantity::parse("64")},
                      {"memory", *base::Quantity::parse("512Gi")},
                      {"pods", *base::Quantity::parse("110")}};
  node.capacity = node.allocatable;
  return node;
}

dialect::PodObject pod_object(const std::string& name) {
  dialect::PodObject pod;
  pod.ns = "ns";
  pod.name = name;
  pod.uid = "uid-" + name;
  pod.scheduler = "stowage";
  pod.phase = "Pending";
  pod.containers = {dialect::ContainerObject{.name = "main"}};
  return pod;
}

// With the cards of these ids, in this order, as the node's agent writes them.
dialect::NodeObject node_with(const std::string& name, const std::vector<std::string>& ids) {
  dialect::NodeObject node = node_object(name);
  std::vector<core::Card> cards;
  for (const std::string& id : ids) {
    cards.push_back({.id = id,
                     .index = static_cast<std::int32_t>(cards.size()),
                     .model = "T4",
                     .memory_mib = 16384});
  }
  node.annotations[std::string(dialect::kInventoryAnnotation)] = dialect::inventory_text(cards, {});
  return node;
}

std::string event_text(const core::Event& event) {
  if (const auto* e = std::get_if<core::BindDone>(&event)) return "done " + e->uid;
  if (const auto* e = std::get_if<core::BindFailed>(&event)) return "failed " + e->uid;
  if (const auto* e = std::get_if<core::EvictFailed>(&event)) return "stays " + e->uid;
  if (const auto* e = std::get_if<core::Picked>(&event)) {
    return fmt::format("picked {} {} '{}'", e->uid, e->generation, e->node);
  }
  return "other";
}

// An outbox with everything behind it, a scripted API server, and claims as the test has them.
class OutboxTest : public ::testing::Test {
 protected:
  OutboxTest() {
    server_.script("POST", kEvents, {reply(201)});
    server_.script("POST", kBinding, {reply(201)});
    claims_["ns/data"] = {.uid = "c1", .resource_version = "5"};
    claims_["ns/more"] = {.uid = "c2", .resource_version = "5"};
    roster_.see_node(node_object("n1"));
    roster_.see_pod(pod_object("p"));
    auto victim = pod_object("victim");
    victim.node = "n1";
    roster_.see_pod(victim);
    (void)mailbox_.take(100);
  }

  void start(net::Duration limit = std::chrono::hours{1}) {
    const ClaimBinderOptions claims{.limit = limit, .look_every = milliseconds{2}};
    outbox_ = std::make_unique<Outbox>(
        Outbox::Options{.claims = claims, .profiles = profiles_},
        Outbox::Ends{.roster = roster_,
                     .mailbox = mailbox_,
                     .binder = binder_,
                     .recorder = recorder_,
                     .conditions = conditions_,
                     .pods = pods_,
                     .objects = objects_,
                     .loop = loop_,
                     .log = log_,
                     .wall_clock = [] { return kube::WallTime{}; },
                     .claim = [this](const std::string& name) -> const ClaimView* {
                       const auto found = claims_.find(name);
                       return found == claims_.end() ? nullptr : &found->second;
                     },
                     .on_claims_waiting = [this](std::size_t pods) { claims_waiting_ = pods; }});
  }
  void carry_out(core::Command command) { outbox_->carry_out({std::move(command)}); }
  void bind(std::vector<core::ClaimStep> claims) {
    carry_out(
        core::Bind{.uid = "uid-p", .node = "n1", .cards = {{{}}}, .claims = std::move(claims)});
  }
  void set_claim(const std::string& name, const ClaimView& view) {
    claims_[name] = view;
    outbox_->claim_changed(name);
  }
  // Waits for a reply to the engine; "" if there is none in time.
  std::string told() {
    if (!run_until(loop_, [&] { return mailbox_.sizes().replies > 0; })) return "";
    std::string text;
    const auto messages = mailbox_.take(0);
    for (const auto& message : *messages) text += event_text(std::get<core::Event>(message)) + ";";
    return text;
  }
  bool called(const std::string& method, const std::string& path, std::size_t times = 1) {
    return run_until(loop_, [&] { return server_.seen(method, path).size() >= times; });
  }
  // Methods and last parts of paths of the calls so far, without events.
  std::string calls() const {
    std::string text;
    for (const auto& seen : server_.seen()) {
      if (seen.path == kEvents) continue;
      text += seen.method + " " + seen.path.substr(seen.path.rfind('/') + 1) + ";";
    }
    return text;
  }
  bool has_event(const std::string& words) {
    return run_until(loop_, [&] {
      for (const auto& seen : server_.seen("POST", kEvents)) {
        if (seen.body.find(words) != std::string::npos) return true;
      }
      return false;
    });
  }

  net::EventLoop loop_;
  FakeApiServer server_{loop_};
  std::string logged_;
  base::Log log_{{.level = base::LogLevel::debug,
                  .write = [this](std::string_view line) { logged_ += line; }}};
  std::vector<Profile> profiles_ = built_in_profiles();
  std::unique_ptr<kube::ApiClient> client_ = server_.client();
  Mailbox mailbox_;
  kube::Binder binder_{*client_};
  kube::EventRecorder recorder_{*client_, {.instance = "test"}};
  kube::ConditionWriter conditions_{*client_};
  kube::PodAccess pods_{*client_};
  kube::ObjectAccess objects_{*client_,
                              {.total_deadline = std::chrono::milliseconds{300},
                               .pause_min = milliseconds{1},
                               .pause_max = milliseconds{4}}};
  Roster roster_{
      profiles_,
      mailbox_,
      [](const Notice&) {},
      {.unix_nanos = [] { return std::int64_t{0}; }, .now = [] { return base::Instant{}; }}};
  std::map<std::string, ClaimView> claims_;
  std::size_t claims_waiting_ = 0;
  std::unique_ptr<Outbox> outbox_;
};

TEST_F(OutboxTest, TheConditionSaysThatNoNodeCouldHelp) {
  start();
  const core::ReasonCount spent{.code = core::ReasonCode::quota, .nodes = 1};
  carry_out(core::Refuse{.uid = "uid-p", .refusal = {.nodes = 1, .counts = {spent}}});
  ASSERT_TRUE(called("PATCH", kPodStatus));
  EXPECT_NE(server_.seen("PATCH", kPodStatus)[0].body.find("QuotaExceeded"), std::string::npos);
}

const core::Evict kEvict{.uid = "uid-victim", .by = "uid-p", .node = "n1"};

TEST_F(OutboxTest, AVictimIsMarkedThenDeletedAndToldWhy) {
  server_.script("PATCH", kStatus, {reply(200)});
  server_.script("DELETE", kVictim, {reply(200)});
  start();
  carry_out(kEvict);
  ASSERT_TRUE(called("DELETE", kVictim));
  EXPECT_EQ(calls(), "PATCH status;DELETE victim;");
  const std::string mark = server_.seen("PATCH", kStatus).at(0).body;
  EXPECT_NE(mark.find(R"("type":"DisruptionTarget","status":"True")"), std::string::npos) << mark;
  EXPECT_NE(mark.find("make room for pod ns/p"), std::string::npos) << mark;
  EXPECT_EQ(server_.seen("DELETE", kVictim).at(0).body,
            R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"uid-victim"}})");
  EXPECT_TRUE(has_event("Preempted by pod uid-p on node n1"));
  EXPECT_EQ(outbox_->counters().evictions.deleted, 1U);
  EXPECT_EQ(mailbox_.sizes().replies, 0U) << "the watch tells the engine that it goes";
}

TEST_F(OutboxTest, AVictimThatHasGoneIsFine) {
  start();
  server_.script("PATCH", kStatus, {refuse(404, "NotFound", "gone")});
  carry_out(kEvict);
  ASSERT_TRUE(run_until(loop_, [&] { return outbox_->counters().evictions.gone == 1; }));
  carry_out(core::Evict{.uid = "nobody", .by = "uid-p", .node = "n1"});
  EXPECT_EQ(mailbox_.sizes().replies, 0U);
  EXPECT_EQ(outbox_->counters().evictions.under_way, 0U);
}

TEST_F(OutboxTest, AVictimThatCannotBeDeletedStaysAndTheEngineIsTold) {
  start();
  server_.script("PATCH", kStatus, {refuse(403, "Forbidden", "no right")});
  carry_out(kEvict);
  carry_out(kEvict);
  EXPECT_EQ(told(), "stays uid-victim;");
  EXPECT_EQ(calls(), "PATCH status;") << "once, and not deleted without a mark";
  server_.script("PATCH", kStatus, {drop(), reply(200)});
  server_.script("DELETE", kVictim, {refuse(500, "InternalError", "oops")});
  carry_out(kEvict);
  EXPECT_EQ(told(), "stays uid-victim;");
  EXPECT_GT(server_.seen("DELETE", kVictim).size(), 1U) << "tried again before";
  EXPECT_EQ(outbox_->counters().evictions.failed, 2U);
}

// A conflict may be another pod of that name, of which the watch tells; or a passing one.
TEST_F(OutboxTest, AVictimWhoseDeletionIsInConflictStaysUntilTheWatchTells) {
  start();
  server_.script("PATCH", kStatus, {refuse(409, "Conflict", "uid mismatch")});
  server_.script("DELETE", kVictim, {refuse(409, "Conflict", "uid mismatch")});
  carry_out(kEvict);
  EXPECT_EQ(told(), "stays uid-victim;");
  EXPECT_EQ(outbox_->counters().evictions.under_way, 0U);
}

TEST_F(OutboxTest, OfSeveralNominationsTheNewestIsWritten) {
  server_.script("PATCH", kPodStatus, {server_.hold(), reply(200)});
  start();
  carry_out(core::Nominate{.uid = "uid-p", .node = "n1", .cards = 5, .wanted = 8});
  ASSERT_TRUE(run_until(loop_, [&] { return !server_.held().empty(); }));
  carry_out(core::Nominate{.uid = "uid-p", .node = "n2", .preempts = true});
  carry_out(core::Nominate{.uid = "uid-p", .node = ""});
  server_.held().front()->send({.status = 200});
  ASSERT_TRUE(run_until(loop_, [&] { return outbox_->counters().nominations.written == 2; }));
  const auto seen = server_.seen("PATCH", kPodStatus);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_NE(seen[0].body.find(R"("nominatedNodeName":"n1")"), std::string::npos);
  EXPECT_NE(seen[1].body.find(R"("nominatedNodeName":null)"), std::string::npos);
  EXPECT_TRUE(has_event("room on n1 is reserved for the pod as it falls free: 5 of 8 GPU cards"));
  EXPECT_TRUE(has_event("evicting less important pods from n2 to make room"));
  EXPECT_EQ(outbox_->counters().nominations.replaced, 1U);
}

TEST_F(OutboxTest, ANominationThatCannotBeWrittenIsLoggedAndLeft) {
  server_.script("PATCH", kPodStatus, {refuse(403, "Forbidden", "no right")});
  start();
  carry_out(core::Nominate{.uid = "uid-p", .node = "n1"});
  ASSERT_TRUE(run_until(loop_, [&] { return outbox_->counters().nominations.failed == 1; }));
  EXPECT_NE(logged_.find("no right"), std::string::npos);
  carry_out(core::Nominate{.uid = "nobody", .node = "n1"});
  EXPECT_EQ(server_.seen("PATCH", kPodStatus).size(), 1U);
}

TEST_F(OutboxTest, APodWithoutClaimsIsBoundAtOnce) {
  start();
  bind({});
  EXPECT_EQ(told(), "done uid-p;");
  EXPECT_EQ(calls(), "POST binding;");
}

TEST_F(OutboxTest, ClaimsAreBoundBeforeThePod) {
  server_.script("PATCH", kClaim, {reply(200, R"({"metadata":{"resourceVersion":"6"}})")});
  server_.script("GET", kVolume, {reply(200, R"({"metadata":{"resourceVersion":"40"}})")});
  server_.script("PATCH", kVolume, {reply(200)});
  start();
  bind({{.claim = "ns/more", .volume = "v1"}, {.claim = "ns/data", .volume = ""}});
  ASSERT_TRUE(called("PATCH", kClaim));
  EXPECT_EQ(calls(), "GET v1;PATCH v1;PATCH data;");
  EXPECT_EQ(claims_waiting_, 1U);
  const std::string volume = server_.seen("PATCH", kVolume).at(0).body;
  EXPECT_NE(volume.find(R"("resourceVersion":"40")"), std::string::npos) << volume;
  EXPECT_NE(volume.find(R"("name":"more","uid":"c2")"), std::string::npos) << volume;
  EXPECT_NE(server_.seen("PATCH", kClaim).at(0).body.find(R"(selected-node":"n1")"),
            std::string::npos);
  set_claim("ns/more", {.uid = "c2", .resource_version = "8", .volume = "v1", .bound = true});
  set_claim("ns/data", {.uid = "c1", .resource_version = "7", .selected_node = "n1"});
  run_for(loop_, milliseconds{10});
  EXPECT_TRUE(server_.seen("POST", kBinding).empty()) << "one claim is not bound yet";
  set_claim("ns/data", {.uid = "c1",
                        .resource_version = "9",
                        .volume = "made",
                        .selected_node = "n1",
                        .bound = true});
  EXPECT_EQ(told(), "done uid-p;");
  EXPECT_EQ(claims_waiting_, 0U);
  EXPECT_EQ(outbox_->counters().claims.bound, 1U);
}

TEST_F(OutboxTest, AVolumeThatChangesIsReadAgainAndOneThatIsTakenIsNotTakenAway) {
  server_.script("GET", kVolume,
                 {reply(200, R"({"metadata":{"resourceVersion":"40"}})"),
                  reply(200, R"({"metadata":{"resourceVersion":"41"},"spec":{"claimRef":)"
                             R"({"namespace":"ns","name":"other","uid":"x"}}})")});
  server_.script("PATCH", kVolume, {refuse(409, "Conflict", "changed")});
  start();
  bind({{.claim = "ns/data", .volume = "v1"}});
  EXPECT_EQ(told(), "failed uid-p;");
  EXPECT_EQ(calls(), "GET v1;PATCH v1;GET v1;");
  EXPECT_TRUE(has_event("volume v1 was given to another claim meanwhile"));
}

TEST_F(OutboxTest, AReplyThatWasLostAfterTheVolumeWasGivenIsNoHarm) {
  server_.script("GET", kVolume,
                 {reply(200, R"({"metadata":{"resourceVersion":"40"}})"),
                  reply(200, R"({"metadata":{"resourceVersion":"41"},"spec":{"claimRef":)"
                             R"({"namespace":"ns","name":"data","uid":"c1"}}})")});
  server_.script("PATCH", kVolume, {drop(), refuse(409, "Conflict", "changed")});
  start();
  bind({{.claim = "ns/data", .volume = "v1"}});
  ASSERT_TRUE(called("GET", kVolume, 2));
  set_claim("ns/data", {.uid = "c1", .resource_version = "8", .volume = "v1", .bound = true});
  EXPECT_EQ(told(), "done uid-p;");
}

TEST_F(OutboxTest, AProvisionerThatGivesUpMakesThePodBePlacedAnew) {
  server_.script("PATCH", kClaim, {reply(200, R"({"metadata":{"resourceVersion":"6"}})")});
  start();
  bind({{.claim = "ns/data", .volume = ""}});
  ASSERT_TRUE(called("PATCH", kClaim));
  run_for(loop_, milliseconds{10});
  set_claim("ns/data", {.uid = "c1", .resource_version = "4"});
  EXPECT_EQ(mailbox_.sizes().replies, 0U) << "older than our write";
  set_claim("ns/data", {.uid = "c1", .resource_version = "7"});
  EXPECT_EQ(told(), "failed uid-p;");
  EXPECT_EQ(server_.seen("PATCH", kClaim).size(), 1U) << "nothing is left to undo";
  EXPECT_TRUE(has_event("the provisioner of claim ns/data has given up node n1"));
}

TEST_F(OutboxTest, TheNodeIsTakenFromTheClaimWhenTimeIsUp) {
  server_.script("PATCH", kClaim, {reply(200, R"({"metadata":{"resourceVersion":"6"}})")});
  start(milliseconds{50});
  bind({{.claim = "ns/data", .volume = ""}});
  ASSERT_TRUE(called("PATCH", kClaim));
  set_claim("ns/data", {.uid = "c1", .resource_version = "6", .selected_node = "n1"});
  EXPECT_EQ(told(), "failed uid-p;");
  const auto seen = server_.seen("PATCH", kClaim);
  ASSERT_EQ(seen.size(), 2U) << "before the engine is told";
  EXPECT_NE(seen[1].body.find(R"(selected-node":null)"), std::string::npos);
  EXPECT_EQ(outbox_->counters().claims.timed_out, 1U);
  EXPECT_EQ(outbox_->counters().claims.waiting, 0U);
}

TEST_F(OutboxTest, WhatWasWrittenIsUndoneWhenALaterStepFails) {
  server_.script("PATCH", kClaim, {reply(200, R"({"metadata":{"resourceVersion":"6"}})")});
  server_.script("PATCH", kMore, {refuse(403, "Forbidden", "no right")});
  start();
  bind({{.claim = "ns/data", .volume = ""}, {.claim = "ns/more", .volume = ""}});
  EXPECT_EQ(told(), "failed uid-p;");
  EXPECT_EQ(calls(), "PATCH data;PATCH more;PATCH data;");
}

TEST_F(OutboxTest, AClaimThatGoesOrIsBoundElsewhereFailsTheBind) {
  server_.script("PATCH", kClaim, {reply(200)});
  start();
  bind({{.claim = "ns/none", .volume = ""}});
  EXPECT_EQ(told(), "failed uid-p;");
  bind({{.claim = "ns/data", .volume = ""}});
  ASSERT_TRUE(called("PATCH", kClaim));
  run_for(loop_, milliseconds{10});
  claims_.erase("ns/data");
  outbox_->claim_changed("ns/data");
  EXPECT_EQ(told(), "failed uid-p;");
  claims_["ns/data"] = {.uid = "c1", .resource_version = "9", .volume = "v2", .bound = true};
  bind({{.claim = "ns/data", .volume = "v1"}});
  EXPECT_EQ(told(), "failed uid-p;");
}

TEST_F(OutboxTest, APodThatGoesWhileItWaitsForVolumesIsForgotten) {
  server_.script("PATCH", kClaim, {reply(200)});
  start();
  bind({{.claim = "ns/data", .volume = ""}});
  ASSERT_TRUE(called("PATCH", kClaim));
  roster_.lose_pod("uid-p");
  EXPECT_TRUE(run_until(loop_, [&] { return claims_waiting_ == 0; }));
  EXPECT_EQ(mailbox_.sizes().replies, 0U);
  EXPECT_TRUE(server_.seen("POST", kBinding).empty());
}

TEST_F(OutboxTest, EveryQuestionToAPickerIsAnswered) {
  start();
  carry_out(core::AskPicker{.uid = "uid-p", .generation = 3, .candidates = {{.node = "n1"}}});
  EXPECT_EQ(told(), "picked uid-p 3 '';") << "the profile has none";
  carry_out(core::AskPicker{.uid = "nobody", .generation = 4, .candidates = {{.node = "n1"}}});
  EXPECT_EQ(told(), "picked nobody 4 '';");
  const auto config = server_.config();
  profiles_[0].picker =
      PickerOptions{.url = fmt::format("http://127.0.0.1:{}/pick", config.server.port),
                    .timeout = std::chrono::seconds{30}};
  server_.script("POST", "/pick", {reply(200, R"({"node":"n2"})")});
  start();
  carry_out(core::AskPicker{
      .uid = "uid-p", .generation = 5, .candidates = {{.node = "n1"}, {.node = "n2"}}});
  EXPECT_EQ(told(), "picked uid-p 5 'n2';");
  EXPECT_NE(server_.seen("POST", "/pick").at(0).body.find(R"("namespace":"ns","name":"p")"),
            std::string::npos);
  EXPECT_EQ(outbox_->counters().pickers.at("stowage").picked, 1U);
}

// Whoever may read the victim may not read the pods of other namespaces.
TEST_F(OutboxTest, APodOfAnotherNamespaceIsNotNamed) {
  server_.script("PATCH", kStatus, {reply(200)});
  server_.script("DELETE", kVictim, {reply(200)});
  auto theirs = pod_object("secret-project");
  theirs.ns = "their-team";
  theirs.uid = "uid-t";
  roster_.see_pod(theirs);
  start();
  carry_out(core::Evict{.uid = "uid-victim", .by = "uid-t", .node = "n1"});
  EXPECT_TRUE(has_event("Preempted by pod uid-t on node n1"));
  carry_out(core::CardConflict{
      .uid = "uid-victim", .with = "uid-t", .node = "n1", .card = "n1/0", .evict = true});
  EXPECT_TRUE(has_event("cannot hold this pod beside a pod of another namespace"));
  ASSERT_TRUE(called("DELETE", kVictim, 2));
  const auto marks = server_.seen("PATCH", kStatus);
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_NE(marks[0].body.find("make room for a pod of another namespace"), std::string::npos);
  EXPECT_NE(marks[1].body.find("given to a pod of another namespace"), std::string::npos);
  for (const auto& seen : server_.seen()) {
    EXPECT_EQ(seen.body.find("their-team"), std::string::npos) << seen.body;
    EXPECT_EQ(seen.body.find("secret-project"), std::string::npos) << seen.body;
  }
}

const core::CardConflict kConflict{
    .uid = "uid-victim", .with = "uid-p", .node = "n1", .card = "n1/0", .evict = true};

TEST_F(OutboxTest, TheLaterOfTwoPodsWithOneShareIsToldAndEvicted) {
  server_.script("PATCH", kStatus, {reply(200)});
  server_.script("DELETE", kVictim, {reply(200)});
  start();
  carry_out(kConflict);
  EXPECT_TRUE(has_event("card n1/0 of node n1 cannot hold this pod beside pod ns/p"));
  ASSERT_TRUE(called("DELETE", kVictim));
  EXPECT_EQ(calls(), "PATCH status;DELETE victim;");
  EXPECT_NE(server_.seen("PATCH", kStatus).at(0).body.find("was given to pod ns/p before"),
            std::string::npos);
  ASSERT_TRUE(run_until(loop_, [&] { return outbox_->counters().evictions.deleted == 1; }));
  EXPECT_EQ(outbox_->counters().conflicts, 1U);
  EXPECT_EQ(server_.seen("POST", kEvents).size(), 1U) << "nobody was preempted";
}

TEST_F(OutboxTest, AConflictMayBeToldAndNoMore) {
  start();
  core::CardConflict conflict = kConflict;
  conflict.evict = false;
  carry_out(conflict);
  EXPECT_TRUE(has_event("is left where it is"));
  EXPECT_EQ(calls(), "");
  EXPECT_EQ(outbox_->counters().conflicts, 1U);
}

TEST_F(OutboxTest, WhoStandsDownFinishesNoEviction) {
  server_.script("PATCH", kStatus, {reply(200)});
  start();
  carry_out(kEvict);
  outbox_->stand_down();
  carry_out(kEvict);
  carry_out(kConflict);
  ASSERT_TRUE(called("PATCH", kStatus));
  run_for(loop_, milliseconds{20});
  EXPECT_EQ(calls(), "PATCH status;");
  EXPECT_EQ(outbox_->counters().evictions.under_way, 0U);
}

TEST_F(OutboxTest, AGuestThatWasClaimedAfterWeStoodDownIsLetGo) {
  start();
  outbox_->stand_down();
  std::string error;
  outbox_->bind_guest({.ask = {.ns = "ns", .name = "p", .uid = "uid-p", .node = "n1"},
                       .done = [&](const std::string& why) { error = why; }});
  EXPECT_EQ(error, "this replica does not lead any more; ask again");
  EXPECT_EQ(told(), "failed uid-p;");
  EXPECT_EQ(calls(), "");
}

TEST_F(OutboxTest, EditedAnnotationsAreToldInAnEventByTheLeader) {
  start();
  const Notice notice{.kind = Notice::Kind::drift, .ns = "ns", .name = "p", .text = "was edited"};
  outbox_->stand_down();
  outbox_->tell(notice);
  outbox_->lead();
  outbox_->tell(notice);
  EXPECT_TRUE(has_event("AnnotationDrift"));
  EXPECT_TRUE(has_event("was edited"));
  EXPECT_EQ(server_.seen("POST", kEvents).size(), 1U);
}

// The node's cards may change between the decision and the bind, which may wait long for volumes.
TEST_F(OutboxTest, TheCardThatWasReservedIsWrittenWhereverItIsNow) {
  start();
  auto pod = pod_object("p");
  pod.containers[0].limits = {{"nvidia.com/gpu", *base::Quantity::parse("1")}};
  roster_.see_pod(pod);
  const auto has = [this](const std::vector<std::string>& ids) {
    roster_.see_node(node_with("n1", ids));
    (void)mailbox_.take(100);
  };
  has({"GPU-a", "GPU-b"});
  const core::Bind bind{
      .uid = "uid-p", .node = "n1", .cards = {{{{.card = "GPU-b", .milli = 1000}}}}};
  has({"GPU-b", "GPU-c"});
  carry_out(bind);
  EXPECT_EQ(told(), "done uid-p;");
  const std::string body = server_.seen("POST", kBinding).at(0).body;
  EXPECT_NE(body.find("GPU-b"), std::string::npos) << body;
  EXPECT_EQ(body.find("GPU-c"), std::string::npos) << body;
  has({"GPU-a", "GPU-c"});
  carry_out(bind);
  EXPECT_EQ(told(), "failed uid-p;") << "the card has gone: the pod is judged again";
  EXPECT_EQ(server_.seen("POST", kBinding).size(), 1U) << "nothing is written";
}

}  // namespace
}  // namespace stowage::scheduler
