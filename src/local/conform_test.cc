#include "local/conform.h"

#include <gtest/gtest.h>

#include "local/test_cluster.h"

namespace stowage::local {
namespace {

struct Row {
  const char* text;
  const char* error;  // what the error begins with; "" for none
};

TEST(Conform, TellsWrongTypes) {
  const Row rows[] = {
      {R"({"spec":{"nodeName":"n"}})", ""},
      {R"({"spec":{"nodeName":7}})",
       "json: cannot unmarshal number 7 into Go struct field PodSpec.spec.nodeName of type string"},
      {R"({"spec":"x"})",
       "json: cannot unmarshal string into Go struct field Pod.spec of type PodSpec"},
      {R"({"spec":{"containers":{}}})",
       "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type "
       "[]Container"},
      {R"({"spec":{"priority":4294967296}})",
       "json: cannot unmarshal number 4294967296 into Go struct field PodSpec.spec.priority of "
       "type "
       "int32"},
      {R"({"spec":{"priority":1.5}})", "json: cannot unmarshal number"},
      {R"({"spec":{"hostNetwork":"yes"}})", "json: cannot unmarshal string"},
      {R"({"metadata":{"labels":{"a":1}}})", "json: cannot unmarshal number 1"},
      {R"({"metadata":{"creationTimestamp":"yesterday"}})", "parsing time \"yesterday\""},
      {R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"abc"}}}]}})",
       "quantities must match the regular expression"},
      {R"({"spec":{"containers":[{"resources":{"limits":{"cpu":2}}}]}})", ""},
      {R"({"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":"web"}}}]}})", ""},
      {R"({"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}})",
       "json: cannot unmarshal bool"},
  };
  const Schema schema;
  for (const Row& row : rows) {
    json::object object = parsed(row.text);
    const Findings findings = conform(object, schema.of(Kind::pod));
    EXPECT_EQ(findings.error.substr(0, std::string_view(row.error).size()), row.error) << row.text;
    EXPECT_EQ(findings.error.empty(), std::string_view(row.error).empty()) << row.text;
  }
}

TEST(Conform, TakesOutNullsAndUnknownMembersAndNamesThem) {
  const Schema schema;
  json::object object = parsed(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"creationTimestamp":null,"name":"a","nam":1},
          "spec":{"foo":1,"containers":[{"name":"a"},{"name":"b","imagee":"x"}],
          "volumes":[{"name":"v","emptyDir":{"medium":"Memory","sise":1}}]},"bar":{}})");
  const Findings findings = conform(object, schema.of(Kind::pod));
  EXPECT_EQ(findings.error, "");
  const std::vector<std::string> wanted{"metadata.nam", "spec.foo", "spec.containers[1].imagee",
                                        "spec.volumes[0].emptyDir.sise", "bar"};
  EXPECT_EQ(findings.unknown, wanted);
  EXPECT_EQ(object, parsed(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},
      "spec":{"containers":[{"name":"a"},{"name":"b"}],
      "volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}]}})"));
}

TEST(Conform, MakesTextOfNumbersThatAreQuantities) {
  const Schema schema;
  json::object object = parsed(R"({"status":{"capacity":{"cpu":8,"memory":1.5,"pods":"110"}}})");
  EXPECT_EQ(conform(object, schema.of(Kind::node)).error, "");
  EXPECT_EQ(object, parsed(R"({"status":{"capacity":{"cpu":"8","memory":"1.5","pods":"110"}}})"));
}

TEST(Conform, RefusesWhatIsNestedWithoutEnd) {
  const Schema schema;
  std::string deep;
  for (int i = 0; i < 50; ++i) deep += R"({"f":)";
  deep += "1" + std::string(50, '}');
  json::object object = parsed(R"({"metadata":{"managedFields":[{"fieldsV1":)" + deep + "}]}}");
  EXPECT_EQ(conform(object, schema.of(Kind::pod)).error,
            "metadata.managedFields.fieldsV1 is nested too deep");
}

TEST(Schema, KnowsEveryKindAndHowItsListsMerge) {
  const Schema schema;
  for (const Resource& resource : all_resources()) {
    EXPECT_NE(schema.of(resource.kind_id).find("metadata"), nullptr) << resource.kind;
  }
  const Message& spec = *schema.message("PodSpec");
  EXPECT_EQ(spec.find("containers")->merge_key, "name");
  EXPECT_EQ(spec.find("tolerations")->merge_key, "");
  EXPECT_TRUE(spec.find("volumes")->retain_keys);
  EXPECT_EQ(schema.message("ObjectMeta")->find("finalizers")->merge_key, "*");
  EXPECT_EQ(schema.message("Container")->find("ports")->merge_key, "containerPort");
  EXPECT_NE(schema.message("Volume")->find("hostPath"), nullptr);  // of an inlined message
  EXPECT_EQ(schema.message("Nothing"), nullptr);
}

}  // namespace
}  // namespace stowage::local
