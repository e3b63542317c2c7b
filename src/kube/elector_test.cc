#include "kube/elector.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "net/testing/virtual_time.h"

namespace stowage::kube {
namespace {

using namespace std::chrono_literals;

// Until the first replica leads: a whole lease, the margin and two calls.
constexpr std::chrono::milliseconds kFirst = 15'600ms;

// One lease in memory, for several clients. Calls of a client can be lost before or after the
// server acts.
class LeaseServer {
 public:
  // kept: good, but the creation of a lease waits for act_on_kept(), and other calls are lost.
  enum class Way : unsigned char { good, lost, reply_lost, broken, no_namespace, kept };

  explicit LeaseServer(net::testing::VirtualTime& time) : time_(time) {}

  net::HttpResponse answer(const net::HttpRequest& request) {
    if (request.method == "GET") return exists_ ? ok() : net::HttpResponse{.status = 404};
    auto wanted =
        codec::read_lease(request.method == "POST" ? with_version(request.body) : request.body);
    if (!wanted) return {.status = 400};
    if (request.method != "POST" && !exists_) return {.status = 404};
    if (request.method == "POST" ? exists_ : wanted->resource_version != lease_.resource_version) {
      return {.status = 409};
    }
    if (!exists_) ++made_;
    exists_ = true;
    lease_ = *wanted;
    lease_.resource_version = std::to_string(++version_);
    return ok();
  }

  [[nodiscard]] const codec::Lease& lease() const { return lease_; }
  [[nodiscard]] bool exists() const { return exists_; }
  void remove() { exists_ = false; }
  // Like an operator by hand.
  void make_free() {
    exists_ = true;
    lease_ = {.resource_version = std::to_string(++version_)};
  }
  void keep(net::HttpRequest request) { kept_ = std::move(request); }
  [[nodiscard]] bool has_kept() const { return kept_.has_value(); }
  void act_on_kept() { (void)answer(*kept_); }
  net::testing::VirtualTime& time() { return time_; }
  std::map<std::string, Way> ways;  // by client

 private:
  // The lease is created without one, and read_lease() wants one.
  static std::string with_version(std::string body) {
    return with(std::move(body), R"("resourceVersion":"0")");
  }
  static std::string with(std::string body, const std::string& field) {
    const std::string key = R"("metadata":{)";
    return body.replace(body.find(key), key.size(), key + field + ",");
  }
  [[nodiscard]] net::HttpResponse ok() const {
    if (lease_.renewed.empty()) {
      return {.status = 200,
              .body = R"({"metadata":{"resourceVersion":")" + lease_.resource_version + R"("}})"};
    }
    codec::LeaseRequest ask{.resource_version = lease_.resource_version,
                            .holder = lease_.holder,
                            .seconds = lease_.seconds,
                            .renewed_micros = version_,
                            .transitions = lease_.transitions,
                            .annotations = lease_.annotations};
    return {.status = 200,
            .body = with(codec::lease_patch(ask), R"("uid":")" + std::to_string(made_) + R"(")")};
  }

  net::testing::VirtualTime& time_;
  bool exists_ = false;
  codec::Lease lease_;
  std::int64_t version_ = 0;
  std::int64_t made_ = 0;  // number of creations
  std::optional<net::HttpRequest> kept_;
};

class LeaseCaller final : public net::HttpCaller {
 public:
  LeaseCaller(LeaseServer& server, std::string name) : server_(server), name_(std::move(name)) {}

  void send(net::HttpRequest request, net::Duration deadline, Reply reply) override {
    const auto way = server_.ways[name_];
    auto& time = server_.time();
    const std::weak_ptr<bool> alive = alive_;
    const auto fail = [&time, deadline, reply, alive] {
      time.at(time.now() + deadline, [reply, alive] {
        if (!alive.expired()) {
          reply(tl::unexpected(net::CallError{.message = "lost", .sent = true, .timed_out = true}));
        }
      });
    };
    if (way == LeaseServer::Way::kept && request.method == "POST") {
      server_.keep(std::move(request));
      server_.ways[name_] = LeaseServer::Way::lost;
      return fail();
    }
    if (way == LeaseServer::Way::lost) return fail();
    time.at(time.now() + 1ms,
            [&server = server_, &time, alive, request = std::move(request), reply, fail, way] {
              if (way == LeaseServer::Way::broken || way == LeaseServer::Way::no_namespace) {
                const int status = way == LeaseServer::Way::broken ? 500 : 404;
                return time.at(time.now() + 1ms, [reply, alive, status] {
                  if (!alive.expired()) reply(net::HttpResponse{.status = status});
                });
              }
              auto response = server.answer(request);
              if (way == LeaseServer::Way::reply_lost) return fail();
              time.at(time.now() + 1ms, [reply, alive, response = std::move(response)] {
                if (!alive.expired()) reply(response);
              });
            });
  }
  std::unique_ptr<Stream> open(net::HttpRequest, const StreamOptions&, StreamHandler) override {
    return nullptr;
  }
  void set_tls(std::shared_ptr<net::TlsContext>) override {}

 private:
  LeaseServer& server_;
  std::string name_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

struct Candidate {
  Candidate(LeaseServer& server, std::string name) : loop(server.time()) {
    ApiClientOptions options;
    options.caller = [&server, name] { return std::make_unique<LeaseCaller>(server, name); };
    options.wall_clock = [this, &time = server.time()] {
      return WallTime{time.now().time_since_epoch() + wall_ahead};
    };
    client = ApiClient::create(loop, ClientConfig{}, options).value();
    elector = std::make_unique<Elector>(
        *client, ElectorOptions{.identity = name, .annotations = {{"at", name}}},
        Elector::Deps{
            .on_leading =
                [this](const Elector::Start& start) {
                  told += start.clean     ? "leads "
                          : start.created ? "leads anew "
                                          : "leads after " + start.before + " ";
                },
            .on_lost = [this](const std::string& /*why*/) { told += "lost "; },
            .on_leader = [this](const codec::Lease& lease) { leaders += lease.holder + " "; }});
    elector->start();
  }

  net::EventLoop loop;
  net::Duration wall_ahead{};  // the wall clock ahead of our own clock
  std::unique_ptr<ApiClient> client;
  std::unique_ptr<Elector> elector;
  std::string told;
  std::string leaders;
};

struct ElectorTest : ::testing::Test {
  net::testing::VirtualTime time;
  LeaseServer server{time};
};

TEST_F(ElectorTest, TheFirstLeadsAndTheOthersWait) {
  Candidate a(server, "a");
  time.pass(kFirst);
  Candidate b(server, "b");
  time.pass(60s);
  EXPECT_EQ(a.told, "leads anew ");
  EXPECT_EQ(b.told, "");
  EXPECT_EQ(b.leaders, "a ");
  EXPECT_EQ(b.elector->seen().annotations.at("at"), "a");
  EXPECT_GT(a.elector->fence(), time.now() + 10s);
  EXPECT_LT(b.elector->fence(), time.now());
  EXPECT_EQ(server.lease().transitions, 0);
}

TEST_F(ElectorTest, ALeaseThatIsGivenBackIsTakenWithinTwoSeconds) {
  Candidate a(server, "a");
  time.pass(kFirst);
  Candidate b(server, "b");
  time.pass(10s);
  bool done = false;
  a.elector->release([&] { done = true; });
  time.pass(100ms);
  EXPECT_TRUE(done);
  time.pass(1500ms);
  EXPECT_EQ(b.told, "leads ");
  EXPECT_EQ(server.lease().transitions, 1);
  time.pass(60s);
  EXPECT_EQ(a.told, "leads anew ");
}

TEST_F(ElectorTest, ALeaderThatFallsSilentIsFollowedWhenItsLeaseHasRunOut) {
  auto a = std::make_unique<Candidate>(server, "a");
  time.pass(kFirst);
  Candidate b(server, "b");
  time.pass(10s);
  a.reset();
  time.pass(12s);
  EXPECT_EQ(b.told, "");
  time.pass(5s);
  EXPECT_EQ(b.told, "leads after a ");
  EXPECT_EQ(b.elector->counters().unclean, 1);
}

TEST_F(ElectorTest, ALeaderThatCannotRenewStopsBeforeTheNextOneStarts) {
  Candidate a(server, "a");
  time.pass(kFirst);
  Candidate b(server, "b");
  time.pass(10s);
  server.ways["a"] = LeaseServer::Way::lost;
  net::Moment fence = a.elector->fence();
  for (int i = 0; i < 4000 && b.told.empty(); ++i) {
    if (a.elector->leading()) fence = a.elector->fence();
    time.pass(10ms);
  }
  EXPECT_EQ(a.told, "leads anew lost ");
  EXPECT_EQ(b.told, "leads after a ");
  EXPECT_LT(fence, time.now());
  EXPECT_FALSE(a.elector->trouble().empty());
  server.ways["a"] = LeaseServer::Way::good;
  time.pass(30s);
  EXPECT_EQ(a.told, "leads anew lost ");
  EXPECT_EQ(a.leaders, "a b ");
}

TEST_F(ElectorTest, ALostReplyIsNoLostLease) {
  Candidate a(server, "a");
  time.pass(kFirst + 3s);
  server.ways["a"] = LeaseServer::Way::reply_lost;
  time.pass(4s);  // the server has renewed it, but a does not know
  server.ways["a"] = LeaseServer::Way::good;
  time.pass(30s);
  EXPECT_EQ(a.told, "leads anew ");
  EXPECT_EQ(server.lease().holder, "a");
}

TEST_F(ElectorTest, ALeaseThatIsTakenWithALostReplyIsTakenAllTheSame) {
  auto a = std::make_unique<Candidate>(server, "a");
  time.pass(kFirst);
  Candidate b(server, "b");
  time.pass(5s);
  a.reset();
  time.pass(13s);
  server.ways["b"] = LeaseServer::Way::reply_lost;
  time.pass(6s);
  server.ways["b"] = LeaseServer::Way::good;
  time.pass(10s);
  EXPECT_EQ(b.told, "leads after a ");
}

TEST_F(ElectorTest, LeadingAgainReportsThatRequestsMayBeUnderWay) {
  Candidate a(server, "a");
  time.pass(kFirst + 3s);
  server.ways["a"] = LeaseServer::Way::broken;
  time.pass(11s);
  EXPECT_EQ(a.told, "leads anew lost ");
  EXPECT_LT(a.elector->fence(), time.now());
  server.ways["a"] = LeaseServer::Way::good;
  time.pass(5s);
  EXPECT_EQ(a.told, "leads anew lost leads after a ");
}

TEST_F(ElectorTest, NeverTwoLeadersAtATime) {
  base::Rng rng(7);
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (int i = 0; i < 3; ++i) {
    candidates.push_back(
        std::make_unique<Candidate>(server, std::string(1, static_cast<char>('a' + i))));
  }
  int changes = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (rng.below(40) == 0) {
      const auto name = std::string(1, static_cast<char>('a' + rng.below(3)));
      server.ways[name] = static_cast<LeaseServer::Way>(rng.below(4));
    }
    if (rng.below(150) == 0) server.remove();
    if (rng.below(200) == 0) {  // a replica restarts under another name
      auto& one = candidates[rng.below(3)];
      const auto old = one->elector->options().identity;
      const net::Moment fence = one->elector->fence();
      if (fence < time.now()) {
        server.ways[old + "+"] = LeaseServer::Way::good;
        one = std::make_unique<Candidate>(server, old + "+");
      }
    }
    time.pass(50ms);
    int acting = 0;
    for (const auto& each : candidates) {
      if (each->elector->fence() > time.now()) ++acting;
    }
    ASSERT_LE(acting, 1) << "at step " << step;
    for (const auto& each : candidates)
      changes += static_cast<int>(each->elector->counters().acquired);
  }
  EXPECT_GT(changes, 10);
}

// Whatever is under way at release: no candidate has to wait until the lease expires.
TEST(ElectorRelease, AtAnyMomentLeavesALeaseThatIsFree) {
  for (int offset = 0; offset < 2600; ++offset) {
    net::testing::VirtualTime time;
    LeaseServer server{time};
    Candidate a(server, "a");
    time.pass(std::chrono::milliseconds{kFirst.count() + (offset < 20 ? offset : 4000 + offset)});
    bool done = false;
    a.elector->release([&] { done = true; });
    time.pass(50ms);
    ASSERT_TRUE(done) << offset;
    ASSERT_EQ(server.lease().holder, "") << offset;
    time.pass(30s);
    ASSERT_EQ(server.lease().holder, "") << offset;
    ASSERT_FALSE(a.elector->leading());
  }
}

// A created lease also protects an earlier leader that is not known.
TEST(ElectorRelease, ALeaseThatWasMadeAndNotLedByYetRunsOut) {
  for (int offset = 0; offset < 15'400; offset += 7) {
    net::testing::VirtualTime time;
    LeaseServer server{time};
    Candidate a(server, "a");
    time.pass(std::chrono::milliseconds{offset});
    ASSERT_EQ(a.told, "") << offset;
    bool done = false;
    a.elector->release([&] { done = true; });
    time.pass(50ms);
    ASSERT_TRUE(done) << offset;
    ASSERT_EQ(server.exists() ? server.lease().holder : "a", "a") << offset;
  }
}

TEST_F(ElectorTest, ALeaderRecreatesADeletedLeaseAndGoesOn) {
  Candidate a(server, "a");
  time.pass(kFirst);
  Candidate b(server, "b");
  for (int i = 0; i < 10; ++i) {
    time.pass(std::chrono::milliseconds{5000 + 217 * i});
    server.remove();
    time.pass(30s);
    ASSERT_EQ(server.lease().holder, "a") << i;
  }
  EXPECT_EQ(a.told, "leads anew ");
  EXPECT_EQ(b.told, "");
  EXPECT_EQ(a.elector->counters().lost, 0);
}

// It cannot reach the server, and may lead for as long as it could have with the lease.
TEST_F(ElectorTest, ADeletedLeaseIsWaitedOutByWhoKnewIt) {
  Candidate a(server, "a");
  time.pass(kFirst);
  Candidate b(server, "b");
  time.pass(10s);
  const net::Moment fence = a.elector->fence();
  server.ways["a"] = LeaseServer::Way::lost;
  server.remove();
  while (b.told.empty()) {
    time.pass(10ms);
    ASSERT_LT(time.now(), fence + 60s);
  }
  EXPECT_GT(time.now(), fence);
  EXPECT_EQ(b.told, "leads anew ");
  EXPECT_EQ(b.elector->counters().unclean, 1);
  EXPECT_EQ(a.told, "leads anew lost ");
}

// It cannot know whether there was a lease before it started.
TEST_F(ElectorTest, WhoComesAfterADeletionWaitsAsWell) {
  Candidate a(server, "a");
  time.pass(kFirst + 10s);
  const net::Moment fence = a.elector->fence();
  server.ways["a"] = LeaseServer::Way::lost;
  server.remove();
  Candidate b(server, "b");
  while (b.told.empty()) time.pass(10ms);
  EXPECT_GT(time.now(), fence);
  EXPECT_EQ(b.elector->counters().unclean, 1);
}

// The server executes late the call by which a leader created its lease again. Meanwhile another
// replica has led, and its lease was deleted as well.
TEST_F(ElectorTest, ALeaseThatIsMadeLateIsWaitedOutByWhoLedBefore) {
  Candidate a(server, "a");
  time.pass(kFirst + 10s);
  server.remove();
  server.ways["a"] = LeaseServer::Way::kept;
  time.pass(3s);  // a has noticed, and sends it
  ASSERT_TRUE(server.has_kept());
  Candidate b(server, "b");
  time.pass(kFirst + 10s);
  ASSERT_EQ(b.told, "leads anew ");
  ASSERT_EQ(a.told, "leads anew lost ");
  const net::Moment fence = b.elector->fence();
  server.ways["b"] = LeaseServer::Way::lost;
  server.remove();
  server.act_on_kept();
  ASSERT_EQ(server.lease().holder, "a");
  server.ways["a"] = LeaseServer::Way::good;
  while (!a.elector->leading()) time.pass(10ms);
  EXPECT_GT(time.now(), fence);
}

TEST_F(ElectorTest, AFreeLeaseThatWasNeverHeldIsTakenAsNone) {
  Candidate a(server, "a");
  time.pass(kFirst + 10s);
  const net::Moment fence = a.elector->fence();
  server.ways["a"] = LeaseServer::Way::lost;
  server.make_free();
  Candidate b(server, "b");
  while (b.told.empty()) time.pass(10ms);
  EXPECT_GT(time.now(), fence);
  EXPECT_EQ(b.told, "leads anew ");
}

// A server that has neither the lease nor its namespace is asked only with pauses.
TEST_F(ElectorTest, ALeaseThatCannotBeMadeIsTriedNowAndThen) {
  server.ways["a"] = LeaseServer::Way::no_namespace;
  Candidate a(server, "a");
  time.pass(10s);
  EXPECT_NE(a.elector->trouble(), "");
  EXPECT_LE(a.elector->counters().failed, 20);
}

// Both clocks stop while a virtual machine is paused; afterwards only the wall clock is corrected.
TEST_F(ElectorTest, NothingIsSentBeforeARenewalWhenTheClocksDisagree) {
  Candidate a(server, "a");
  time.pass(kFirst + 10s);
  ASSERT_GT(a.elector->fence(), time.now());
  for (const net::Duration jump : {net::Duration{20s}, net::Duration{-20s}, net::Duration{300ms}}) {
    a.wall_ahead += jump;
    EXPECT_EQ(a.elector->fence(), net::Moment{});
    EXPECT_EQ(a.elector->fence(), net::Moment{}) << "the renewal is under way";
    time.pass(5ms);
    EXPECT_GT(a.elector->fence(), time.now() + 10s);
  }
  EXPECT_EQ(a.elector->counters().clock_jumps, 3);
  a.wall_ahead += 200ms;
  EXPECT_GT(a.elector->fence(), time.now()) << "clocks are set a little now and then";
  // A renewal that was sent before the clock jump does not count.
  time.pass(2s);
  server.ways["a"] = LeaseServer::Way::lost;
  time.pass(2500ms);
  a.wall_ahead += 20s;
  EXPECT_EQ(a.elector->fence(), net::Moment{});
  EXPECT_EQ(a.told, "leads anew ");
}

TEST_F(ElectorTest, ALeaseThatCannotBeGivenBackDoesNotHoldUpTheEnd) {
  Candidate a(server, "a");
  time.pass(kFirst + 3s);
  server.ways["a"] = LeaseServer::Way::lost;
  bool done = false;
  a.elector->release([&] { done = true; });
  time.pass(11s);
  EXPECT_TRUE(done);
}

TEST_F(ElectorTest, TroubleStaysWhileTheLeaseCanBeReadAndNotTaken) {
  server.ways["a"] = LeaseServer::Way::broken;
  Candidate a(server, "a");
  time.pass(5s);
  EXPECT_NE(a.elector->trouble(), "");
  EXPECT_EQ(a.elector->seen_at(), net::Moment{});
  server.ways["a"] = LeaseServer::Way::good;
  time.pass(5s);
  EXPECT_EQ(a.elector->trouble(), "");
  EXPECT_GT(a.elector->seen_at(), net::Moment{});
}

}  // namespace
}  // namespace stowage::kube
