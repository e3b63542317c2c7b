#include "kube/leader_proxy.h"

#include <gtest/gtest.h>

namespace stowage::kube {
namespace {

TEST(LeaderProxy, MarksWhatItPassesOn) {
  const net::HttpRequest request{
      .method = "POST",
      .target = "/a?b=c",
      .headers = {{"content-type", "text/x"}, {"Authorization", "Bearer t"}, {"Cookie", "c"}},
      .body = "theirs"};
  EXPECT_FALSE(was_forwarded(request));
  const net::HttpRequest onward = forwarded(request, "ours", {"Accept", "Content-Type"});
  EXPECT_TRUE(was_forwarded(onward));
  EXPECT_EQ(onward.method, "POST");
  EXPECT_EQ(onward.target, "/a?b=c");
  EXPECT_EQ(onward.body, "ours");
  const net::Headers headers = {{kForwardedHeader, "1"}, {"Content-Type", "text/x"}};
  EXPECT_EQ(onward.headers, headers);
}

TEST(LeaderProxy, RepeatsOnlyTheHeadersThatAreNamed) {
  const net::HttpResponse answer =
      repeated({.status = 429,
                .headers = {{"X-Own", "1"}, {"Retry-After", "5"}, {"Content-Type", "text/x"}},
                .body = "b"},
               {"Content-Type", "Retry-After"});
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.body, "b");
  const net::Headers headers = {{"Content-Type", "text/x"}, {"Retry-After", "5"}};
  EXPECT_EQ(answer.headers, headers);
}

TEST(LeaderProxy, ReadsTheAddressOfTheLeader) {
  const auto url = parse_leader_url("https://10.0.0.7:10362");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "10.0.0.7");
  const auto bad = parse_leader_url("nonsense");
  ASSERT_FALSE(bad);
  EXPECT_TRUE(bad.error().message.starts_with("the leader publishes an invalid address: "));
}

}  // namespace
}  // namespace stowage::kube
