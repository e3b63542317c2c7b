#include "codec/reviews.h"

#include <gtest/gtest.h>

namespace stowage::codec {
namespace {

TEST(TokenReview, AsksAndIsRead) {
  EXPECT_EQ(token_review("a\"b"),
            R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview",)"
            R"("spec":{"token":"a\"b"}})");
  EXPECT_EQ(token_review("t", "stowage.dev"),
            R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview",)"
            R"("spec":{"token":"t","audiences":["stowage.dev"]}})");
  const auto known = read_token_review(
      R"({"kind":"TokenReview","status":{"authenticated":true,"audiences":["x"],"user":{)"
      R"("username":"u","uid":"1","groups":["g","h"],"extra":{"k":["v"]}}}})");
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_TRUE(known->known);
  EXPECT_EQ(known->audiences, std::vector<std::string>{"x"});
  EXPECT_EQ(known->who,
            (UserInfo{.user = "u", .uid = "1", .groups = {"g", "h"}, .extra = {{"k", {"v"}}}}));
  const auto unknown = read_token_review(R"({"status":{"user":{},"error":"expired"}})");
  ASSERT_TRUE(unknown);
  EXPECT_FALSE(unknown->known);
  EXPECT_EQ(unknown->error, "expired");
}

TEST(TokenReview, SaysWhatIsWrong) {
  for (const char* text : {"", "{}", R"({"status":[]})", R"({"status":{"authenticated":"yes"}})",
                           R"({"status":{"authenticated":true,"user":{}}})",
                           R"({"status":{"authenticated":true,"user":{"groups":[1]}}})"}) {
    EXPECT_FALSE(read_token_review(text)) << text;
  }
}

TEST(AccessReview, AsksAndIsRead) {
  EXPECT_EQ(access_review({.user = "u", .uid = "1", .groups = {"g"}, .extra = {{"k", {"v"}}}},
                          {.verb = "get", .path = "/debug/state"}),
            R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{)"
            R"("user":"u","uid":"1","groups":["g"],"extra":{"k":["v"]},)"
            R"("nonResourceAttributes":{"path":"/debug/state","verb":"get"}}})");
  EXPECT_EQ(access_review({.user = "u"}, {.verb = "list",
                                          .group = "metrics.nvidia.com",
                                          .version = "v1alpha1",
                                          .resource = "gpuinfos",
                                          .name = "n1"}),
            R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{)"
            R"("user":"u","groups":[],"resourceAttributes":{"verb":"list",)"
            R"("group":"metrics.nvidia.com","version":"v1alpha1","resource":"gpuinfos",)"
            R"("name":"n1"}}})");
  struct Row {
    const char* text;
    bool allowed;
  };
  for (const Row& row :
       {Row{R"({"status":{"allowed":true,"reason":"RBAC"}})", true},
        Row{R"({"status":{"allowed":false}})", false}, Row{R"({"status":{}})", false},
        Row{R"({"status":{"allowed":true,"denied":true}})", false}}) {
    const auto verdict = read_access_review(row.text);
    ASSERT_TRUE(verdict) << row.text;
    EXPECT_EQ(verdict->allowed, row.allowed) << row.text;
  }
  EXPECT_FALSE(read_access_review("{}"));
  EXPECT_FALSE(read_access_review(R"({"status":{"allowed":1}})"));
}

}  // namespace
}  // namespace stowage::codec
