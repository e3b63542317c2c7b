#include "local/patch.h"

#include <gtest/gtest.h>

namespace stowage::local {
namespace {

json::value read(std::string_view text) { return *parse_json(text); }

TEST(MergePatch, FollowsItsStandard) {
  const char* rows[][3] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c"])", R"(["c"])"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const auto& [before, patch, after] : rows) {
    json::value target = read(before);
    merge_patch(target, read(patch));
    EXPECT_EQ(target, read(after)) << before << " " << patch;
  }
}

TEST(JsonPatch, AppliesItsOperations) {
  const char* rows[][3] = {
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":1}])", R"({"foo":"bar","baz":1})"},
      {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
      {R"({"a":{"b/c":1,"d~e":2}})",
       R"([{"op":"remove","path":"/a/b~1c"},{"op":"replace","path":"/a/d~0e","value":3}])",
       R"({"a":{"d~e":3}})"},
      {R"({"a":1})", R"([{"op":"move","from":"/a","path":"/b"}])", R"({"b":1})"},
      {R"({"a":{"x":1}})", R"([{"op":"copy","from":"/a","path":"/b"}])",
       R"({"a":{"x":1},"b":{"x":1}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1},{"op":"remove","path":"/a"}])", "{}"},
  };
  for (const auto& [before, patch, after] : rows) {
    json::value target = read(before);
    const auto done = json_patch(target, read(patch));
    ASSERT_TRUE(done) << patch << ": " << done.error().message;
    EXPECT_EQ(target, read(after)) << patch;
  }
}

TEST(JsonPatch, RefusesWhatDoesNotApply) {
  for (const char* patch : {
           R"({})",
           R"([1])",
           R"([{"op":"add","path":"x","value":1}])",
           R"([{"op":"jump","path":"/a"}])",
           R"([{"op":"remove","path":"/none"}])",
           R"([{"op":"replace","path":"/none","value":1}])",
           R"([{"op":"add","path":"/none/x","value":1}])",
           R"([{"op":"add","path":"/a"}])",
           R"([{"op":"test","path":"/a","value":2}])",
           R"([{"op":"remove","path":"/list/1"}])",
           R"([{"op":"add","path":"/list/01","value":1}])",
           R"([{"op":"add","path":"/list/5","value":1}])",
           R"([{"op":"move","from":"/none","path":"/b"}])",
           R"([{"op":"remove","path":""}])",
           R"([{"op":"add","path":"/a~2","value":1}])",
       }) {
    json::value target = read(R"({"a":1,"list":[0]})");
    EXPECT_FALSE(json_patch(target, read(patch))) << patch;
  }
}

// After twenty doublings, destroying the object would overflow the stack.
TEST(JsonPatch, CopiesIntoThemselvesDoNotGetDeep) {
  std::string patch = R"([{"op":"replace","path":"","value":{"a":{}}})";
  std::string path = "/a";
  for (int i = 0; i < 18; ++i) {
    patch += R"(,{"op":"copy","from":"","path":")" + path + R"(/a"})";
    path += "/a" + path;
  }
  patch += "]";
  json::value target = read("{}");
  const auto done = json_patch(target, read(patch));
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("creates more than 64 levels"), std::string::npos);
  EXPECT_LT(done.error().message.size(), 500U);
  std::string adds = "[";
  path.clear();
  for (int i = 0; i < 100; ++i) {
    path += "/a";
    adds += (i == 0 ? "" : ",") + (R"({"op":"add","path":")" + path + R"(","value":{}})");
  }
  target = read("{}");
  EXPECT_FALSE(json_patch(target, read(adds + "]")));
}

TEST(JsonPatch, CopiesIntoThemselvesDoNotFillTheMemory) {
  std::string patch = R"([{"op":"add","path":"/a","value":"0123456789"})";
  for (int i = 0; i < 60; ++i) {
    patch += R"(,{"op":"copy","from":"","path":"/b)" + std::to_string(i) + R"("})";
  }
  patch += "]";
  json::value target = read("{}");
  EXPECT_FALSE(json_patch(target, read(patch)));
}

}  // namespace
}  // namespace stowage::local
