#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "net/http_server.h"
#include "net/testing/held_server.h"

namespace stowage::net {
namespace {

using std::chrono::milliseconds;
using testing::HeldServer;
using testing::RawSocket;

constexpr const char* kWatch = "GET /watch HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr const char* kHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

std::shared_ptr<const std::string> text(std::string value) {
  return std::make_shared<const std::string>(std::move(value));
}

std::shared_ptr<const std::string> filled(std::size_t size) {
  std::string value;
  value.resize(size, 'z');
  return text(std::move(value));
}

TEST(Responder, AStreamShowsItsHeadBeforeTheFirstChunkAndEndsInOrder) {
  HeldServer server(HttpServerOptions{});
  RawSocket socket = server.connect();
  socket.send(kWatch);
  const auto watch = server.responder("/watch");
  server.on([&] { watch->begin({.status = 200}); });
  EXPECT_EQ(socket.read_until("\r\n\r\n"), kHead);
  server.on([&] {
    watch->write(text("first"));
    watch->write(text(""));
    watch->write(nullptr);
  });
  EXPECT_EQ(socket.read_bytes(10), "5\r\nfirst\r\n");
  server.on([&] {
    watch->write(text(std::string(16, 'y')));
    watch->end();
    watch->write(text("too late"));
    watch->end();
  });
  EXPECT_EQ(socket.read_until("0\r\n\r\n"), "10\r\nyyyyyyyyyyyyyyyy\r\n0\r\n\r\n");
  socket.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(socket.read_until("GET /echo "),
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nGET /echo ");
  server.on([&] { EXPECT_EQ(server.closed, 0); });
}

TEST(Responder, AStreamForAnOldPeerEndsWithTheConnection) {
  HeldServer server(HttpServerOptions{});
  RawSocket socket = server.connect();
  socket.send("GET /watch HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const auto watch = server.responder("/watch");
  server.on([&] {
    watch->begin({.status = 200});
    watch->write(text("abc"));
    watch->end();
  });
  EXPECT_EQ(socket.read_all(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
}

TEST(Responder, AnswersWithoutABodyHaveNone) {
  struct Row {
    const char* name;
    const char* method;
    int status;
    bool stream;
    std::string answer;
  };
  const Row rows[] = {
      {"204", "GET", 204, false, "HTTP/1.1 204 No Content\r\n\r\n"},
      {"304", "GET", 304, false, "HTTP/1.1 304 Not Modified\r\n\r\n"},
      {"a stream of 204", "GET", 204, true, "HTTP/1.1 204 No Content\r\n\r\n"},
      {"a stream for HEAD", "HEAD", 200, true, kHead},
  };
  HeldServer server(HttpServerOptions{});
  RawSocket socket = server.connect();
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    socket.send(std::string(row.method) + " /watch HTTP/1.1\r\nHost: x\r\n\r\n");
    const auto responder = server.responder("/watch");
    server.on([&] {
      server.held.clear();
      if (row.stream) {
        responder->begin({.status = row.status});
        responder->write(text("not sent"));
        responder->end();
      } else {
        responder->send({.status = row.status, .body = "not sent"});
      }
    });
    socket.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string wanted = row.answer + "HTTP/1.1 200 OK\r\n";
    EXPECT_EQ(socket.read_bytes(wanted.size()), wanted);
    EXPECT_EQ(socket.read_until("GET /echo "), "Content-Length: 10\r\n\r\nGET /echo ");
  }
}

TEST(Responder, APeerThatGoesIsNoticedAlthoughNothingIsWritten) {
  HeldServer server(HttpServerOptions{});
  for (const bool with_reset : {false, true}) {
    for (const bool begun : {false, true}) {
      RawSocket socket = server.connect();
      socket.send(kWatch);
      const auto watch = server.responder("/watch");
      server.on([&] {
        server.held.clear();
        server.closed = 0;
        if (begun) watch->begin({.status = 200});
      });
      if (with_reset) {
        socket.reset();
      } else {
        socket.close();
      }
      EXPECT_TRUE(server.wait_for([&] { return server.closed == 1; }));
      server.on([&] {
        watch->write(text("nobody hears"));
        watch->end();
        watch->abort();
        EXPECT_EQ(watch->backlog(), 0U);
      });
      server.on([&] { EXPECT_EQ(server.closed, 1) << "once"; });
    }
  }
  EXPECT_TRUE(server.wait_for([&] { return server.server->connections() == 0; }));
}

TEST(Responder, OneDroppedInTheMiddleOfAStreamCutsTheConnection) {
  HeldServer server(HttpServerOptions{});
  RawSocket socket = server.connect();
  socket.send(kWatch);
  auto watch = server.responder("/watch");
  server.on([&] {
    watch->begin({.status = 200});
    server.held.clear();
    watch.reset();
  });
  EXPECT_EQ(socket.read_all(), kHead) << "without a last chunk";
  server.on([&] { EXPECT_EQ(server.closed, 0) << "it is not there to be told"; });
}

TEST(Responder, AbortTellsOfTheEndButNotFromInside) {
  HeldServer server(HttpServerOptions{});
  RawSocket socket = server.connect();
  socket.send(kWatch);
  const auto watch = server.responder("/watch");
  int inside = 0;
  server.on([&] {
    watch->begin({.status = 200});
    watch->abort();
    inside = server.closed;
  });
  EXPECT_EQ(inside, 0);
  EXPECT_TRUE(server.wait_for([&] { return server.closed == 1; }));
  EXPECT_EQ(socket.read_all(), kHead);
  bool late = false;
  server.on([&] { watch->on_closed([&] { late = true; }); });
  EXPECT_TRUE(server.wait_for([&] { return late; })) << "also who asks afterwards is told";
}

TEST(Responder, MayBeDroppedByItsOwnCallback) {
  HeldServer server(HttpServerOptions{});
  RawSocket socket = server.connect();
  socket.send(kWatch);
  bool told = false;
  {
    const auto watch = server.responder("/watch");
    server.on([&] {
      watch->on_closed([&] {
        told = true;
        server.held.clear();
        server.server.reset();
      });
    });
  }
  socket.close();
  EXPECT_TRUE(server.wait_for([&] { return told; }));
}

TEST(Responder, OneThatItsOwnCallbackHoldsIsFreedByTheEnd) {
  HeldServer server(HttpServerOptions{});
  std::weak_ptr<Responder> weak[3];
  for (const int round : {0, 1, 2}) {
    RawSocket socket = server.connect();
    socket.send(kWatch);
    {
      const auto watch = server.responder("/watch");
      weak[round] = watch;
      server.on([&] {
        server.held.clear();
        watch->on_closed([watch] { watch->abort(); });
        watch->begin({.status = 200});
        if (round == 0) watch->end();
      });
    }
    EXPECT_EQ(socket.read_until("\r\n\r\n"), kHead);
    if (round == 1) socket.close();
    if (round == 2) server.on([&] { server.server.reset(); });
    EXPECT_TRUE(server.wait_for([&] { return weak[round].expired(); })) << round;
  }
}

TEST(Responder, TheBacklogIsWhatTheSystemHasNotTaken) {
  HeldServer server(HttpServerOptions{});
  RawSocket socket = server.connect();
  socket.set_receive_buffer(256 * 1024);
  socket.send(kWatch);
  const auto watch = server.responder("/watch");
  constexpr std::size_t kChunk = 1'000'000;
  constexpr int kChunks = 40;
  std::size_t before = 0;
  server.on([&] {
    watch->begin({.status = 200});
    EXPECT_EQ(watch->backlog(), 0U);
    const auto chunk = text(std::string(kChunk, 'z'));
    for (int i = 0; i < kChunks; ++i) watch->write(chunk);
    before = watch->backlog();
  });
  EXPECT_EQ(before, kChunk * kChunks) << "written after the callback";
  EXPECT_TRUE(server.wait_for([&] { return watch->backlog() < before; }));
  server.on([&] {
    EXPECT_GT(watch->backlog(), kChunk) << "the peer does not read";
    watch->end();
  });
  const std::string all = socket.read_until("\r\n0\r\n\r\n");
  EXPECT_EQ(std::count(all.begin(), all.end(), 'z'), std::ptrdiff_t{kChunk} * kChunks);
  EXPECT_TRUE(server.wait_for([&] { return watch->backlog() == 0; }));
  server.on([&] { EXPECT_EQ(server.closed, 0); });
}

TEST(Responder, APeerThatTakesNothingIsCutOff) {
  HeldServer server(HttpServerOptions{.write_timeout = milliseconds{100}});
  RawSocket socket = server.connect();
  socket.send(kWatch);
  const auto watch = server.responder("/watch");
  server.on([&] {
    watch->begin({.status = 200});
    watch->write(filled(50'000'000));
  });
  EXPECT_TRUE(server.wait_for([&] { return server.closed == 1; }));
  server.on([&] { EXPECT_EQ(watch->backlog(), 0U); });
}

TEST(Responder, ASlowPeerThatGoesOnTakingIsNotCutOff) {
  HeldServer server(HttpServerOptions{.write_timeout = std::chrono::seconds{20}});
  RawSocket socket = server.connect();
  socket.set_receive_buffer(256 * 1024);
  socket.send(kWatch);
  const auto watch = server.responder("/watch");
  server.on([&] {
    watch->begin({.status = 200});
    watch->write(filled(10'000'000));
    watch->end();
  });
  std::size_t got = 0;
  for (int i = 0; i < 20; ++i) {
    got += socket.read_bytes(100'000).size();
    std::this_thread::sleep_for(milliseconds{5});
  }
  got += socket.read_until("\r\n0\r\n\r\n").size();
  EXPECT_GT(got, 10'000'000U);
}

}  // namespace
}  // namespace stowage::net
