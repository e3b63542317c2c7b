#include "local/protobuf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "codec/protobuf_json.h"
#include "codec/testing/protobuf_out.h"
#include "local/test_cluster.h"

namespace stowage::local {
namespace {

using codec::testing::bytes;
using codec::testing::integer;

std::string envelope(const std::string& version, const std::string& kind,
                     const std::string& content) {
  return std::string("k8s\0", 4) + bytes(1, bytes(1, version) + bytes(2, kind)) +
         bytes(2, content) + bytes(3, "") + bytes(4, "");
}

TEST(Protobuf, ReadsWhatKubectlSendsForAConfigMap) {
  // Empty fields as its encoder writes them, with an empty creation time.
  const std::string metadata = bytes(1, "cm1") + bytes(2, "") + bytes(3, "") + bytes(4, "") +
                               bytes(5, "") + bytes(6, "") + integer(7, 0) + bytes(8, "");
  const std::string map = bytes(1, metadata) + bytes(2, bytes(1, "a") + bytes(2, "b"));
  const Schema schema;
  const auto object = from_protobuf(schema, envelope("v1", "ConfigMap", map));
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(*object, parsed(R"({"metadata":{"name":"cm1"},"data":{"a":"b"},"apiVersion":"v1",
                                "kind":"ConfigMap"})"));
}

TEST(Protobuf, KeepsZeroWhereItDiffersFromAbsent) {
  const std::string container = bytes(1, "c") + bytes(2, "img") +
                                bytes(6, integer(2, 0) + integer(3, 80)) +
                                bytes(8, bytes(1, bytes(1, "cpu") + bytes(2, bytes(1, "2"))));
  const std::string pod_spec =
      bytes(2, container) + bytes(1, bytes(1, "v") + bytes(2, bytes(2, "")));
  const std::string spec = integer(1, 0) + bytes(3, bytes(2, pod_spec));
  const Schema schema;
  const auto object = from_protobuf(schema, envelope("apps/v1", "Deployment", bytes(2, spec)));
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(*object, parsed(R"({"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":0,
      "template":{"spec":{"containers":[{"name":"c","image":"img","ports":[{"containerPort":80}],
      "resources":{"limits":{"cpu":"2"}}}],"volumes":[{"name":"v","emptyDir":{}}]}}}})"));
}

TEST(Protobuf, ReadsTimesBytesAndNumbersOrTexts) {
  const Schema schema;
  const auto secret = from_protobuf(
      schema, envelope("v1", "Secret",
                       bytes(1, bytes(8, integer(1, 1767323045))) +
                           bytes(2, bytes(1, "k") + bytes(2, std::string("\0\xff", 2)))));
  ASSERT_TRUE(secret);
  EXPECT_EQ(text_at(*secret, "metadata.creationTimestamp"), "2026-01-02T03:04:05Z");
  EXPECT_EQ(text_at(*secret, "data.k"), "AP8=");
  const auto budget =
      from_protobuf(schema, envelope("policy/v1", "PodDisruptionBudget",
                                     bytes(2, bytes(1, integer(1, 1) + bytes(3, "25%")) +
                                                  bytes(3, integer(1, 0) + integer(2, 3)))));
  ASSERT_TRUE(budget);
  EXPECT_EQ(text_at(*budget, "spec.minAvailable"), "25%");
  EXPECT_EQ(int_at(*budget, "spec.maxUnavailable"), 3);
}

TEST(Protobuf, RefusesUnknownKindsAndBrokenBodies) {
  const Schema schema;
  EXPECT_EQ(from_protobuf(schema, envelope("v1", "Thing", "")).error().code, 415);
  const std::string good = envelope(
      "v1", "ConfigMap", bytes(1, bytes(1, "cm1")) + bytes(2, bytes(1, "a") + bytes(2, "b")));
  ASSERT_TRUE(from_protobuf(schema, good));
  for (const std::string& body :
       {std::string("k8s"), std::string("{}"), good.substr(0, good.size() - 6),
        envelope("v1", "ConfigMap", bytes(1, bytes(1, "\xff\xfe"))),
        envelope("v1", "ConfigMap", integer(1, 7)), envelope("v1", "ConfigMap", "\x0f")}) {
    const auto object = from_protobuf(schema, body);
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().code, 400);
  }
}

RC_GTEST_PROP(Protobuf, AnyBytesAreReadOrRefused, ()) {
  const Schema schema;
  const auto content = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  const auto object = from_protobuf(schema, envelope("v1", "Pod", content));
  if (object) {
    std::string out;
    append_json(out, json::value(*object));
    RC_ASSERT(parse_json(out).has_value());
  }
}

// The controller's table has the few fields that it reads, this schema has all: common fields must
// be equal.
void expect_part_of(const codec::ProtobufMessage& part, const Message& whole) {
  using Kind = codec::ProtobufMember::Kind;
  for (const codec::ProtobufMember& member : part.members) {
    SCOPED_TRACE(fmt::format("{} {} of {}", member.number, member.name, whole.name));
    const SchemaField* field = whole.find_number(member.number);
    if (field == nullptr) {
      EXPECT_TRUE(whole.name == "PodSpec" && member.number >= 42) << "older than the schema";
      continue;
    }
    EXPECT_EQ(field->name, member.name);
    EXPECT_EQ(static_cast<int>(field->shape), static_cast<int>(member.shape));
    if (field->type == FieldType::anything) continue;
    EXPECT_EQ(field->inlined, member.kind == Kind::inlined);
    EXPECT_EQ(field->type == FieldType::message, member.message != nullptr);
    EXPECT_EQ(field->type == FieldType::text, member.kind == Kind::text);
    EXPECT_EQ(field->type == FieldType::boolean, member.kind == Kind::boolean);
    EXPECT_EQ(field->type == FieldType::quantity, member.kind == Kind::quantity);
    EXPECT_EQ(field->type == FieldType::time, member.kind == Kind::time);
    if (member.message != nullptr && field->message != nullptr) {
      expect_part_of(*member.message, *field->message);
    }
  }
}

TEST(Protobuf, TheFieldsThatTheControllerReadsAreThoseOfTheSchema) {
  const Schema schema;
  for (const char* kind : {"Pod", "Node"}) {
    expect_part_of(*codec::protobuf_message(kind), *schema.message(kind));
  }
}

}  // namespace
}  // namespace stowage::local
