#include "net/http.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "net/message_writer.h"

namespace stowage::net {
namespace {

TEST(Url, IsTakenApart) {
  struct Row {
    const char* name;
    const char* text;
    bool tls;
    const char* host;
    int port;
    const char* path;
  };
  const Row rows[] = {
      {"host and port", "http://127.0.0.1:8001", false, "127.0.0.1", 8001, ""},
      {"the port of http", "http://example.org", false, "example.org", 80, ""},
      {"the port of https", "https://example.org/", true, "example.org", 443, ""},
      {"a path without its final slash", "https://a.b:6443/k8s/cluster/", true, "a.b", 6443,
       "/k8s/cluster"},
      {"an IPv6 address", "https://[2001:db8::1]:6443/x", true, "2001:db8::1", 6443, "/x"},
      {"an IPv6 address without a port", "http://[::1]", false, "::1", 80, ""},
      {"a scheme in capitals", "HTTPS://a", true, "a", 443, ""},
      {"a name with an underscore", "http://my_service.ns:1", false, "my_service.ns", 1, ""},
      {"an escaped path", "http://a/b%20c", false, "a", 80, "/b%20c"},
      {"the largest port", "http://a:65535", false, "a", 65535, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto url = parse_url(row.text);
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->tls, row.tls);
    EXPECT_EQ(url->host, row.host);
    EXPECT_EQ(url->port, row.port);
    EXPECT_EQ(url->path, row.path);
  }
}

TEST(Url, ABadOneIsRefusedWithItsText) {
  struct Row {
    const char* name;
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"nothing", "", "\"\" does not begin with http:// or https://"},
      {"no scheme", "127.0.0.1:80", "\"127.0.0.1:80\" does not begin with http:// or https://"},
      {"another scheme", "ftp://a", "\"ftp://a\" does not begin with http:// or https://"},
      {"no host", "http://", "\"http://\" has no host"},
      {"no host before the port", "http://:80", "\"http://:80\" has no host"},
      {"no host before the path", "http:///x", "\"http:///x\" has no host"},
      {"a password", "http://u:p@a",
       "the URL contains a user name or a password: remove them; credentials are configured "
       "elsewhere"},
      {"an empty port", "http://a:", "\"http://a:\": port \"\" is not a number from 1 to 65535"},
      {"port 0", "http://a:0", "\"http://a:0\": port \"0\" is not a number from 1 to 65535"},
      {"a port too large", "http://a:65536",
       "\"http://a:65536\": port \"65536\" is not a number from 1 to 65535"},
      {"a negative port", "http://a:-1",
       "\"http://a:-1\": port \"-1\" is not a number from 1 to "
       "65535"},
      {"text after the port", "http://a:80b",
       "\"http://a:80b\": port \"80b\" is not a number from 1 to 65535"},
      {"an unclosed bracket", "http://[::1", "\"http://[::1\" has an unclosed bracket"},
      {"no IPv6 address in the brackets", "http://[1.2.3.4]",
       "\"http://[1.2.3.4]\": \"1.2.3.4\" is not an IPv6 address"},
      {"text after the bracket", "http://[::1]x", "\"http://[::1]x\" has text after the host"},
      {"an IPv6 address without brackets", "http://::1:80", "\"http://::1:80\" has no host"},
      {"a query", "http://a/b?c=d",
       "\"http://a/b?c=d\" has a query or a fragment: expected host, "
       "port and path only"},
      {"a fragment", "http://a#b",
       "\"http://a#b\" has a query or a fragment: expected host, port and path only"},
      {"a blank", "http://a b", "\"http://a b\" contains a space"},
      {"a line break", "http://a\r\nX: y", "\"http://a\\x0d\\x0aX: y\" contains a space"},
      {"a strange character", "http://a$b",
       "\"http://a$b\": \"a$b\" is not a host name or an address; write an IPv6 address in "
       "brackets"},
      {"a broken escape in the path", "http://a/%zz",
       "\"/%zz\" has a malformed percent escape at byte 1: expected % and two hexadecimal digits"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto url = parse_url(row.text);
    ASSERT_FALSE(url);
    EXPECT_EQ(url.error().message, row.message);
  }
}

TEST(Target, IsSplitAndItsQueryDecoded) {
  const auto target = parse_target(
      "/api/v1/pods?labelSelector=app%3Dx%2Cb&&watch=true&flag&=v&empty=&a=b=c&s=one+two%2B");
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->path, "/api/v1/pods");
  const std::vector<std::pair<std::string, std::string>> query = {{"labelSelector", "app=x,b"},
                                                                  {"watch", "true"},
                                                                  {"flag", ""},
                                                                  {"", "v"},
                                                                  {"empty", ""},
                                                                  {"a", "b=c"},
                                                                  {"s", "one two+"}};
  EXPECT_EQ(target->query, query);
  EXPECT_EQ(target->query_value("watch"), "true");
  EXPECT_EQ(target->query_value("Watch"), "");
}

TEST(Target, ThePathStaysEncoded) {
  const auto target = parse_target("/a%2Fb/c+d?x");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a%2Fb/c+d");
}

TEST(Target, ABadOneIsRefused) {
  for (const char* text : {"", "x", "?a=b", "*", "/a b", "/a\tb", "/%", "/%1", "/%g1", "/a?b=%",
                           "/a?%2=b", "/a#b", "/a\x7F", "http://a/b"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
}

TEST(PercentEncoding, KnowsItsTable) {
  EXPECT_EQ(percent_encode("a-b_c.d~e/ü +"), "a-b_c.d~e%2F%C3%BC%20%2B");
  EXPECT_EQ(percent_decode("a%2fb%2F%00+").value(), std::string("a/b/\0+", 6));
  EXPECT_EQ(percent_decode("").value(), "");
  EXPECT_EQ(percent_decode("x%4").error().message,
            "\"x%4\" has a malformed percent escape at byte 1: expected % and two hexadecimal "
            "digits");
}

RC_GTEST_PROP(PercentEncoding, DecodingUndoesEncoding, (const std::string& text)) {
  const std::string encoded = percent_encode(text);
  RC_ASSERT(percent_decode(encoded).value() == text);
  RC_ASSERT(std::all_of(encoded.begin(), encoded.end(), [](char c) { return c > ' ' && c < 127; }));
}

RC_GTEST_PROP(Target, AnEncodedQueryComesBack, (const std::string& key, const std::string& value)) {
  const auto target = parse_target("/x?" + percent_encode(key) + "=" + percent_encode(value));
  RC_ASSERT(target.has_value());
  RC_ASSERT(target->query.size() == 1U);
  RC_ASSERT(target->query[0].first == key);
  RC_ASSERT(target->query[0].second == value);
}

// Text made of significant pieces, so that some of it is nearly valid.
rc::Gen<std::string> nearly_text() {
  return rc::gen::map(
      rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
          "http://", "https://", "[", "]", ":", "/", "?", "#", "@", "%", "%2", "%41", "&", "=", "+",
          "a", "1", "65536", "::1", "..", " ", "\r\n", std::string(1, '\0'), "\xFF")),
      [](const std::vector<std::string>& parts) {
        std::string text;
        for (const std::string& part : parts) text += part;
        return text;
      });
}

RC_GTEST_PROP(Url, AnyTextIsAnErrorOrFitsItsOwnParts, ()) {
  const std::string text = (*rc::gen::arbitrary<bool>() ? "http://" : "") + *nearly_text();
  const auto url = parse_url(text);
  if (!url) {
    RC_ASSERT(!url.error().message.empty());
    return;
  }
  const auto again = parse_url((url->tls ? "https://" : "http://") + authority(*url) + url->path);
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->host == url->host && again->port == url->port && again->path == url->path);
}

RC_GTEST_PROP(Target, AnyTextIsAnErrorOrATarget, ()) {
  const std::string text = *nearly_text();
  const auto target = parse_target(text);
  RC_ASSERT(target.has_value() || !target.error().message.empty());
  if (target) RC_ASSERT(text.starts_with(target->path));
}

TEST(FindHeader, IgnoresTheCaseOfNamesAndTakesTheFirst) {
  const Headers headers = {{"Content-Type", "a"}, {"X-Remote-Group", "b"}, {"x-remote-group", "c"}};
  EXPECT_EQ(find_header(headers, "content-type"), "a");
  EXPECT_EQ(find_header(headers, "X-REMOTE-GROUP"), "b");
  EXPECT_EQ(find_header(headers, "X-Remote"), "");
}

TEST(RequestHead, HasHostAndLengthMadeAndNoOtherFraming) {
  const auto head = request_head({.tls = false, .host = "::1", .port = 8080, .path = "/base"},
                                 {.method = "POST",
                                  .target = "/x?y=1",
                                  .headers = {{"Accept", "a/b"},
                                              {"host", "evil"},
                                              {"Content-Length", "9"},
                                              {"connection", "close"},
                                              {"Transfer-Encoding", "chunked"}},
                                  .body = "hello"});
  ASSERT_TRUE(head);
  EXPECT_EQ(*head,
            "POST /base/x?y=1 HTTP/1.1\r\nHost: [::1]:8080\r\nAccept: a/b\r\n"
            "Content-Length: 5\r\n\r\n");
  EXPECT_EQ(*request_head({.tls = true, .host = "a.b", .port = 443, .path = ""}, {}),
            "GET / HTTP/1.1\r\nHost: a.b\r\n\r\n");
  EXPECT_EQ(*request_head({.host = "a", .port = 443}, {.method = "PUT"}),
            "PUT / HTTP/1.1\r\nHost: a:443\r\nContent-Length: 0\r\n\r\n");
}

TEST(RequestHead, WhatWouldBreakTheFramingIsRefused) {
  const Url server{.host = "a", .port = 80};
  const HttpRequest rows[] = {
      {.method = ""},
      {.method = "GET /"},
      {.target = ""},
      {.target = "x"},
      {.target = "/a b"},
      {.target = "/a\r\nX: y"},
      {.headers = {{"A:", "b"}}},
      {.headers = {{"", "b"}}},
      {.headers = {{"A", "b\r\nC: d"}}},
      {.headers = {{"A", std::string("b\0", 2)}}},
  };
  for (const HttpRequest& row : rows) EXPECT_FALSE(request_head(server, row));
}

TEST(ResponseHead, FramesTheBodyAndCannotBeBroken) {
  using Body = ResponseFraming::Body;
  EXPECT_EQ(response_head({.status = 200, .headers = {{"A", "b\r\nEvil: c"}, {"bad name", "x"}}},
                          {.body = Body::sized, .size = 3}),
            "HTTP/1.1 200 OK\r\nA: b  Evil: c\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(response_head({.status = 404}, {.body = Body::chunked, .keep_alive = false}),
            "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(response_head({.status = 204}, {.body = Body::none, .http_1_0 = true}),
            "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(response_head({.status = 799}, {.body = Body::none}), "HTTP/1.1 799 Unknown\r\n\r\n");
}

}  // namespace
}  // namespace stowage::net
