// The client over real sockets: against our own server, and against peers with bad timing.
#include "grpc/client.h"

#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "grpc/server.h"
#include "grpc/testing/frames.h"
#include "net/testing/loops.h"
#include "net/testing/temporary_folder.h"
#include "net/testing/unix_peer.h"

namespace stowage::grpc {
namespace {

using net::testing::RawSocket;
using net::testing::run_for;
using net::testing::run_until;
using net::testing::UnixPeer;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Reply = tl::expected<std::string, CallStatus>;

constexpr const char* kEcho = "/t.S/Echo";
constexpr const char* kNever = "/t.S/Never";
constexpr const char* kStream = "/t.S/Stream";

class ClientTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Server> serve() {
    auto made = Server::listen(
        loop_, {.socket = path_, .request_bytes_max = std::size_t{8} << 20U},
        {{kEcho,
          [](ServerRequest request, const std::shared_ptr<Responder>& responder) {
            responder->send(std::move(request.message));
          }},
         {kNever,
          [this](const ServerRequest&, std::shared_ptr<Responder> responder) {
            responder->on_closed([this] { ++closed_; });
            held_.push_back(std::move(responder));
          }},
         {kStream, [this](const ServerRequest&, std::shared_ptr<Responder> responder) {
            held_.push_back(std::move(responder));
          }}});
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : nullptr;
  }

  [[nodiscard]] Client client() {
    return Client(loop_, {.socket = path_,
                          .calls_max = 8,
                          .backoff_min = milliseconds{5},
                          .backoff_max = milliseconds{20},
                          .ping_after = milliseconds{100},
                          .ping_timeout = milliseconds{100}});
  }

  Reply call(Client& client, std::string method, std::string request,
             const CallOptions& options = {}) {
    std::optional<Reply> got;
    const auto handle = client.call(std::move(method), std::move(request), options,
                                    [&](Reply reply) { got = std::move(reply); });
    EXPECT_FALSE(got);  // never inside call()
    EXPECT_TRUE(run_until(loop_, [&] { return got.has_value(); }));
    return got ? *got : tl::unexpected(CallStatus{Code::unknown, "no reply"});
  }

  net::testing::TemporaryFolder folder_;
  std::string path_ = folder_.path("s.sock");
  net::EventLoop loop_;
  std::vector<std::shared_ptr<Responder>> held_;
  int closed_ = 0;
};

TEST_F(ClientTest, CallsAreAnswered) {
  const auto server = serve();
  Client client = this->client();
  EXPECT_EQ(client.connections(), 0U);  // not before it is needed
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{7'000'000}}) {
    const Reply reply = call(client, kEcho, std::string(size, 'x'));
    ASSERT_TRUE(reply) << to_text(reply.error());
    EXPECT_EQ(reply->size(), size);
  }
  EXPECT_EQ(client.connections(), 1U);
  EXPECT_EQ(server->connections(), 1U);
  EXPECT_EQ(client.calls(), 0U);
}

TEST_F(ClientTest, TheServersStatusIsPassedOn) {
  const auto server = serve();
  Client client = this->client();
  const Reply reply = call(client, "/t.S/Other", "x");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), (CallStatus{Code::unimplemented, "unknown method /t.S/Other", true}));
  const Reply long_one = call(client, kEcho, std::string(100, 'x'), {.response_bytes_max = 99});
  ASSERT_FALSE(long_one);
  EXPECT_EQ(long_one.error(),
            (CallStatus{Code::resource_exhausted, "an answer of 100 bytes is longer than 99"}));
  EXPECT_TRUE(call(client, kEcho, "still there"));
  EXPECT_EQ(client.connections(), 1U);
}

TEST_F(ClientTest, StreamsGoOn) {
  const auto server = serve();
  Client client = this->client();
  std::vector<std::string> came;
  std::optional<CallStatus> end;
  const auto stream =
      client.open(kStream, "", {.deadline = net::Duration{}},
                  {.message = [&](std::string message) { came.push_back(std::move(message)); },
                   .end = [&](CallStatus status) { end = std::move(status); }});
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 1; }));
  held_[0]->write("one");
  EXPECT_TRUE(run_until(loop_, [&] { return came.size() == 1; }));
  // The connection stays alive through pings without calls.
  run_for(loop_, milliseconds{300});
  held_[0]->write("two");
  held_[0]->write(std::string(3'000'000, 'x'));
  EXPECT_GT(held_[0]->backlog(), 2'000'000U);
  EXPECT_TRUE(run_until(loop_, [&] { return came.size() == 3; }));
  EXPECT_EQ(held_[0]->backlog(), 0U);
  held_[0]->end({Code::aborted, "enough"});
  EXPECT_TRUE(run_until(loop_, [&] { return end.has_value(); }));
  EXPECT_EQ(end, (CallStatus{Code::aborted, "enough", true}));
  EXPECT_EQ(client.connections(), 1U);
}

TEST_F(ClientTest, ADeadlineEndsACallHereAndThere) {
  const auto server = serve();
  Client client = this->client();
  const Reply reply = call(client, kNever, "x", {.deadline = milliseconds{30}});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::deadline_exceeded);
  EXPECT_TRUE(run_until(loop_, [&] { return closed_ == 1; }));
  EXPECT_TRUE(call(client, kEcho, "still there"));
  EXPECT_EQ(client.connections(), 1U);
}

TEST_F(ClientTest, ACallEndsWithItsHandle) {
  const auto server = serve();
  Client client = this->client();
  bool called = false;
  auto handle = client.call(kNever, "x", {}, [&](const Reply&) { called = true; });
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 1; }));
  handle.reset();
  EXPECT_TRUE(run_until(loop_, [&] { return closed_ == 1; }));
  // Before it was sent.
  static_cast<void>(client.call(kNever, "x", {}, [&](const Reply&) { called = true; }));
  EXPECT_EQ(client.calls(), 0U);
  EXPECT_TRUE(call(client, kEcho, "still there"));
  EXPECT_FALSE(called);
}

TEST_F(ClientTest, CallsEndWithTheClient) {
  const auto server = serve();
  std::optional<Client> client(std::in_place, loop_, ClientOptions{.socket = path_});
  bool called = false;
  const auto handle = client->call(kNever, "x", {}, [&](const Reply&) { called = true; });
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 1; }));
  client.reset();
  EXPECT_TRUE(run_until(loop_, [&] { return closed_ == 1; }));
  EXPECT_FALSE(called);
}

TEST_F(ClientTest, TheClientMayBeDestroyedInACallback) {
  const auto server = serve();
  std::optional<Client> client(std::in_place, loop_, ClientOptions{.socket = path_});
  int called = 0;
  std::vector<std::unique_ptr<Caller::Call>> handles;
  for (int i = 0; i < 5; ++i) {
    handles.push_back(client->call(kEcho, "x", {}, [&](const Reply& reply) {
      EXPECT_TRUE(reply);
      ++called;
      client.reset();
    }));
  }
  EXPECT_TRUE(run_until(loop_, [&] { return called > 0; }));
  run_for(loop_, milliseconds{10});
  EXPECT_EQ(called, 1);
  // And inside a callback of a stream, together with the stream.
  client.emplace(loop_, ClientOptions{.socket = path_});
  std::unique_ptr<Caller::Call> stream;
  int messages = 0;
  stream = client->open(kStream, "", {}, {.message = [&](const std::string&) {
                          ++messages;
                          stream.reset();
                          client.reset();
                        }});
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 1; }));
  held_[0]->write("a");
  held_[0]->write("b");
  EXPECT_TRUE(run_until(loop_, [&] { return messages > 0; }));
  run_for(loop_, milliseconds{10});
  EXPECT_EQ(messages, 1);
}

TEST_F(ClientTest, TooManyCallsAreRefused) {
  const auto server = serve();
  Client client = this->client();
  std::vector<std::unique_ptr<Caller::Call>> handles;
  std::vector<Reply> replies;
  for (int i = 0; i < 10; ++i) {
    handles.push_back(
        client.call(kNever, "x", {}, [&](Reply reply) { replies.push_back(std::move(reply)); }));
  }
  EXPECT_TRUE(run_until(loop_, [&] { return replies.size() == 2 && held_.size() == 8; }));
  for (const Reply& reply : replies) {
    EXPECT_EQ(reply.error(),
              (CallStatus{Code::resource_exhausted, "8 calls are in progress already"}));
  }
}

TEST_F(ClientTest, WithoutAServerCallsFailAndWithOneTheyWorkAgain) {
  Client client = this->client();
  for (int i = 0; i < 3; ++i) {
    const Reply reply = call(client, kEcho, "x");
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error(), (CallStatus{Code::unavailable, "cannot connect to unix:" + path_ +
                                                                ": no such file or directory"}));
  }
  for (std::uint64_t i = 1; i <= 3; ++i) {
    run_for(loop_, milliseconds{20});  // the end of the previous server is noticed
    const auto server = serve();
    const Reply reply = call(client, kEcho, "x");
    EXPECT_TRUE(reply) << to_text(reply.error());
    EXPECT_EQ(client.connections(), i);
  }
}

TEST_F(ClientTest, ALostServerEndsItsCalls) {
  auto server = serve();
  Client client = this->client();
  std::optional<Reply> got;
  const auto handle = client.call(kNever, "x", {}, [&](Reply reply) { got = std::move(reply); });
  ASSERT_TRUE(run_until(loop_, [&] { return held_.size() == 1; }));
  server.reset();
  EXPECT_TRUE(run_until(loop_, [&] { return got.has_value(); }));
  // Closed or reset, depending on what was in flight.
  EXPECT_EQ(got->error().code, Code::unavailable);
  EXPECT_NE(got->error().message.find("unix:" + path_), std::string::npos) << got->error().message;
  EXPECT_EQ(closed_, 0);  // no callback after the server's end
  held_[0]->send("nobody listens");
}

// A server that hangs: it accepts (or not even that) and sends nothing.
TEST_F(ClientTest, AServerThatSaysNothingIsNoticed) {
  const UnixPeer peer(path_);
  Client client = this->client();
  const auto start = std::chrono::steady_clock::now();
  const Reply reply = call(client, kEcho, "x", {.deadline = seconds{60}});
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds{20});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(),
            (CallStatus{Code::unavailable, "unix:" + path_ + " does not answer a ping"}));
  EXPECT_EQ(client.connections(), 0U);
}

// A server that answers only pings is alive, and the call waits for its deadline.
TEST_F(ClientTest, AServerThatIsSlowIsNotLost) {
  const UnixPeer peer(path_);
  std::thread server([&] {
    RawSocket socket = peer.accept();
    socket.send(testing::settings());
    // The ping of the client, and the matching answer.
    static_cast<void>(socket.read_until(std::string("\0\0\10\6\0\0\0\0\0", 9)));
    socket.send(testing::frame({testing::kPing, testing::kAck, 0}, std::string(8, '\0')));
    static_cast<void>(socket.read_all());
  });
  {
    Client client = this->client();
    const Reply reply = call(client, kEcho, "x", {.deadline = milliseconds{800}});
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, Code::deadline_exceeded) << to_text(reply.error());
    EXPECT_EQ(client.connections(), 1U);
  }
  run_for(loop_, milliseconds{10});
  server.join();
}

TEST_F(ClientTest, ACallThatWasNotBegunIsSentAgainOnce) {
  for (const bool twice : {false, true}) {
    const UnixPeer peer(path_);
    std::thread server([&] {
      for (int i = 0; i < 2; ++i) {
        RawSocket socket = peer.accept();
        static_cast<void>(socket.read_until("question"));
        const bool refuse = i == 0 || twice;
        socket.send(testing::settings() +
                    (refuse ? testing::goaway(0, 0, "moving") : testing::answer(1, "at last")));
        static_cast<void>(socket.read_all());
      }
    });
    {
      Client client = this->client();
      const Reply reply = call(client, kEcho, "question");
      if (twice) {
        EXPECT_EQ(reply.error().code, Code::unavailable);
      } else {
        EXPECT_EQ(reply, "at last");
      }
      EXPECT_EQ(client.connections(), 2U);
    }
    run_for(loop_, milliseconds{10});
    server.join();
  }
}

TEST_F(ClientTest, AFarewellLetsCallsEndWhileNewOnesGoElsewhere) {
  const UnixPeer peer(path_);
  std::thread server([&] {
    RawSocket old = peer.accept();
    static_cast<void>(old.read_until("first"));
    old.send(testing::settings() + testing::goaway(1, 0));
    RawSocket fresh = peer.accept();
    static_cast<void>(fresh.read_until("second"));
    fresh.send(testing::settings() + testing::answer(1, "new"));
    old.send(testing::answer(1, "old"));
    static_cast<void>(old.read_all());
    static_cast<void>(fresh.read_all());
  });
  {
    Client client = this->client();
    std::optional<Reply> first;
    const auto handle =
        client.call(kEcho, "first", {}, [&](Reply reply) { first = std::move(reply); });
    EXPECT_TRUE(run_until(loop_, [&] { return client.connections() == 1; }));
    EXPECT_EQ(call(client, kEcho, "second"), "new");
    EXPECT_TRUE(run_until(loop_, [&] { return first.has_value(); }));
    EXPECT_EQ(*first, "old");
  }
  run_for(loop_, milliseconds{10});
  server.join();
}

struct Words {
  const char* name;
  std::string bytes;
  const char* expected;  // part of the message
};

TEST_F(ClientTest, PeersThatAreNoGrpcServersAreNamed) {
  const Words rows[] = {
      {"HTTP/1.1", "HTTP/1.1 400 Bad Request\r\n\r\n", "it violates HTTP/2"},
      {"garbage", std::string(5000, 'x'), "it violates HTTP/2"},
      {"nothing", "", "closed the connection"},
      {"half a greeting", testing::settings().substr(0, 4), "closed the connection"},
      {"a scolding", testing::settings() + testing::goaway(1, 11, "too_many_pings"),
       "closed the connection; it sent GOAWAY: ENHANCE_YOUR_CALM too_many_pings"},
  };
  for (const Words& row : rows) {
    SCOPED_TRACE(row.name);
    const UnixPeer peer(path_);
    std::thread server([&] {
      RawSocket socket = peer.accept();
      static_cast<void>(socket.read_until("question"));
      socket.send(row.bytes);
      socket.end_output();
      static_cast<void>(socket.read_all());
    });
    Client client = this->client();
    const Reply reply = call(client, kEcho, "question");
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, Code::unavailable);
    EXPECT_NE(reply.error().message.find(row.expected), std::string::npos) << reply.error().message;
    EXPECT_NE(reply.error().message.find("unix:" + path_), std::string::npos);
    run_for(loop_, milliseconds{10});
    server.join();
  }
}

}  // namespace
}  // namespace stowage::grpc
