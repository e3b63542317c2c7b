#include "net/http_server.h"

#include <atomic>
#include <deque>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "net/testing/held_server.h"

namespace stowage::net {
namespace {

using std::chrono::milliseconds;
using testing::HeldServer;
using testing::RawSocket;

std::string answer(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

TEST(HttpServer, AnswersAsItShould) {
  struct Row {
    const char* name;
    std::string request;
    std::string answer;
  };
  const Row rows[] = {
      {"a plain request", "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n", answer("GET /echo ")},
      {"a body with a length", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
       answer("POST /echo abc")},
      {"a body in chunks",
       "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
       "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
       answer("POST /echo abc")},
      {"HEAD", "HEAD /echo HTTP/1.1\r\nHost: x\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n"},
      {"empty lines before the request", "\r\n\r\nGET /echo HTTP/1.1\r\nHost: x\r\n\r\n",
       answer("GET /echo ")},
      {"a target as for a proxy", "GET http://x:80/echo?a HTTP/1.1\r\nHost: x\r\n\r\n",
       answer("GET /echo?a ")},
      {"three at once",
       "GET /echo1 HTTP/1.1\r\nHost: x\r\n\r\nGET /echo2 HTTP/1.1\r\nHost: x\r\n\r\n"
       "GET /echo3 HTTP/1.1\r\nHost: x\r\n\r\n",
       answer("GET /echo1 ") + answer("GET /echo2 ") + answer("GET /echo3 ")},
      {"no answer", "GET /drop HTTP/1.1\r\nHost: x\r\n\r\n",
       "HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain; charset=utf-8\r\n"
       "Content-Length: 29\r\n\r\nthe request was not answered\n"},
      {"HTTP/1.0 that asks to be kept", "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: keep-alive\r\n\r\nGET /echo "},
  };
  HeldServer server(HttpServerOptions{});
  RawSocket all = server.connect();
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    all.send(row.request);
    EXPECT_EQ(all.read_bytes(row.answer.size()), row.answer);
    RawSocket slow = server.connect();
    for (const char c : row.request) slow.send(std::string(1, c));
    EXPECT_EQ(slow.read_bytes(row.answer.size()), row.answer);
  }
}

TEST(HttpServer, ClosesAfterTheAnswerIfThePeerWants) {
  HeldServer server(HttpServerOptions{});
  for (const char* request : {"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                              "GET /echo HTTP/1.0\r\n\r\n"}) {
    RawSocket socket = server.connect();
    socket.send(request);
    EXPECT_EQ(socket.read_all(),
              "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nGET /echo ");
  }
}

TEST(HttpServer, RefusesWhatItCannotRead) {
  struct Row {
    const char* name;
    std::string request;
    const char* status;
  };
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\n";
  const Row rows[] = {
      {"garbage", "\x16\x03\x01 nonsense\r\n\r\n", "HTTP/1.1 400 "},
      {"no host", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
      {"a strange target", "GET foo HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 "},
      {"smuggling", head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       "HTTP/1.1 400 "},
      {"one length twice", head + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
       "HTTP/1.1 400 "},
      {"a coding under the chunks", head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
       "HTTP/1.1 400 "},
      {"a bad chunk", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 400 "},
      {"a long head", head + "A: " + std::string(100'000, 'a'), "HTTP/1.1 431 "},
      {"a long body", head + "Content-Length: 1000001\r\n\r\n" + std::string(1'000'001, 'a'),
       "HTTP/1.1 413 "},
      {"long chunks",
       head + "Transfer-Encoding: chunked\r\n\r\nf4241\r\n" + std::string(1'000'001, 'a') +
           "\r\n0\r\n\r\n",
       "HTTP/1.1 413 "},
  };
  HeldServer server(HttpServerOptions{.body_bytes_max = 1'000'000});
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    RawSocket socket = server.connect();
    socket.send(row.request);
    const std::string text = socket.read_all();
    EXPECT_EQ(text.substr(0, 13), row.status);
    EXPECT_NE(text.find("\r\nConnection: close\r\n"), std::string::npos);
    EXPECT_TRUE(text.ends_with('\n')) << "one line says why";
  }
  server.on([&] { EXPECT_EQ(server.handled, 0); });
}

TEST(HttpServer, SaysContinueIfThePeerWaitsForIt) {
  HeldServer server(HttpServerOptions{.body_bytes_max = 1000});
  RawSocket socket = server.connect();
  socket.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(socket.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.send("abc");
  EXPECT_EQ(socket.read_bytes(answer("POST /echo abc").size()), answer("POST /echo abc"));
  socket.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(socket.read_until(" 413 "), "HTTP/1.1 413 ");
}

TEST(HttpServer, ThousandsOfPipelinedRequestsAreAnsweredInOrder) {
  HeldServer server(HttpServerOptions{});
  RawSocket socket = server.connect();
  std::string requests;
  std::string answers;
  for (int i = 0; i < 5000; ++i) {
    requests += "GET /echo" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
    answers += answer("GET /echo" + std::to_string(i) + " ");
  }
  std::thread sender([&] { socket.send(requests); });
  RawSocket& reader = socket;
  EXPECT_EQ(reader.read_bytes(answers.size()), answers);
  sender.join();
}

TEST(HttpServer, APipelinedRequestWaitsForALateAnswer) {
  HeldServer server(HttpServerOptions{});
  RawSocket socket = server.connect();
  socket.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\nGET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto responder = server.responder("/hold");
  int handled_inside = 0;
  server.on([&] {
    EXPECT_EQ(server.handled, 1);
    responder->send({.status = 201});
    handled_inside = server.handled;
  });
  EXPECT_EQ(handled_inside, 1) << "no handler is called from inside of send()";
  const std::string wanted =
      "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n" + answer("GET /echo ");
  EXPECT_EQ(socket.read_bytes(wanted.size()), wanted);
  server.on([&] {
    EXPECT_EQ(server.closed, 0);
    responder->send({.status = 500});  // a second answer does nothing
    responder->abort();
  });
  socket.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(socket.read_bytes(answer("GET /echo ").size()), answer("GET /echo "));
}

TEST(HttpServer, SlowRequestsEnd) {
  HeldServer server(HttpServerOptions{.request_timeout = milliseconds{50}});
  RawSocket half = server.connect();
  half.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na");
  EXPECT_EQ(half.read_all().substr(0, 13), "HTTP/1.1 408 ");
  // Sending a byte at a time does not avoid the timeout.
  RawSocket dripping = server.connect();
  dripping.send("GET /echo HTTP/1.1\r\nHost: x\r\n");
  std::atomic<bool> ended = false;
  std::thread drip([&] {
    while (!ended) {
      dripping.send("A: b\r\n");
      std::this_thread::sleep_for(milliseconds{5});
    }
  });
  EXPECT_EQ(dripping.read_all().substr(0, 13), "HTTP/1.1 408 ");
  ended = true;
  drip.join();
}

TEST(HttpServer, AConnectionWithoutARequestJustEnds) {
  HeldServer server(HttpServerOptions{.idle_timeout = milliseconds{50}});
  RawSocket silent = server.connect();
  EXPECT_EQ(silent.read_all(), "");
}

TEST(HttpServer, BeyondTheLimitTheConnectionThatWaitsLongestGivesWay) {
  const std::string request = "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::size_t size = answer("GET /echo ").size();
  HeldServer server(HttpServerOptions{.connections_max = 4});
  RawSocket answered = server.connect();
  answered.send("GET /held HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto responder = server.responder("/held");
  RawSocket silent = server.connect();
  EXPECT_TRUE(server.wait_for([&] { return server.server->connections() == 2; }));
  RawSocket dripping = server.connect();
  dripping.send("GET /echo HTTP/1.1\r\nHo");
  EXPECT_TRUE(server.wait_for([&] { return server.server->connections() == 3; }));
  RawSocket good = server.connect();
  for (int i = 0; i < 3; ++i) {
    good.send(request);
    EXPECT_EQ(good.read_bytes(size), answer("GET /echo "));
  }
  RawSocket probe = server.connect();
  probe.send(request);
  EXPECT_EQ(probe.read_bytes(size), answer("GET /echo "));
  EXPECT_TRUE(silent.at_end()) << "it came before the others";
  RawSocket next = server.connect();
  next.send(request);
  EXPECT_EQ(next.read_bytes(size), answer("GET /echo "));
  EXPECT_TRUE(dripping.at_end());
  good.send(request);
  EXPECT_EQ(good.read_bytes(size), answer("GET /echo ")) << "it asked something since";
  server.on([&] { responder->send({.status = 204}); });
  EXPECT_EQ(answered.read_until("\r\n"), "HTTP/1.1 204 No Content\r\n");
}

TEST(HttpServer, ThousandsOfSilentConnectionsKeepNoClientOut) {
  HeldServer server(HttpServerOptions{.connections_max = 64});
  std::deque<RawSocket> silent;
  for (int i = 0; i < 2000; ++i) {
    silent.push_back(server.connect());
    if (i % 2 == 0) silent.back().send("POST /echo HTTP/1.1\r\nContent-Le");
    if (silent.size() > 200) silent.pop_front();
    if (i % 100 != 0) continue;
    RawSocket probe = server.connect();
    probe.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(probe.read_bytes(4), "HTTP");
  }
  server.on([&] { EXPECT_LE(server.server->connections(), 64U); });
}

TEST(HttpServer, NewConnectionsAreClosedIfAllAreBeingAnswered) {
  HeldServer server(HttpServerOptions{.connections_max = 2});
  RawSocket first = server.connect();
  RawSocket second = server.connect();
  first.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  second.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(server.wait_for([&] { return server.held.size() == 2; }));
  RawSocket third = server.connect();
  EXPECT_TRUE(third.at_end());
  server.on([&] { EXPECT_EQ(server.server->connections(), 2U); });
  first.close();
  EXPECT_TRUE(server.wait_for([&] { return server.server->connections() == 1; }));
  RawSocket fourth = server.connect();
  fourth.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(fourth.read_bytes(4), "HTTP");
}

TEST(HttpServer, APeerThatHasEndedItsOutputGetsItsWholeAnswer) {
  HeldServer server(HttpServerOptions{});
  const std::string body(8'000'000, 'x');
  RawSocket socket = server.connect();
  socket.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n" + body);
  socket.end_output();
  EXPECT_EQ(socket.read_all().size(), answer("POST /echo " + body).size());
  EXPECT_TRUE(server.wait_for([&] { return server.server->connections() == 0; }));
}

TEST(HttpServer, TellsWhoAsks) {
  HeldServer server(HttpServerOptions{});
  RawSocket socket = server.connect();
  socket.send("GET /echo HTTP/1.1\r\nHost: x\r\nX-Remote-Group: a\r\nX-Remote-Group: b\r\n\r\n");
  EXPECT_EQ(socket.read_bytes(4), "HTTP");
  server.on([&] {
    EXPECT_TRUE(server.last.peer.starts_with("127.0.0.1:")) << server.last.peer;
    EXPECT_EQ(server.last.client_subject, "");
    const Headers headers = {{"Host", "x"}, {"X-Remote-Group", "a"}, {"X-Remote-Group", "b"}};
    EXPECT_EQ(server.last.http.headers, headers);
  });
}

TEST(HttpServer, SaysWhyItCannotListen) {
  HeldServer server(HttpServerOptions{});
  server.on([&] {
    const auto ignore = [](const ServerRequest&, const std::shared_ptr<Responder>&) {};
    const auto taken = HttpServer::listen(server.loop(), {.port = server.port()}, ignore);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().message, "cannot listen on 127.0.0.1:" + std::to_string(server.port()) +
                                         ": address already in use");
    const auto name = HttpServer::listen(server.loop(), {.address = "here"}, ignore);
    ASSERT_FALSE(name);
    EXPECT_EQ(name.error().message, "cannot listen on here:0: \"here\" is not an IP address");
  });
}

TEST(HttpServer, ShutdownLetsRequestsEndAndClosesStreamsAfterItsGrace) {
  HeldServer server(HttpServerOptions{});
  RawSocket idle = server.connect();
  idle.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(idle.read_bytes(answer("GET /echo ").size()), answer("GET /echo "));
  RawSocket asking = server.connect();
  asking.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto late = server.responder("/late");
  RawSocket watching = server.connect();
  watching.send("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto watch = server.responder("/watch");
  bool done = false;
  server.on([&] {
    watch->begin({.status = 200});
    server.server->shutdown(std::chrono::hours{1}, nullptr);
  });
  EXPECT_TRUE(idle.at_end());
  idle.close();
  server.on([&] { late->send({.status = 200}); });
  EXPECT_EQ(asking.read_all(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  asking.close();
  server.on([&] {
    EXPECT_EQ(server.closed, 0);
    server.server->shutdown(milliseconds{1}, [&] { done = true; });
  });
  EXPECT_EQ(watching.read_all(), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_TRUE(server.wait_for([&] { return done; }));
  server.on([&] {
    EXPECT_EQ(server.closed, 1) << "of the stream";
    EXPECT_EQ(server.server->connections(), 0U);
  });
}

TEST(HttpServer, ShutdownOfAnIdleServerIsDoneAtOnce) {
  HeldServer server(HttpServerOptions{});
  int done = 0;
  server.on([&] {
    server.server->shutdown(std::chrono::hours{1}, [&] { ++done; });
    EXPECT_EQ(done, 0) << "not from inside of shutdown()";
    server.server->shutdown(std::chrono::hours{1}, [&] { ++done; });
  });
  EXPECT_TRUE(server.wait_for([&] { return done == 2; }));
}

TEST(HttpServer, ARequestThatComesAsItStopsIsAnswered) {
  HeldServer server(HttpServerOptions{});
  RawSocket kept = server.connect();
  kept.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(kept.read_bytes(answer("GET /echo ").size()), answer("GET /echo "));
  bool done = false;
  server.on([&] { server.server->shutdown(std::chrono::hours{1}, [&] { done = true; }); });
  kept.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string last = kept.read_all();
  EXPECT_NE(last.find("200 OK"), std::string::npos) << last;
  EXPECT_NE(last.find("Connection: close"), std::string::npos) << last;
  EXPECT_TRUE(server.wait_for([&] { return done; }));
}

// One server replaces the other, and no connection is refused or lost.
TEST(HttpServer, TwoShareASocketUntilTheFirstShutsDown) {
  testing::LoopThread thread;
  std::unique_ptr<HttpServer> first;
  std::unique_ptr<HttpServer> second;
  const auto says = [](std::string text) {
    return [text](const ServerRequest&, const std::shared_ptr<Responder>& responder) {
      responder->send({.status = 200, .body = text});
    };
  };
  thread.on([&] {
    first = std::move(*HttpServer::listen(thread.loop(), {}, says("first")));
    HttpServerOptions options;
    options.beside = first.get();
    options.accepts = false;
    second = std::move(*HttpServer::listen(thread.loop(), options, says("second")));
    EXPECT_EQ(second->port(), first->port());
  });
  const auto ask = [&](RawSocket socket) {
    socket.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const std::string text = socket.read_all();
    return text.substr(text.find("\r\n\r\n") + 4);
  };
  const std::uint16_t port = second->port();
  EXPECT_EQ(ask(RawSocket::connect(port)), "first");
  thread.on([&] { first->shutdown(milliseconds{100}, nullptr); });
  RawSocket between = RawSocket::connect(port);  // in the accept queue
  thread.on([&] { second->accept(); });
  EXPECT_EQ(ask(std::move(between)), "second");
  thread.on([&] {
    HttpServerOptions options;
    options.beside = first.get();
    EXPECT_FALSE(HttpServer::listen(thread.loop(), options, says("third"))) << "it has ended";
    first.reset();
  });
  EXPECT_EQ(ask(RawSocket::connect(port)), "second");
  thread.on([&] { second.reset(); });
}

// The poller must forget a duplicate that is closed while another duplicate is open.
TEST(HttpServer, ASocketGoesFromOneToTheNextManyTimes) {
  testing::LoopThread thread;
  std::unique_ptr<HttpServer> server;
  const auto answers = [](const ServerRequest&, const std::shared_ptr<Responder>& responder) {
    responder->send({.status = 204});
  };
  thread.on([&] { server = std::move(*HttpServer::listen(thread.loop(), {}, answers)); });
  const std::uint16_t port = server->port();
  for (int i = 0; i < 50; ++i) {
    thread.on([&] {
      HttpServerOptions options;
      options.beside = server.get();
      auto next = HttpServer::listen(thread.loop(), options, answers);
      ASSERT_TRUE(next) << i << ": " << next.error().message;
      server = std::move(*next);
    });
    RawSocket socket = RawSocket::connect(port);
    socket.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_NE(socket.read_all().find("204"), std::string::npos);
  }
  thread.on([&] { server.reset(); });
}

TEST(HttpServer, MayBeDestroyedByItsHandler) {
  testing::LoopThread thread;
  std::unique_ptr<HttpServer> server;
  std::shared_ptr<Responder> kept;
  std::uint16_t port = 0;
  thread.on([&] {
    server = std::move(*HttpServer::listen(
        thread.loop(), {}, [&](const ServerRequest&, std::shared_ptr<Responder> responder) {
          kept = std::move(responder);
          server.reset();
        }));
    port = server->port();
  });
  RawSocket socket = RawSocket::connect(port);
  socket.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(socket.read_all(), "");
  thread.on([&] {
    kept->send({.status = 200});  // does nothing
    kept->begin({.status = 200});
    kept->write(std::make_shared<const std::string>("x"));
    kept->end();
    kept->abort();
    EXPECT_EQ(kept->backlog(), 0U);
    kept.reset();
  });
}

}  // namespace
}  // namespace stowage::net
