// The server over real sockets, against clients that are slow, misbehaving or many.
#include "grpc/server.h"

#include <filesystem>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "grpc/client.h"
#include "grpc/testing/frames.h"
#include "net/testing/loops.h"
#include "net/testing/temporary_folder.h"
#include "net/testing/unix_peer.h"

namespace stowage::grpc {
namespace {

using net::testing::connect_unix;
using net::testing::LoopThread;
using net::testing::RawSocket;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A server on its own thread: the test talks to it with blocking sockets.
class ServerTest : public ::testing::Test {
 protected:
  void serve(ServerOptions options) {
    options.socket = path_;
    thread_.on([&] {
      auto made = Server::listen(
          thread_.loop(), options,
          {{"/t.S/Echo",
            [](ServerRequest request, const std::shared_ptr<Responder>& responder) {
              responder->send(std::move(request.message));
            }},
           {"/t.S/Hold",
            [this](ServerRequest request, std::shared_ptr<Responder> responder) {
              responder->on_closed([this] { ++closed_; });
              held_.push_back(std::move(responder));
              requests_.push_back(std::move(request));
            }},
           {"/t.S/Drop", [](const ServerRequest&, const std::shared_ptr<Responder>&) {}},
           {"/t.S/End",
            [this](const ServerRequest&, const std::shared_ptr<Responder>&) { server_.reset(); }}});
      ASSERT_TRUE(made) << made.error().message;
      server_ = std::move(*made);
    });
  }
  ~ServerTest() override {
    thread_.on([this] {
      held_.clear();
      server_.reset();
    });
  }

  bool wait_for(const std::function<bool()>& ready) {
    const auto give_up = std::chrono::steady_clock::now() + net::testing::kPatience;
    bool good = false;
    while (!good && std::chrono::steady_clock::now() < give_up) {
      thread_.on([&] { good = ready(); });
      if (!good) std::this_thread::sleep_for(milliseconds{1});
    }
    return good;
  }

  net::testing::TemporaryFolder folder_;
  std::string path_ = folder_.path("s.sock");
  LoopThread thread_;
  std::unique_ptr<Server> server_;
  std::vector<std::shared_ptr<Responder>> held_;
  std::vector<ServerRequest> requests_;
  int closed_ = 0;
};

TEST_F(ServerTest, AnswersByHand) {
  serve({});
  RawSocket socket = connect_unix(path_);
  socket.send(testing::hello() + testing::request(1, "question", "/t.S/Echo"));
  EXPECT_TRUE(socket.read_until("question").ends_with(testing::message("question")));
}

TEST_F(ServerTest, ACallWithoutAnAnswerFails) {
  serve({});
  std::optional<CallStatus> status;
  std::unique_ptr<Client> client;
  std::unique_ptr<Caller::Call> handle;
  thread_.on([&] {
    client = std::make_unique<Client>(thread_.loop(), ClientOptions{.socket = path_});
    handle = client->call("/t.S/Drop", "", {}, [&](auto reply) { status = reply.error(); });
  });
  EXPECT_TRUE(wait_for([&] { return status.has_value(); }));
  EXPECT_EQ(status, (CallStatus{Code::internal, "the call was not answered", true}));
  thread_.on([&] { client.reset(); });
}

TEST_F(ServerTest, MayBeDestroyedInAHandler) {
  serve({});
  RawSocket socket = connect_unix(path_);
  socket.send(testing::hello() + testing::request(1, "", "/t.S/End"));
  static_cast<void>(socket.read_all());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ServerTest, APeerThatGoesEndsItsCalls) {
  serve({});
  {
    RawSocket socket = connect_unix(path_);
    socket.send(testing::hello() + testing::request(1, "a", "/t.S/Hold") +
                testing::request(3, "b", "/t.S/Hold"));
    EXPECT_TRUE(wait_for([&] { return held_.size() == 2; }));
  }
  EXPECT_TRUE(wait_for([&] { return closed_ == 2 && server_->connections() == 0; }));
  thread_.on([&] {
    held_[0]->write("nobody listens");
    EXPECT_EQ(held_[0]->backlog(), 0U);
    held_[0]->send("nobody listens");
  });
}

TEST_F(ServerTest, TheTimeOfThePeerIsKept) {
  serve({});
  RawSocket socket = connect_unix(path_);
  auto fields = testing::request_fields("/t.S/Hold");
  fields.emplace_back("grpc-timeout", "30m");
  socket.send(testing::hello() + testing::headers(1, fields) +
              testing::data(1, testing::message("x"), testing::kEndStream));
  EXPECT_TRUE(wait_for([&] { return closed_ == 1; }));
  EXPECT_TRUE(requests_[0].due.has_value());
}

TEST_F(ServerTest, ARequestThatDoesNotEndIsNotWaitedForForEver) {
  serve({.request_timeout = milliseconds{30}});
  RawSocket socket = connect_unix(path_);
  socket.send(testing::hello() + testing::headers(1, testing::request_fields("/t.S/Hold")) +
              testing::data(1, testing::message("x").substr(0, 3)));
  // Its status, and a reset without an error.
  static_cast<void>(socket.read_until(testing::reset(1, 0)));
  // The connection stays usable.
  socket.send(testing::request(3, "question", "/t.S/Echo"));
  EXPECT_TRUE(socket.read_until("question").ends_with(testing::message("question")));
  EXPECT_TRUE(wait_for([&] { return held_.empty(); }));
}

TEST_F(ServerTest, ASilentPeerIsPingedAndThenLost) {
  serve({.ping_after = milliseconds{30}, .ping_timeout = milliseconds{30}});
  RawSocket socket = connect_unix(path_);
  socket.send(testing::hello());
  const std::string heard = socket.read_all();
  EXPECT_NE(heard.find(testing::frame({testing::kPing, 0, 0}, std::string(8, '\0'))),
            std::string::npos);
  EXPECT_TRUE(wait_for([&] { return server_->connections() == 0; }));
}

TEST_F(ServerTest, IdleConnectionsGiveWayAndBusyOnesDoNot) {
  serve({.connections_max = 2});
  RawSocket busy = connect_unix(path_);
  busy.send(testing::hello() + testing::request(1, "", "/t.S/Hold"));
  EXPECT_TRUE(wait_for([&] { return held_.size() == 1; }));
  RawSocket idle = connect_unix(path_);
  idle.send(testing::hello());
  EXPECT_TRUE(wait_for([&] { return server_->connections() == 2; }));
  RawSocket fresh = connect_unix(path_);
  fresh.send(testing::hello() + testing::request(1, "", "/t.S/Hold"));
  EXPECT_TRUE(wait_for([&] { return held_.size() == 2; }));
  static_cast<void>(idle.read_all());  // it was closed
  RawSocket refused = connect_unix(path_);
  EXPECT_TRUE(refused.at_end());
  thread_.on([&] { EXPECT_EQ(server_->connections(), 2U); });
}

TEST_F(ServerTest, PeersThatBreakTheRulesAreDropped) {
  serve({.write_timeout = seconds{1}});
  std::string pings = testing::hello();
  for (int i = 0; i < 100'000; ++i) pings += testing::ping();
  for (const std::string& bytes :
       {std::string(1000, 'x'), std::string("GET / HTTP/1.1\r\n\r\n"),
        testing::hello() + testing::data(0, "x"), testing::hello() + std::string(1000, '\xff')}) {
    RawSocket socket = connect_unix(path_);
    socket.send(bytes);
    socket.end_output();
    static_cast<void>(socket.read_all());
  }
  {
    RawSocket flood = connect_unix(path_);  // reads nothing
    flood.send(pings);
    EXPECT_TRUE(wait_for([&] { return server_->connections() == 0; }));
  }
  RawSocket socket = connect_unix(path_);
  socket.send(testing::hello() + testing::request(1, "question", "/t.S/Echo"));
  EXPECT_TRUE(socket.read_until("question").ends_with(testing::message("question")));
}

TEST_F(ServerTest, APeerThatDoesNotReadKeepsTheBacklog) {
  serve({});
  RawSocket socket = connect_unix(path_);
  socket.send(testing::hello() + testing::request(1, "", "/t.S/Hold"));
  EXPECT_TRUE(wait_for([&] { return held_.size() == 1; }));
  thread_.on([&] {
    for (int i = 0; i < 100; ++i) held_[0]->write(std::string(10'000, 'x'));
    EXPECT_EQ(held_[0]->backlog(), 100U * 10'005U);
  });
  // Only as much is sent as the peer has allowed.
  EXPECT_TRUE(wait_for([&] { return held_[0]->backlog() == 100U * 10'005U - 65'535U; }));
}

}  // namespace
}  // namespace stowage::grpc
