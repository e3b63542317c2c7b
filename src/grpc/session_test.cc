// Both sides against each other, without a socket: bytes are split at random in each direction, and
// much data may wait. Every call must end exactly once.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "grpc/client_session.h"
#include "grpc/server_session.h"

namespace stowage::grpc {
namespace {

// A connection that transfers bytes in pieces.
class Line {
 public:
  void put(const std::string& bytes) { bytes_ += bytes; }
  [[nodiscard]] std::string take(base::Rng& rng) {
    const std::size_t most = rng.below(3) == 0 ? 20 : std::size_t{1} << 16U;
    const std::size_t count = std::min(bytes_.size(), 1 + rng.below(most));
    std::string piece = bytes_.substr(0, count);
    bytes_.erase(0, count);
    return piece;
  }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

 private:
  std::string bytes_;
};

// How the server handles a request: "many N SIZE", "one SIZE", "fail CODE", "never".
class Pair {
 public:
  explicit Pair(std::uint64_t seed) : rng_(seed) {}

  // False: there was nothing to transfer.
  bool step() {
    to_server_.put(client.output(1 + rng_.below(100'000)));
    to_client_.put(server.output(1 + rng_.below(100'000)));
    const bool transfers = !to_server_.empty() || !to_client_.empty();
    if (!to_server_.empty()) server.receive(to_server_.take(rng_));
    for (ServerEvent& event : server.take_events()) serve(event);
    if (!to_client_.empty()) client.receive(to_client_.take(rng_));
    for (CallEvent& event : client.take_events()) note(std::move(event));
    return transfers;
  }

  // Until nothing changes any more. Empty lines alone do not show that: a step may deliver
  // everything, and the reactions come with the next step.
  void settle() {
    while (step()) {
    }
  }

  struct Seen {
    std::vector<std::size_t> sizes;
    std::optional<CallStatus> end;
    int ends = 0;
  };

  ClientSession client{{}};
  ServerSession server{{}};
  std::map<StreamId, Seen> seen;

 private:
  void serve(const ServerEvent& event) {
    if (event.kind != ServerEvent::Kind::request) return;
    const std::string& text = event.message;
    const auto word = text.substr(0, text.find(' '));
    const auto argument = [&](int index) {
      std::size_t at = 0;
      for (int i = 0; i <= index; ++i) at = text.find(' ', at) + 1;
      return std::stoul(text.substr(at));
    };
    if (word == "one") {
      server.write(event.call, std::string(argument(0), 'x'));
      server.end(event.call, {});
    } else if (word == "many") {
      for (unsigned long i = 0; i < argument(0); ++i) {
        server.write(event.call, std::string(argument(1), 'x'));
      }
      server.end(event.call, {});
    } else if (word == "fail") {
      server.end(event.call, {static_cast<Code>(argument(0)), "as asked: 100%\n"});
    }
  }

  void note(CallEvent event) {
    Seen& call = seen[event.call];
    if (event.message) call.sizes.push_back(event.message->size());
    if (event.end) {
      call.end = event.end;
      ++call.ends;
    }
  }

  base::Rng rng_;
  Line to_server_;
  Line to_client_;
};

CallRequest asking(std::string question, CallRequest::Answer answer = CallRequest::Answer::one) {
  return {.method = "/t.S/M", .request = std::move(question), .answer = answer};
}

TEST(Sessions, UnderstandEachOther) {
  Pair pair(1);
  const StreamId one = pair.client.begin(asking("one 5000000"));
  const StreamId many = pair.client.begin(asking("many 50 3000", CallRequest::Answer::many));
  const StreamId fail = pair.client.begin(asking("fail 9"));
  const StreamId large = pair.client.begin(asking("one 1 " + std::string(3'000'000, 'q')));
  pair.settle();
  EXPECT_EQ(pair.seen[one].sizes, std::vector<std::size_t>{5'000'000});
  EXPECT_EQ(pair.seen[many].sizes, std::vector<std::size_t>(50, 3000));
  EXPECT_EQ(pair.seen[fail].end, (CallStatus{Code::failed_precondition, "as asked: 100%\n", true}));
  EXPECT_EQ(pair.seen[large].sizes, std::vector<std::size_t>{1});
  for (const auto& [stream, seen] : pair.seen) EXPECT_EQ(seen.ends, 1) << stream;
  EXPECT_EQ(pair.client.calls(), 0U);
  EXPECT_EQ(pair.server.streams(), 0U);
  EXPECT_FALSE(pair.client.over());
  EXPECT_FALSE(pair.server.over());
}

TEST(Sessions, AFarewellLetsCallsEndAndTakesNoNewOnes) {
  Pair pair(2);
  const StreamId call = pair.client.begin(asking("never"));
  pair.settle();
  pair.server.send_goaway();
  pair.settle();
  EXPECT_FALSE(pair.client.takes_calls());
  EXPECT_EQ(pair.seen[call].ends, 0);
  pair.server.write(call, "after all");
  pair.server.end(call, {});
  pair.settle();
  EXPECT_EQ(pair.seen[call].sizes, std::vector<std::size_t>{9});
  EXPECT_TRUE(pair.client.over());
  EXPECT_TRUE(pair.server.over());
}

RC_GTEST_PROP(Sessions, EveryCallEndsOnceOrIsCancelled, (std::uint64_t seed)) {
  Pair pair(seed);
  base::Rng rng(seed ^ 0x5eedU);
  std::map<StreamId, std::string> asked;
  std::vector<StreamId> cancelled;
  for (int i = 0; i < 30; ++i) {
    const auto size = std::to_string(rng.below(rng.below(4) == 0 ? 300'000 : 300));
    const std::string question = rng.below(4) == 0   ? "fail " + std::to_string(1 + rng.below(16))
                                 : rng.below(4) == 0 ? "many 5 " + size
                                 : rng.below(8) == 0 ? "never"
                                                     : "one " + size;
    const StreamId call = pair.client.begin(asking(question, question.starts_with("many")
                                                                 ? CallRequest::Answer::many
                                                                 : CallRequest::Answer::one));
    asked[call] = question;
    for (auto steps = rng.below(20); steps > 0; --steps) pair.step();
    if (rng.below(5) == 0) {
      const bool open = pair.seen[call].ends == 0;
      pair.client.cancel(call);
      if (open) cancelled.push_back(call);
    }
  }
  pair.settle();
  for (const auto& [call, question] : asked) {
    const bool was_cancelled =
        std::find(cancelled.begin(), cancelled.end(), call) != cancelled.end();
    const auto& seen = pair.seen[call];
    if (was_cancelled || question == "never") {
      RC_ASSERT(seen.ends == 0);
      continue;
    }
    RC_ASSERT(seen.ends == 1);
    RC_ASSERT(seen.end->ok() != question.starts_with("fail"));
    RC_ASSERT(seen.sizes.size() == (question.starts_with("many") ? 5U : seen.end->ok() ? 1U : 0U));
  }
  for (const auto& [call, question] : asked) {
    if (question == "never") pair.client.cancel(call);
  }
  pair.settle();
  RC_ASSERT(pair.client.calls() == 0U);
  RC_ASSERT(pair.server.streams() == 0U);
  RC_ASSERT(pair.client.buffered_bytes() == 0U);
  RC_ASSERT(pair.server.buffered_bytes() == 0U);
}

}  // namespace
}  // namespace stowage::grpc
