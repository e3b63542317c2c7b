#include "local/apply.h"

#include <gtest/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

struct Row {
  const char* what;
  const char* target;
  const char* before;
  const char* now;
  const char* after;
};

TEST(Apply, TakesBackWhatTheManagerNoLongerSends) {
  const Row rows[] = {
      {"a label of its own goes, that of another stays",
       R"({"metadata":{"name":"p","uid":"u","labels":{"a":"1","b":"2","c":"3"}}})",
       R"({"metadata":{"name":"p","labels":{"a":"1","b":"2"}}})",
       R"({"metadata":{"name":"p","labels":{"a":"1"}}})",
       R"({"metadata":{"name":"p","uid":"u","labels":{"a":"1","c":"3"}}})"},
      {"the last label takes the list with it", R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{}})", R"({"metadata":{}})"},
      {"a container goes by its name",
       R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
       R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"a"},{"name":"c"}]}})"},
      {"a member of a container goes, its defaults stay",
       R"({"spec":{"containers":[{"name":"a","command":["x"],"imagePullPolicy":"Always"}]}})",
       R"({"spec":{"containers":[{"name":"a","command":["x"]}]}})",
       R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"a","imagePullPolicy":"Always"}]}})"},
      {"a list without a key is one value", R"({"spec":{"tolerations":[{"key":"a"}]}})",
       R"({"spec":{"tolerations":[{"key":"a"}]}})", R"({"spec":{}})", R"({"spec":{}})"},
      {"a set loses its own values", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"finalizers":["a"]}})", R"({})", R"({"metadata":{"finalizers":["b"]}})"},
      {"what is sent again stays for the merge", R"({"spec":{"priority":1}})",
       R"({"spec":{"priority":1}})", R"({"spec":{"priority":2}})", R"({"spec":{"priority":1}})"},
  };
  const Schema schema;
  for (const Row& row : rows) {
    json::object target = parsed(row.target);
    take_back(target, parsed(row.before), parsed(row.now), schema.of(Kind::pod));
    EXPECT_EQ(target, parsed(row.after)) << row.what << ": " << json::serialize(target);
  }
}

TEST(Apply, EachManagerTakesBackItsOwn) {
  TestCluster cluster;
  const ObjectName name{"default", "c"};
  const auto apply = [&](const char* manager, const char* text) {
    return cluster.api.patch(Kind::config_map, name, Part::main, PatchType::apply, parsed(text),
                             {.manager = manager});
  };
  ASSERT_TRUE(apply("one", R"({"data":{"a":"1","b":"2"}})"));
  ASSERT_TRUE(apply("two", R"({"data":{"c":"3"}})"));
  ASSERT_TRUE(apply("one", R"({"data":{"a":"1"}})"));
  EXPECT_EQ(*object_at(cluster.get(Kind::config_map, "c")->tree(), "data"),
            parsed(R"({"a":"1","c":"3"})"));
  // A new object of the same name starts without applied fields.
  ASSERT_TRUE(cluster.api.remove(Kind::config_map, name));
  ASSERT_TRUE(cluster.make(Kind::config_map, R"({"metadata":{"name":"c"},"data":{"a":"9"}})"));
  ASSERT_TRUE(apply("one", R"({"data":{"b":"2"}})"));
  EXPECT_EQ(*object_at(cluster.get(Kind::config_map, "c")->tree(), "data"),
            parsed(R"({"a":"9","b":"2"})"));
}

}  // namespace
}  // namespace stowage::local
