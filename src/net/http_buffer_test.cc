// The limit on the buffered bodies of all requests of a server.
#include <string>

#include <gtest/gtest.h>

#include "net/body_budget.h"
#include "net/message_parser.h"
#include "net/testing/held_server.h"

namespace stowage::net {
namespace {

using testing::HeldServer;
using testing::RawSocket;

constexpr std::size_t kMax = 100'000;

std::string head(const std::string& target, std::size_t length) {
  return "POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(length) +
         "\r\n\r\n";
}

std::string post(const std::string& target, std::size_t length) {
  return head(target, length) + std::string(length, 'a');
}

bool holds(HeldServer& server, std::size_t bytes) {
  return server.wait_for([&] { return server.server->buffered_bytes() == bytes; });
}

void answer(HeldServer& server, const std::string& target) {
  const auto responder = server.responder(target);
  server.on([&] {
    server.held.erase(target);
    responder->send({.status = 204});
  });
}

std::string status(RawSocket& socket) { return socket.read_until("\r\n\r\n").substr(0, 12); }

void expect_refused(RawSocket& socket) {
  const std::string text = socket.read_all();
  EXPECT_EQ(text.substr(0, 13), "HTTP/1.1 503 ");
  EXPECT_NE(text.find("\r\nRetry-After: 1\r\n"), std::string::npos);
  EXPECT_NE(text.find("\r\nConnection: close\r\n"), std::string::npos);
  EXPECT_TRUE(text.ends_with("try again later\n")) << text;
}

TEST(HttpBuffer, ARequestThatGoesBeyondIsRefusedAndOthersAreNotDisturbed) {
  HeldServer server(HttpServerOptions{.buffered_bytes_max = kMax});
  RawSocket first = server.connect();
  first.send(post("/first", 60'000));
  ASSERT_TRUE(holds(server, 60'000));
  RawSocket second = server.connect();
  second.send(post("/second", 60'000));
  expect_refused(second);
  EXPECT_TRUE(holds(server, 60'000)) << "the refused one gave back what it had";
  RawSocket third = server.connect();
  third.send(post("/echo", 40'000));
  EXPECT_EQ(status(third), "HTTP/1.1 200");
  answer(server, "/first");
  EXPECT_EQ(status(first), "HTTP/1.1 204");
  EXPECT_TRUE(holds(server, 0));
  first.send(post("/again", 100'000));
  answer(server, "/again");
  EXPECT_EQ(status(first), "HTTP/1.1 204") << "the same connection serves the next request";
  server.on([&] { EXPECT_EQ(server.handled, 3); });
}

TEST(HttpBuffer, WhatHasArrivedCountsAndWhatIsAnnouncedDoesNot) {
  HeldServer server(HttpServerOptions{.buffered_bytes_max = kMax});
  RawSocket promised[3] = {server.connect(), server.connect(), server.connect()};
  for (RawSocket& socket : promised) socket.send(head("/echo", 90'000));
  promised[0].send(std::string(60'000, 'a'));
  ASSERT_TRUE(holds(server, 60'000));
  RawSocket other = server.connect();
  other.send(post("/other", 50'000));
  expect_refused(other);
  promised[0].send(std::string(30'000, 'a'));
  EXPECT_EQ(status(promised[0]), "HTTP/1.1 200");
  ASSERT_TRUE(holds(server, 0));
  promised[1].send(std::string(90'000, 'a'));
  EXPECT_EQ(status(promised[1]), "HTTP/1.1 200");
}

TEST(HttpBuffer, ChunksCount) {
  HeldServer server(HttpServerOptions{.buffered_bytes_max = kMax});
  RawSocket socket = server.connect();
  socket.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "c350\r\n" + std::string(50'000, 'a') + "\r\n";
  socket.send(chunk + chunk);
  ASSERT_TRUE(holds(server, 100'000));
  socket.send("1\r\na\r\n");
  expect_refused(socket);
  EXPECT_TRUE(holds(server, 0));
}

TEST(HttpBuffer, ARequestWhosePeerHasGoneCountsUntilItsResponderIsDropped) {
  HeldServer server(HttpServerOptions{.buffered_bytes_max = kMax});
  {
    RawSocket half = server.connect();
    half.send(head("/half", 50'000) + std::string(20'000, 'a'));
    ASSERT_TRUE(holds(server, 20'000));
  }
  EXPECT_TRUE(holds(server, 0)) << "nobody has seen the half request";
  RawSocket gone = server.connect();
  gone.send(post("/gone", 60'000));
  static_cast<void>(server.responder("/gone"));
  gone.reset();
  ASSERT_TRUE(server.wait_for([&] { return server.closed == 1; }));
  server.on([&] { EXPECT_EQ(server.server->buffered_bytes(), 60'000U); });
  server.on([&] { server.held.clear(); });
  EXPECT_TRUE(holds(server, 0));
}

TEST(HttpBuffer, ManyRequestsOneAfterTheOtherDoNotAddUp) {
  HeldServer server(HttpServerOptions{.buffered_bytes_max = kMax});
  RawSocket socket = server.connect();
  for (int i = 0; i < 20; ++i) {
    socket.send(post(i % 2 == 0 ? "/echo" : "/drop", 50'000));
    EXPECT_EQ(status(socket), i % 2 == 0 ? "HTTP/1.1 200" : "HTTP/1.1 500");
    static_cast<void>(socket.read_bytes(i % 2 == 0 ? 50'011 : 29));
  }
  EXPECT_TRUE(holds(server, 0));
}

TEST(HttpBuffer, MemoryForABodyGrowsWithWhatHasArrived) {
  constexpr std::size_t kLength = std::size_t{10} << 20U;
  constexpr std::size_t kSmall = std::size_t{32} << 10U;
  RequestParser parser({});
  parser.put(head("/", kLength));
  const std::string& body = parser.request().body;
  EXPECT_LE(body.capacity(), kSmall);
  const std::string piece(std::size_t{50} << 10U, 'a');
  while (!parser.done()) {
    parser.put(std::string_view(piece).substr(0, kLength - body.size()));
    ASSERT_LE(body.capacity(), 2 * body.size() + kSmall);
  }
  EXPECT_EQ(body.size(), kLength);
  EXPECT_LE(body.capacity(), kLength + 64) << "a known length is not overshot";
  parser.reset();
  EXPECT_LE(body.capacity(), kSmall) << "the memory of a body that nobody took is given back";
}

TEST(BodyCharge, GivesBackExactlyWhatItTook) {
  const auto budget = std::make_shared<BodyBudget>(BodyBudget{.max = 10});
  {
    BodyCharge first(budget);
    BodyCharge second(budget);
    EXPECT_TRUE(first.raise(4));
    EXPECT_TRUE(first.raise(6));
    EXPECT_FALSE(second.raise(5));
    EXPECT_EQ(budget->held, 6U);
    EXPECT_TRUE(second.raise(4));
    EXPECT_TRUE(first.raise(2)) << "less is no reason to refuse, and changes nothing";
    EXPECT_EQ(budget->held, 10U);
    BodyCharge moved = std::move(first);
    moved = std::move(second);
    EXPECT_EQ(budget->held, 4U);
  }
  EXPECT_EQ(budget->held, 0U);
}

}  // namespace
}  // namespace stowage::net
