#include "local/strategic_patch.h"

#include <gtest/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

struct Row {
  const char* what;
  const char* before;
  const char* patch;
  const char* after;
};

TEST(StrategicPatch, MergesListsByTheirKeys) {
  const Row rows[] = {
      {"a container is found by its name",
       R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}})",
       R"({"spec":{"containers":[{"name":"b","image":"2"}]}})",
       R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]}})"},
      {"a new one comes last", R"({"spec":{"containers":[{"name":"a"}]}})",
       R"({"spec":{"containers":[{"name":"b","env":[{"name":"X","value":"1"}]}]}})",
       R"({"spec":{"containers":[{"name":"a"},{"name":"b","env":[{"name":"X","value":"1"}]}]}})"},
      {"an element is deleted by a directive",
       R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})",
       R"({"spec":{"containers":[{"name":"b"}]}})"},
      {"a list is replaced by a directive",
       R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"$patch":"replace"}]}})",
       R"({"spec":{"containers":[{"name":"c"}]}})"},
      {"nested lists are merged too",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"},{"name":"Y",)"
       R"("value":"1"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"Y","value":"2"},{"name":"X",)"
       R"("$patch":"delete"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"Y","value":"2"}]}]}})"},
      {"tolerations are replaced as a whole",
       R"({"spec":{"tolerations":[{"key":"a"},{"key":"b"}]}})",
       R"({"spec":{"tolerations":[{"key":"c"}]}})", R"({"spec":{"tolerations":[{"key":"c"}]}})"},
      {"conditions are found by their type",
       R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})",
       R"({"status":{"conditions":[{"type":"PodScheduled","status":"True"},{"type":"Ready",)"
       R"("status":"True"}]}})",
       R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"PodScheduled",)"
       R"("status":"True"}]}})"},
      {"owners are found by their uid",
       R"({"metadata":{"ownerReferences":[{"uid":"1","name":"a"}]}})",
       R"({"metadata":{"ownerReferences":[{"uid":"1","$patch":"delete"}]}})",
       R"({"metadata":{"ownerReferences":[]}})"},
      {"finalizers are a set", R"({"metadata":{"finalizers":["a","b"]}})",
       R"({"metadata":{"finalizers":["b","c"],"$deleteFromPrimitiveList/finalizers":["a"]}})",
       R"({"metadata":{"finalizers":["b","c"]}})"},
      {"null removes a member", R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
       R"({"metadata":{"labels":{"a":null}}})", R"({"metadata":{"labels":{"b":"2"}}})"},
      {"an order is kept", R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}],"containers":[{)"
       R"("name":"c","image":"2"}]}})",
       R"({"spec":{"containers":[{"name":"c","image":"2"},{"name":"a"},{"name":"b"}]}})"},
      {"of a volume only the named members stay",
       R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
       R"({"spec":{"volumes":[{"$retainKeys":["name","hostPath"],"name":"v","hostPath":{)"
       R"("path":"/x"}}]}})",
       R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/x"}}]}})"},
      {"an object is replaced by a directive", R"({"spec":{"nodeSelector":{"a":"1"}}})",
       R"({"spec":{"nodeSelector":{"$patch":"replace","b":"2"}}})",
       R"({"spec":{"nodeSelector":{"b":"2"}}})"},
  };
  const Schema schema;
  for (const Row& row : rows) {
    json::object target = parsed(row.before);
    const auto done = strategic_patch(target, parsed(row.patch), schema.of(Kind::pod));
    ASSERT_TRUE(done) << row.what << ": " << done.error().message;
    EXPECT_EQ(target, parsed(row.after)) << row.what << ": " << json::serialize(target);
  }
}

TEST(StrategicPatch, RefusesElementsWithoutTheirKeyAndUnknownDirectives) {
  const Schema schema;
  for (const char* patch :
       {R"({"spec":{"containers":[{"image":"2"}]}})", R"({"spec":{"containers":["a"]}})",
        R"({"spec":{"containers":[{"name":"a","$patch":"turn"}]}})",
        R"({"spec":{"$patch":"turn"}})"}) {
    json::object target = parsed(R"({"spec":{"containers":[{"name":"a"}]}})");
    const auto done = strategic_patch(target, parsed(patch), schema.of(Kind::pod));
    ASSERT_FALSE(done) << patch;
    EXPECT_EQ(done.error().code, 400);
  }
}

}  // namespace
}  // namespace stowage::local
